/** What goes on in the demo: calls of several kinds, of which some fail, and exchanges of tokens. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Api } from './api.js'
import type { IdentityProvider } from './identity-provider.js'
import type { Organization } from './organization.js'

const BETWEEN_MS = 500
/** Calls that are under way at most: a machine that is busy is not made busier. */
const MOST_AT_ONCE = 16

interface Kind {
  readonly path: string
  readonly body: object
  /** Which of the organization's keys; in turn where it does not say. */
  readonly key?: number
}

const QUESTION = [{ role: 'user', content: 'Tell me about sluices, locks and weirs.' }]
const chat = (model: string, more: object = {}): Kind => ({
  path: '/chat/completions',
  body: { model, messages: QUESTION, max_tokens: 80, ...more },
})
const stream = { stream: true }

/** One after the other, and again. */
const KINDS: readonly Kind[] = [
  chat('sim/standard', stream),
  chat('sim/fast'),
  { path: '/messages', body: { model: 'sim/standard', max_tokens: 80, messages: QUESTION, ...stream } },
  chat('sim/reasoner', { ...stream, session_id: 'demo-session' }),
  { ...chat('sim/fast'), key: 3 },
  { path: '/audio/speech', body: { model: 'sim/speech', voice: 'alba', input: 'The quick brown fox.' } },
  chat('sim/agent', {
    messages: [{ role: 'user', content: 'call service:datetime\nanswer It is late.' }],
    tools: [{ type: 'service:datetime' }],
  }),
  { ...chat('sim/fast', stream), key: 4 },
  chat('sim/overloaded'),
  { path: '/messages', body: { model: 'sim/fast', max_tokens: 40, messages: QUESTION } },
  chat('sim/fault-error'),
  { ...chat('sim/fast'), key: 3 },
  { path: '/embeddings', body: { model: 'sim/embed', input: 'a weir across the river' } },
  { ...chat('sim/fast'), key: 4 },
  chat('sim/fault-cut', stream),
  chat('sim/instant'),
]

/** Resolves when it is told to end, once nothing is under way any more. */
export async function runTraffic(
  api: Api,
  { keys, policies }: Organization,
  provider: IdentityProvider,
  left: AbortSignal,
): Promise<void> {
  const underWay = new Set<Promise<unknown>>()
  const begin = (call: Promise<unknown>): void => {
    // Calls fail on purpose, and all of those under way when it ends.
    const done = call.catch(() => {}).finally(() => underWay.delete(done))
    underWay.add(done)
  }
  for (let at = 0; !left.aborted; at++) {
    const { path, body, key = at % 3 } = KINDS[at % KINDS.length]!
    if (underWay.size < MOST_AT_ONCE) begin(api.send('POST', path, keys[key]!, body).then(drained))
    if (at % KINDS.length === 0) {
      for (const [subject, policy] of Object.entries(policies))
        begin(provider.token(subject).then((token) => exchange(api, token, policy)))
    }
    await sleep(BETWEEN_MS, undefined, { signal: left }).catch(() => {})
  }
  await Promise.all(underWay)
}

/** A workload: its token becomes an access token, and that makes a call. */
async function exchange(api: Api, token: string, policy: string): Promise<void> {
  const form = new URLSearchParams({
    grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    subject_token: token,
    federation_policy_id: policy,
  })
  const answer = await api.send('POST', '/oauth/token', '', form)
  const { access_token: access } = (await answer.json()) as { access_token?: string }
  if (access !== undefined) await drained(await api.send('POST', '/chat/completions', access, KINDS[1]!.body))
}

async function drained(answer: Response): Promise<void> {
  await answer.arrayBuffer()
}
