/** `moderation`: harmful words of a request reach no model (contract/tools 4.7). */
import { Fault } from '../../../base/fault.js'
import type { RoutedRequest } from '../../formats/canonical.js'
import { contentText } from '../../formats/content-parts.js'
import { SIMULATED_JUDGE } from '../judge/judge.js'
import type { Plugin, PluginRun, Question, QuestionChange } from '../port/plugin.js'
import { judgeModerator, type Moderator, type Verdict } from './verdict.js'

const ID = 'moderation'

/** @param configured `plugins.moderation` of the moment; null where it says nothing. */
export function createModeration(configured: () => Moderator | null): Plugin {
  return {
    id: ID,
    prepare: (_, { isSimulated }) => {
      const moderator = configured() ?? (isSimulated ? judgeModerator(SIMULATED_JUDGE) : null)
      if (moderator === null)
        return {
          refused: `is not configured: set plugins.${ID}.provider or plugins.${ID}.model`,
          member: ['id'],
        }
      return { before: (question, run) => moderate(moderator, question, run) }
    },
  }
}

async function moderate(
  moderator: Moderator,
  question: Question,
  run: PluginRun,
): Promise<QuestionChange | Fault> {
  const { request } = question
  const texts = wordsOf(request)
  if (texts.length === 0) return { request }
  const verdict = await moderator(texts, run)
  if (!verdict.ok) return unmoderated(verdict.reason)
  return verdict.reasons.length === 0 ? { request } : flagged(verdict, request.model ?? null)
}

/** What is read of a request of either format. */
interface Spoken extends RoutedRequest {
  readonly messages?: readonly { readonly content?: unknown; readonly tool_calls?: unknown }[]
  readonly system?: unknown
  readonly tools?: unknown
}

/**
 * All that a model would read, whoever is said to have said it: the caller has written it all, and could put into the
 * mouth of a tool what may not be asked.
 */
function wordsOf({ messages = [], system, tools, tooling }: Spoken): readonly string[] {
  const parameters = (tooling?.tools ?? []).map((tool) => tool.parameters)
  const written = [...messages.map(({ tool_calls }) => tool_calls), tools, ...parameters]
  const texts = [
    contentText(system),
    ...messages.map(({ content }) => contentText(content)),
    ...written.map((value) => (isEmpty(value) ? '' : JSON.stringify(value))),
  ]
  return texts.filter((text) => text.trim() !== '')
}

function isEmpty(value: unknown): boolean {
  return typeof value !== 'object' || value === null || Object.keys(value).length === 0
}

/** Where nobody has judged the words they are not let through. */
function unmoderated(reason: string): Fault {
  return new Fault('unavailable', {
    note: 'The moderation of this request did not answer',
    metadata: { error_type: 'provider_unavailable' },
    detail: `moderation: ${reason}`,
  })
}

function flagged(
  { reasons, flagged: words, provider, model }: Verdict & { ok: true },
  asked: string | null,
): Fault {
  return new Fault('forbidden', {
    note: `The input was flagged by moderation: ${reasons.join(', ')}`,
    metadata: {
      error_type: 'permission_denied',
      reasons,
      flagged_input: shorten(words),
      ...(provider !== null && { provider_name: provider }),
      ...(asked !== null && { model_slug: asked }),
      ...(model !== null && { moderation_model: model }),
    },
  })
}

/** Most characters of the words that are told (contract/gateway 1.5). */
const MOST_TOLD = 100
const GAP = ' … '

/** Its middle is left out. */
function shorten(text: string): string {
  if (text.length <= MOST_TOLD) return text
  const half = Math.floor((MOST_TOLD - GAP.length) / 2)
  return `${text.slice(0, half).toWellFormed()}${GAP}${text.slice(-half).toWellFormed()}`
}
