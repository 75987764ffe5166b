/** What a provider, the log and the metrics must never see. */
import tap, { test } from 'tap'
import { chatBench, mockCompletion, mockStream } from '../../support/servers/chat-bench.js'
import { API_KEY, MANAGEMENT_KEY } from '../../support/servers/gateway-server.js'

const PROVIDER_KEY = 'canary-provider-credential'
const bench = await chatBench(tap, {
  env: { MOCK_API_KEY: PROVIDER_KEY, SLUICE_LOG_LEVEL: 'trace' },
  provider: { api_key_env: 'MOCK_API_KEY' },
})
const { ask, upstream, server } = bench

const CANARIES = {
  user: 'canary-user@example.org',
  session_id: 'canary-session',
  trace: { trace_id: 'canary-trace', span_name: 'canary-span', extra: 'canary-extra' },
  metadata: { canary_pair: 'canary-metadata' },
}
const PROMPT = 'canary prompt of the caller'
const ANSWER = 'canary answer of the provider'
const HEADERS = {
  'X-Session-Id': 'canary-header-session',
  Cookie: 'canary-cookie',
  'HTTP-Referer': 'https://canary-referer.example',
  'X-Title': 'canary-title',
  traceparent: '00-canarytrace',
  'X-Forwarded-For': '192.0.2.77',
}

const asking = { ...CANARIES, messages: [{ role: 'user', content: PROMPT, name: 'bob' }] }

test('nothing that identifies the caller reaches the provider, nor the caller’s credential', async (t) => {
  upstream.script = (peer) => peer.json(mockCompletion(ANSWER))
  t.equal((await ask(asking, HEADERS)).status, 200)
  upstream.script = (peer) => peer.stream(mockStream(ANSWER))
  t.equal((await ask({ ...asking, stream: true }, HEADERS)).status, 200)
  for (const request of upstream.requests) {
    const all = request.rawHeaders.join('\n') + request.body.replaceAll(PROMPT, '')
    t.notMatch(
      all,
      /canary-(user|session|trace|span|extra|metadata|header|cookie|referer|title)|canarytrace|192\.0\.2\.77/,
    )
    t.notOk(all.includes(API_KEY))
    t.equal(request.headers.authorization, `Bearer ${PROVIDER_KEY}`)
    t.match(JSON.parse(request.body).user, /^user-[0-9a-f]{40}$/)
  }
})

test('without an end user an identity of the account is sent, the same each time', async (t) => {
  upstream.script = (peer) => peer.json(mockCompletion(ANSWER))
  await ask()
  await ask()
  const [one, two] = upstream.requests.slice(-2).map(({ body }) => JSON.parse(body).user)
  t.match(one, /^user-[0-9a-f]{40}$/)
  t.equal(one, two)
})

test('failures of every kind later, neither log, errors nor metrics know a key or a prompt', async (t) => {
  const answers: string[] = []
  for (const status of [400, 401, 422, 429, 500, 503]) {
    upstream.script = (peer) => peer.json({ error: { message: `bad key ${PROVIDER_KEY}` } }, status)
    answers.push((await ask(asking)).text, (await ask({ ...asking, stream: true })).text)
  }
  upstream.script = (peer) => peer.reset()
  answers.push((await ask(asking)).text)
  upstream.script = (peer) => peer.answer(200, `${PROVIDER_KEY} ${PROMPT} is no JSON`)
  answers.push((await ask(asking)).text)
  answers.push((await ask(asking, { Authorization: 'Bearer canary-wrong-key' })).text)
  const metrics = await (await fetch(`${server.baseUrl}/metrics`)).text()
  for (const sink of [...answers, metrics, server.log()]) {
    for (const secret of [API_KEY, MANAGEMENT_KEY, PROVIDER_KEY, 'canary-wrong-key', PROMPT, ANSWER]) {
      t.notOk(sink.includes(secret), `${secret.slice(0, 12)}… is in a sink`)
    }
  }
  // Of a call that failed the log tells for whom it was (contract/decisions 57).
  for (const sink of [...answers, metrics]) t.notOk(sink.includes('canary-user'))
})
