/** Lets a model ask a panel of models, whose answers a judge compares (contract/tools 3.7). */
import type { Catalog } from '../../catalog/catalog.js'
import type { ChatMessage, ChatRequest } from '../../formats/canonical.js'
import { type JsonObject, nonEmptyText } from '../../formats/json-values.js'
import {
  type InnerParameters,
  type InnerParametersFault,
  innerRequest,
  outerModel,
  refuseInnerTools,
  tellConversation,
} from '../nested/inner-request.js'
import type {
  NestedAnswer,
  ServerTool,
  ToolCallInput,
  ToolFunction,
  ToolOutcome,
  ToolRun,
} from '../port/tool.js'
import { ANALYSIS_FORMAT, judgePrompt, type PanelResponse, readAnalysis } from './analysis.js'
import { defaultPanel } from './panel.js'

interface FusionParameters extends InnerParameters {
  readonly analysis_models?: readonly string[]
}

const MOST_TOOL_CALLS = 8

const FUNCTION: ToolFunction = {
  name: 'fusion',
  description:
    'Asks several models the same question at once and compares their answers: consensus, contradictions, blind spots. For questions that gain from several views, or where being wrong is expensive; not for simple ones. Once per request.',
  parameters: {
    type: 'object',
    properties: {
      prompt: {
        type: 'string',
        description: 'The question, with all that is needed to answer it; the conversation when absent.',
      },
    },
  },
}

/** @param catalog asked with every call */
export function createFusionTool(catalog: () => Catalog, faultIn: InnerParametersFault): ServerTool {
  return {
    name: 'fusion',
    prepare(asked) {
      const parameters = asked.parameters as FusionParameters
      const refusal = refuseInnerTools('fusion', parameters, faultIn)
      if (refusal !== null) return refusal
      let hasRun = false
      return {
        functions: [FUNCTION],
        backend: 'models',
        fee: () => 0,
        run: (call, run) => {
          if (hasRun)
            return Promise.resolve(failed('fusion_invocation_capped', 'it has been asked before', false))
          hasRun = true
          return fuse(parameters, catalog(), call, run)
        },
      }
    },
  }
}

async function fuse(
  parameters: FusionParameters,
  catalog: Catalog,
  call: ToolCallInput,
  run: ToolRun,
): Promise<ToolOutcome> {
  const { signal } = run
  const outer = outerModel(run.request)
  const models = parameters.analysis_models ?? defaultPanel(catalog, outer)
  const prompt = nonEmptyText(call.arguments.prompt)
  const messages: readonly ChatMessage[] =
    prompt === undefined ? tellConversation(run.request) : [{ role: 'user', content: prompt }]
  // Nobody in it may spend what another one needs, and the judge comes last.
  const share = Math.floor(run.budget / (models.length + 1))
  const answers = await Promise.all(
    models.map((model) => {
      const request = innerRequest(parameters, run.request, {
        model,
        messages,
        mostToolCalls: MOST_TOOL_CALLS,
      })
      return run.nested({ purpose: 'panel', request, budget: share, signal })
    }),
  )
  const panel = answers.map((answer, seat) => ({ model: models[seat]!, answer }))
  const responses = panel.flatMap(({ answer }) => responseOf(answer))
  const failures = panel.flatMap(({ model, answer }) => failureOf(model, answer))
  if (responses.length === 0) return allFailed(answers, failures)
  const judge: ChatRequest = {
    ...innerRequest(parameters, run.request, {
      model: parameters.model ?? outer,
      messages: judgePrompt(prompt ?? JSON.stringify(messages), responses),
      mostToolCalls: MOST_TOOL_CALLS,
    }),
    temperature: 0,
    response_format: ANALYSIS_FORMAT,
  }
  const spent = answers.reduce((sum, { charged }) => sum + charged, 0)
  const budget = run.budget - spent
  const verdict = await run.nested({ purpose: 'judge', request: judge, budget, signal })
  const analysis = verdict.ok ? readAnalysis(verdict.text) : null
  const content: JsonObject = {
    status: 'ok',
    ...(analysis !== null && { analysis }),
    responses,
    ...(failures.length > 0 && { failed_models: failures }),
  }
  const citations = [...answers, verdict].flatMap((answer) => (answer.ok ? answer.citations : []))
  return { content, isError: false, executed: true, charged: 0, citations }
}

function responseOf(answer: NestedAnswer): readonly PanelResponse[] {
  return answer.ok && answer.text !== '' ? [{ model: answer.model, content: answer.text }] : []
}

function failureOf(model: string, answer: NestedAnswer): readonly { model: string; error: string }[] {
  if (!answer.ok) return [{ model, error: answer.message }]
  return answer.text === '' ? [{ model, error: 'the model said nothing' }] : []
}

const NO_CREDIT: ReadonlySet<string> = new Set(['payment-required', 'budget'])

function allFailed(answers: readonly NestedAnswer[], failures: readonly object[]): ToolOutcome {
  const reasons = answers.map((answer) => (answer.ok ? '' : answer.reason))
  const reason = reasons.some((kind) => NO_CREDIT.has(kind))
    ? 'insufficient_credits'
    : reasons.includes('rate-limited')
      ? 'rate_limited'
      : reasons.every((kind) => kind === 'internal')
        ? 'unexpected_error'
        : 'all_panels_failed'
  return failed(
    reason,
    'all models of the panel failed',
    answers.some((answer) => answer.ok || answer.wasAsked),
    { failed_models: failures },
  )
}

function failed(
  failure_reason: string,
  error: string,
  executed: boolean,
  more: JsonObject = {},
): ToolOutcome {
  return { content: { status: 'error', error, failure_reason, ...more }, isError: true, executed, charged: 0 }
}
