/** `context-compression`: a conversation that is too long for its model loses its middle (contract/tools 4.4). */
import type { Catalog } from '../../catalog/catalog.js'
import type { RoutedRequest } from '../../formats/canonical.js'
import { contentText } from '../../formats/content-parts.js'
import type { Tooling } from '../../formats/tooling.js'
import type { Plugin, PluginRun, Question, QuestionChange } from '../port/plugin.js'
import { fitMiddleOut, mostTokens } from './middle-out.js'
import type { TalkMessage } from './units.js'

export const CONTEXT_COMPRESSION = 'context-compression'

/** Models with no more context have it unless the request says no. */
const COMPRESSED_UNASKED = 8_192

export const contextCompression: Plugin = {
  id: CONTEXT_COMPRESSION,
  prepare: () => ({ before: compress }),
}

/** Whether a request is compressed without asking for it: only where it might not fit its model, which few do. */
export function isCompressedUnasked(catalog: Catalog, request: RoutedRequest): boolean {
  if (catalog.smallestContext > COMPRESSED_UNASKED || request.model === undefined) return false
  const model = catalog.model(request.model)
  const length = model?.contextLength ?? model?.endpoints[0]?.contextLength ?? null
  if (length === null || length > COMPRESSED_UNASKED) return false
  const talk = request as Talk
  return mostTokens(talk.messages) + 3 * fixedText(talk).length > length - answerRoom(talk, length)
}

/** The tooling with the plugin, unless it is named there, or switched off. */
export function withCompression(tooling: Tooling): Tooling {
  const { plugins, disabled } = tooling
  if (disabled.includes(CONTEXT_COMPRESSION) || plugins.some(({ id }) => id === CONTEXT_COMPRESSION))
    return tooling
  return { ...tooling, plugins: [...plugins, { id: CONTEXT_COMPRESSION, options: {}, place: ['plugins'] }] }
}

/** What is read of a request of either format of text. */
interface Talk extends RoutedRequest {
  readonly messages: readonly TalkMessage[]
  readonly system?: unknown
  readonly tools?: readonly unknown[]
  readonly max_tokens?: number | null
  readonly max_completion_tokens?: number | null
}

/** Room for an answer of which the request says nothing; never more than half of the context. */
const ANSWER_TOKENS = 512

async function compress({ request }: Question, run: PluginRun): Promise<QuestionChange> {
  const talk = request as Talk
  const { contextLength } = run
  if (!Number.isFinite(contextLength) || contextLength <= 0) return { request }
  const space = contextLength - answerRoom(talk, contextLength)
  const said = fixedText(talk)
  // Most prompts need not be counted.
  if (mostTokens(talk.messages) + 3 * said.length <= space) return { request }
  const [fixed = 0] = await run.countTokens([said])
  const room = space - fixed
  const fitted = await fitMiddleOut(talk.messages, room, (texts) => run.countTokens(texts))
  if (fitted === null) return { request }
  const told = { type: 'context_compression', name: 'middle-out' } as const
  if (fitted === 'unfit')
    return {
      request,
      pipeline: { ...told, summary: 'What has to stay of the prompt is too long for the model' },
    }
  const { messages, dropped, shortened, from, to } = fitted
  const summary = `${count(dropped, 'message')} left out and ${count(shortened, 'text')} shortened: ${from + fixed} tokens became ${to + fixed}`
  const data = { dropped, shortened, tokens_before: from + fixed, tokens_after: to + fixed }
  return { request: { ...talk, messages } as RoutedRequest, pipeline: { ...told, summary, data } }
}

/** What is not compressed. */
function fixedText({ system = '', tools }: Talk): string {
  return `${contentText(system)}${tools === undefined ? '' : JSON.stringify(tools)}`
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? '' : 's'}`
}

function answerRoom({ max_completion_tokens, max_tokens }: Talk, contextLength: number): number {
  return Math.min(max_completion_tokens ?? max_tokens ?? ANSWER_TOKENS, Math.floor(contextLength / 2))
}
