/** Lets a model ask another one for advice while it answers (contract/tools 3.7). */

import type { ChatMessage } from '../../formats/canonical.js'
import { type JsonObject, nonEmptyText } from '../../formats/json-values.js'
import { agentFunction } from '../nested/agent-name.js'
import {
  type InnerParameters,
  type InnerParametersFault,
  innerRequest,
  outerModel,
  refuseInnerTools,
  tellConversation,
} from '../nested/inner-request.js'
import type { ServerTool, ToolCallInput, ToolFunction, ToolOutcome, ToolRun } from '../port/tool.js'

interface AdvisorParameters extends InnerParameters {
  readonly name?: string
  readonly forward_transcript?: boolean
  /** Of the messages format's own tool: consultations in a request. */
  readonly max_uses?: number
}

const MOST_TOOL_CALLS = 25

export const createAdvisorTool = (faultIn: InnerParametersFault): ServerTool => ({
  name: 'advisor',
  prepare(asked) {
    const parameters = asked.parameters as AdvisorParameters
    const refusal = refuseInnerTools('advisor', parameters, faultIn)
    if (refusal !== null) return refusal
    let uses = 0
    return {
      functions: [describe(parameters)],
      backend: 'models',
      fee: () => 0,
      run: async (call, run) => {
        if (uses >= (parameters.max_uses ?? Number.POSITIVE_INFINITY)) {
          return failed('Advisor call failed: it was asked max_uses times', false)
        }
        uses++
        return advise(parameters, call, run)
      },
    }
  },
})

function describe({ name, model, forward_transcript: forwards }: AdvisorParameters): ToolFunction {
  const whom = name === undefined ? 'a stronger model' : `the advisor ${name.trim()}`
  const sees = forwards === true ? 'It has read the conversation.' : 'It sees only the prompt.'
  return {
    name: agentFunction('advisor', name),
    description: `Asks ${whom} for advice: before work of substance, where you are stuck, or before you call a task done; not for single easy steps. ${sees}`,
    parameters: {
      type: 'object',
      properties: {
        prompt: {
          type: 'string',
          description: 'What you want advice on, with all that is needed to give it.',
        },
        ...(model === undefined && {
          model: { type: 'string', description: 'Id of the model to ask; your own when absent.' },
        }),
      },
      required: forwards === true ? [] : ['prompt'],
    },
  }
}

async function advise(
  parameters: AdvisorParameters,
  call: ToolCallInput,
  run: ToolRun,
): Promise<ToolOutcome> {
  const prompt = nonEmptyText(call.arguments.prompt)
  const forwards = parameters.forward_transcript === true
  if (prompt === undefined && !forwards) return failed('Advisor call failed: it needs a prompt', false)
  const model = parameters.model ?? nonEmptyText(call.arguments.model) ?? outerModel(run.request)
  const question: ChatMessage = { role: 'user', content: prompt ?? 'What do you advise?' }
  const messages = [...(forwards ? tellConversation(run.request) : []), question]
  const request = innerRequest(parameters, run.request, { model, messages, mostToolCalls: MOST_TOOL_CALLS })
  const { budget, signal } = run
  const answer = await run.nested({ purpose: 'advisor', request, budget, signal })
  if (!answer.ok) return failed(`Advisor call failed: ${answer.message}`, answer.wasAsked)
  if (answer.text === '') return failed('Advisor call failed: the model said nothing', true)
  const content: JsonObject = { status: 'ok', model: answer.model, advice: answer.text }
  const { citations } = answer
  return {
    content,
    isError: false,
    executed: true,
    charged: 0,
    citations,
  }
}

function failed(error: string, executed: boolean): ToolOutcome {
  return { content: { status: 'error', error }, isError: true, executed, charged: 0 }
}
