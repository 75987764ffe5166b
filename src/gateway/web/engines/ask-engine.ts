/** One question to a search engine that the operator has configured. */
import type { CallJson } from '../../../upstream/call-json.js'
import type { JsonObject } from '../../formats/json-values.js'
import type { WebCall } from '../port.js'

interface EngineQuestion {
  /** Absolute. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Null asks with GET. */
  readonly body: JsonObject | null
}

/** `error` goes on from the name of the engine: "answers with status 500". */
export type EngineReply =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly error: string; readonly status: number | null }

export type AskEngine = (question: EngineQuestion, call: WebCall) => Promise<EngineReply>

const MOST_BYTES = 2 * 1024 * 1024

/** Never rejects. No address guard is needed: who searches does not choose where. */
export function engineAsker(callJson: CallJson): AskEngine {
  return async ({ url, headers, body }, { organizationId, signal, deadlineAt }) => {
    const answer = await callJson({
      url,
      headers: Object.entries(headers),
      body,
      caller: organizationId,
      signal,
      timeoutMs: Math.max(1, Math.ceil(Math.min(MOST_MS, deadlineAt - performance.now()))),
      maxAnswerBytes: MOST_BYTES,
    })
    if (!answer.ok) return { ok: false, error: `gives no answer: ${answer.reason}`, status: null }
    const { status, value } = answer
    if (status !== 200) return { ok: false, error: `answers with status ${status}`, status }
    if (value === undefined) return { ok: false, error: 'sends no JSON', status }
    return { ok: true, value }
  }
}

const MOST_MS = 30_000
