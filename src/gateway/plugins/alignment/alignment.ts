/** `alignment`: an answer that breaks the caller's rules is asked for once more, refused or told (contract/tools 4.7). */
import { Fault } from '../../../base/fault.js'
import type { ChatRequest, RoutedRequest } from '../../formats/canonical.js'
import type { MessagesRequest } from '../../formats/messages.js'
import { judgeText, SIMULATED_JUDGE } from '../judge/judge.js'
import type { AnswerChange, FinalAnswer, PipelineEntry, Plugin, PluginRun, Question } from '../port/plugin.js'

const ID = 'alignment'

/** How a request asks for it (contract/gateway 2.10); checked by its schema. */
interface AlignmentOptions {
  readonly rules: readonly string[]
  readonly threshold?: number
  readonly max_retries?: number
  readonly mode?: 'enforce' | 'audit'
  readonly instruct?: boolean
}

interface Alignment {
  readonly rules: readonly string[]
  /** A rule counts as broken from this score on. */
  readonly threshold: number
  readonly maxRetries: number
  readonly enforces: boolean
  /** Model of the catalogue. */
  readonly judge: string
}

/** @param judgeModel `plugins.alignment.model` of the moment; null where it says nothing. */
export function createAlignment(judgeModel: () => string | null): Plugin {
  return {
    id: ID,
    prepare: (asked, { isSimulated }) => {
      const judge = judgeModel() ?? (isSimulated ? SIMULATED_JUDGE : null)
      if (judge === null) return { refused: `is not configured: set plugins.${ID}.model`, member: ['id'] }
      const {
        rules,
        threshold = 0.7,
        max_retries = 1,
        mode = 'enforce',
        instruct = true,
      } = asked.options as unknown as AlignmentOptions
      const enforces = mode === 'enforce'
      const alignment = { rules, threshold, maxRetries: max_retries, enforces, judge }
      return {
        ...(instruct && { before: async (question) => ({ request: withRules(question, rules) }) }),
        after: (answer, run) => align(alignment, answer, run),
        holdsAnswer: enforces,
      }
    },
  }
}

/** The rules as an instruction. A chat request is its own reading as chat; the other format has a member for it. */
function withRules(question: Question, rules: readonly string[]): RoutedRequest {
  const text = `Keep these rules in your answer:\n${rules.map((rule) => `- ${rule}`).join('\n')}`
  const { request } = question
  const chat = question.asChat()
  if (chat === request) {
    const changed: ChatRequest = { ...chat, messages: [{ role: 'system', content: text }, ...chat.messages] }
    return changed
  }
  const { system } = request as MessagesRequest
  const before = typeof system === 'string' ? [{ type: 'text', text: system }] : (system ?? [])
  return { ...request, system: [...before, { type: 'text', text }] } as RoutedRequest
}

interface Finding {
  readonly broken: readonly string[]
  readonly scores: readonly number[]
}

async function align(
  alignment: Alignment,
  answer: FinalAnswer,
  run: PluginRun,
): Promise<AnswerChange | Fault> {
  let { text, words } = answer
  if (words.trim() === '') return {}
  for (let retries = 0; ; retries++) {
    const finding = await judge(alignment, words, run)
    if ('reason' in finding) return unjudged(alignment, finding.reason)
    const { broken } = finding
    if (broken.length === 0)
      return retries === 0
        ? {}
        : { text, isAnew: true, pipeline: told(`Answered anew ${retries} times`, finding, retries) }
    if (!alignment.enforces) return { pipeline: told(`The answer breaks ${broken.length} rules`, finding, 0) }
    if (retries === alignment.maxRetries) return refusal(finding, retries)
    const next = await answer.retry(text, instructionFor(broken))
    if (next instanceof Fault) return next
    text = next
    words = next
  }
}

async function judge(
  { rules, threshold, judge: model }: Alignment,
  text: string,
  run: PluginRun,
): Promise<Finding | { readonly reason: string }> {
  const judged = await judgeText(run, { model, rules, text })
  if (!judged.ok) return judged
  const { scores } = judged
  return { broken: rules.filter((_, at) => scores[at]! >= threshold), scores }
}

function instructionFor(broken: readonly string[]): string {
  const list = broken.map((rule) => `- ${rule}`).join('\n')
  return `Your answer breaks these rules:\n${list}\nAnswer once more, without breaking any, and without a word about this.`
}

/** Where nobody has judged an answer that was to be enforced it is not shown. */
function unjudged({ enforces }: Alignment, reason: string): AnswerChange | Fault {
  if (!enforces)
    return { pipeline: { type: 'plugin', name: ID, summary: `The answer was not judged: ${reason}` } }
  return new Fault('unavailable', {
    note: 'The judge of this answer did not answer',
    metadata: { error_type: 'provider_unavailable' },
    detail: `alignment: ${reason}`,
  })
}

function refusal({ broken, scores }: Finding, retries: number): Fault {
  return new Fault('forbidden', {
    note: `The answer breaks ${broken.length === 1 ? 'a rule' : 'rules'} of this request`,
    metadata: { error_type: 'permission_denied', reasons: broken, scores, retries },
  })
}

function told(summary: string, { broken, scores }: Finding, retries: number): PipelineEntry {
  return { type: 'plugin', name: ID, summary, data: { broken, scores, retries } }
}
