/** What the mock upstream answers, chosen by the name of the model, and what a complete answer looks like. */

/**
 * `json`: one small answer. `stream`: every event at once. `paced`: an event every 20 ms. `calm`: one every 200 ms.
 * `flood`: 800 KB/s of large events without an end. `headers`: a head, then nothing. `silent`: not even a head;
 * `silent-x` is the same for another provider, who has to have a model of his own.
 */
type AnswerKind = 'json' | 'stream' | 'paced' | 'calm' | 'flood' | 'silent' | 'headers'

export interface MockModel {
  readonly kind: AnswerKind
  /** Events that carry a token; the role, the finish reason, the usage and the terminator come on top. */
  readonly tokens: number
  /** Every token then carries the tag of its request (`tagOf`), so that crossed answers show. */
  readonly tagged: boolean
  /** As many tokens as the request's `max_tokens` says. */
  readonly asked: boolean
}

export const PACE_MS = 20
export const CALM_MS = 200

const NAME =
  /^bench\/(?:(json|headers|flood)|(silent)(?:-[a-z]+)?|(stream|paced|calm)-(\d{1,7}|asked))(-tagged)?$/

/** The plan behind a model's name; null for a name the mock does not know. `maxTokens`: of the request. */
export function mockModel(name: string, maxTokens = 1): MockModel | null {
  const match = NAME.exec(name)
  if (match === null) return null
  const [, plain, silent, counted, tokens, tagged] = match
  return {
    kind: (plain ?? silent ?? counted) as AnswerKind,
    tokens: tokens === 'asked' ? maxTokens : Number(tokens ?? 0),
    tagged: tagged !== undefined,
    asked: tokens === 'asked',
  }
}

/** Every model a configuration of ours lists. */
export const MODEL_NAMES: readonly string[] = [
  'bench/json',
  'bench/json-tagged',
  'bench/stream-16',
  'bench/stream-64',
  'bench/stream-250',
  'bench/stream-1000',
  'bench/stream-4000',
  'bench/stream-16000',
  'bench/stream-64-tagged',
  'bench/paced-64',
  'bench/paced-64-tagged',
  'bench/paced-asked',
  'bench/calm-100-tagged',
  'bench/flood',
  'bench/silent',
  'bench/headers',
]

/** The word that marks request `number`: of fixed length, so that no tag is the beginning of another. */
export const tagOf = (number: number): string => `tag${String(number).padStart(8, '0')}`

const TAG = /tag\d{8}/

/** The tag somewhere in a request's text, or an empty text. */
export const tagIn = (text: string): string => TAG.exec(text)?.[0] ?? ''

/** The JSON body of a call, with the tag in its only message. */
export function callBody(model: string, tag = ''): string {
  const plan = mockModel(model)
  if (plan === null) throw new Error(`${model} is no model of the mock`)
  return JSON.stringify({
    model,
    messages: [{ role: 'user', content: `Say the words of the benchmark. ${tag}`.trimEnd() }],
    ...(plan.kind !== 'json' && plan.kind !== 'silent' && { stream: true }),
  })
}
