/** Moderation by an endpoint of a configured provider: `POST /moderations`, as OpenAI has it. */
import type { CallJson } from '../../../upstream/call-json.js'
import { type Moderator, readModeration } from './verdict.js'

/** Where it is, and what it is asked with. */
interface ModerationEndpoint {
  /** Name of the provider, for people. */
  readonly name: string
  /** Of its API, without a closing slash. */
  readonly baseUrl: string
  readonly apiKey: string | null
  /** Fixed headers of the operator. */
  readonly headers: Readonly<Record<string, string>>
  /** Null leaves the model to the provider. */
  readonly model: string | null
}

const TIMEOUT_MS = 15_000
const LARGEST_ANSWER = 4 * 1024 * 1024

export function endpointModerator(callJson: CallJson, endpoint: ModerationEndpoint): Moderator {
  const { name, baseUrl, apiKey, headers, model } = endpoint
  const authorization = apiKey === null ? [] : [['authorization', `Bearer ${apiKey}`] as const]
  const fixed = Object.entries(headers).map(([field, value]) => [field.toLowerCase(), value] as const)
  return async (texts, { caller, signal }) => {
    const answer = await callJson({
      url: `${baseUrl}/moderations`,
      headers: [...authorization, ...fixed],
      body: { input: texts, ...(model !== null && { model }) },
      caller: caller.organizationId,
      signal,
      timeoutMs: TIMEOUT_MS,
      maxAnswerBytes: LARGEST_ANSWER,
    })
    if (!answer.ok) return answer
    if (answer.status !== 200)
      return { ok: false, reason: `the endpoint answered with status ${answer.status}` }
    const verdict = readModeration(answer.value, texts)
    if (verdict === null) return { ok: false, reason: 'the endpoint gave no result for each text' }
    return { ...verdict, provider: name, model: verdict.model ?? model }
  }
}
