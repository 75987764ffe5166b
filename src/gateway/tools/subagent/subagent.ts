/** Lets a model hand a task to another one (contract/tools 3.7). */
import { type JsonObject, nonEmptyText } from '../../formats/json-values.js'
import { agentFunction } from '../nested/agent-name.js'
import {
  type InnerParameters,
  type InnerParametersFault,
  innerRequest,
  outerModel,
  refuseInnerTools,
} from '../nested/inner-request.js'
import type {
  ServerTool,
  ToolCallInput,
  ToolFunction,
  ToolOutcome,
  ToolRefusal,
  ToolRun,
} from '../port/tool.js'

interface SubagentParameters extends InnerParameters {
  readonly name?: string
  readonly inherit_functions?: boolean
  readonly inherited_function_names?: readonly string[]
}

const MOST_TOOL_CALLS = 25

export const createSubagentTool = (faultIn: InnerParametersFault): ServerTool => ({
  name: 'subagent',
  prepare(asked) {
    const parameters = asked.parameters as SubagentParameters
    const refusal = refuseInheritance(parameters) ?? refuseInnerTools('subagent', parameters, faultIn)
    if (refusal !== null) return refusal
    return {
      functions: [describe(parameters)],
      backend: 'models',
      fee: () => 0,
      run: (call, run) => delegate(parameters, call, run),
    }
  },
})

/** Nobody could answer the calls: the formats that are served here have no way to suspend a subagent and go on with it. */
function refuseInheritance(parameters: SubagentParameters): ToolRefusal | null {
  const member = (['inherit_functions', 'inherited_function_names'] as const).find(
    (name) => parameters[name] !== undefined && parameters[name] !== false,
  )
  if (member === undefined) return null
  return {
    refused: 'is not served: a subagent cannot call the functions of the caller',
    member: ['parameters', member],
  }
}

function describe({ name }: SubagentParameters): ToolFunction {
  const whom = name === undefined ? 'a smaller, faster model' : `the subagent ${name.trim()}`
  return {
    name: agentFunction('subagent', name),
    description: `Hands a task that stands by itself to ${whom}, which sees only the description; not for what is done sooner than described.`,
    parameters: {
      type: 'object',
      properties: {
        task_name: { type: 'string', description: 'A short name of the task, such as summarize-changelog.' },
        task_description: {
          type: 'string',
          description:
            'All that is needed for the task: context, inputs, constraints and the form of the outcome.',
        },
      },
      required: ['task_name', 'task_description'],
    },
  }
}

async function delegate(
  parameters: SubagentParameters,
  call: ToolCallInput,
  run: ToolRun,
): Promise<ToolOutcome> {
  const task = nonEmptyText(call.arguments.task_description)
  const task_name = nonEmptyText(call.arguments.task_name) ?? ''
  const fail = (error: string, executed: boolean): ToolOutcome => {
    const content = { status: 'error', task_name, error: `Subagent call failed: ${error}` }
    return { content, isError: true, executed, charged: 0 }
  }
  if (task === undefined) return fail('it needs a task_description', false)
  const request = innerRequest(parameters, run.request, {
    model: parameters.model ?? outerModel(run.request),
    messages: [{ role: 'user', content: task }],
    mostToolCalls: MOST_TOOL_CALLS,
  })
  const { budget, signal } = run
  const answer = await run.nested({ purpose: 'subagent', request, budget, signal })
  if (!answer.ok) return fail(answer.message, answer.wasAsked)
  if (answer.text === '') return fail('the model said nothing', true)
  const content: JsonObject = { status: 'ok', task_name, model: answer.model, outcome: answer.text }
  return { content, isError: false, executed: true, charged: 0, citations: answer.citations }
}
