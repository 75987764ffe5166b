/** Where calls go when endpoints fall ill, when a session wants to stay, and when a provider asks for patience. */
import tap, { test } from 'tap'
import { mockUpstream, type Peer } from '../../support/providers/mock-upstream.js'
import { mockCompletion, mockStream } from '../../support/servers/chat-bench.js'
import {
  type Asked,
  askChat,
  CANARY_PROMPT,
  type Json,
  startGateway,
} from '../../support/servers/gateway-server.js'
import { eventually } from '../../support/timing/eventually.js'

const one = await mockUpstream(tap)
const two = await mockUpstream(tap)
const mocks = { One: one, Two: two } as const

const provider = (name: string, origin: string): object => ({
  kind: 'openai',
  name,
  base_url: `${origin}/v1`,
})

const CONFIG = {
  routing: { retries: 2, retry_wait_ms: 1_500, retry_budget: 1 },
  providers: { one: provider('One', one.origin), two: provider('Two', two.origin) },
  models: {
    'acme/both': { endpoints: [{ provider: 'one' }, { provider: 'two' }] },
    'acme/probed': { endpoints: [{ provider: 'one', upstream_model: 'probed' }] },
    'acme/single': { endpoints: [{ provider: 'one', upstream_model: 'single' }] },
    'acme/small': { endpoints: [{ provider: 'one', context_length: 1_000 }] },
    'acme/smaller': { endpoints: [{ provider: 'two', upstream_model: 'smaller', context_length: 500 }] },
    'acme/large': { endpoints: [{ provider: 'two', upstream_model: 'large', context_length: 9_000 }] },
    'acme/tiered': {
      endpoints: [
        { provider: 'one', upstream_model: 'tiered', service_tiers: ['default'] },
        { provider: 'two', upstream_model: 'tiered', service_tiers: ['default', 'ultrafast'] },
      ],
    },
  },
}

/** Two workers: what one learns the other has to know. */
const server = await startGateway({ env: { SLUICE_WORKERS: '2', SLUICE_LOG_LEVEL: 'info' }, config: CONFIG })
tap.teardown(() => server.stop())

/** Each call on a connection of its own, so that both workers get some. */
function ask(
  body: Readonly<Record<string, unknown>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<Asked> {
  return askChat(
    server,
    { messages: [{ role: 'user', content: CANARY_PROMPT }], ...body },
    { 'X-Service-Metadata': 'enabled', Connection: 'close', ...headers },
  )
}

function well(peer: Peer, { body }: { readonly body: string }): void {
  if (JSON.parse(body).stream) peer.stream(mockStream('served'))
  else peer.json(mockCompletion('served'))
}

const broken = (peer: Peer): void => peer.json({ error: { message: 'no' } }, 500)

const requestsTo = (name: keyof typeof mocks, model: string): number =>
  mocks[name].requests.filter(({ body }) => JSON.parse(body).model === model).length

test('a session stays with its endpoint over both workers, also from the header', async (t) => {
  one.script = well
  two.script = well
  for (const session of ['red', 'green', 'blue', 'white']) {
    const served = new Set<string>()
    for (let call = 0; call < 6; call++) {
      const body = call % 2 === 0 ? { session_id: session } : {}
      const asked = await ask(
        { model: 'acme/both', ...body },
        call % 2 === 0 ? {} : { 'x-session-id': session },
      )
      served.add(asked.json().provider)
    }
    t.equal(served.size, 1, `${session} is served by ${[...served]}`)
  }
})

test('an endpoint that keeps failing is left alone by both workers, and its sessions move once', async (t) => {
  one.script = well
  two.script = well
  const home = (await ask({ model: 'acme/both', session_id: 'mover' })).json().provider as 'One' | 'Two'
  const other = home === 'One' ? 'Two' : 'One'
  mocks[home].script = broken
  const before = requestsTo(home, 'acme/both')
  const served: string[] = []
  for (let call = 0; call < 40; call++) {
    const asked = await ask({ model: 'acme/both', session_id: 'mover' })
    t.equal(asked.status, 200, 'callers notice nothing')
    served.push(asked.json().provider)
  }
  t.same([...new Set(served)], [other])
  const tried = requestsTo(home, 'acme/both') - before
  t.ok(tried >= 5 && tried <= 12, `${tried} calls of 40 found out, among both workers and with probes`)
  mocks[home].script = well
  const after = await ask({ model: 'acme/both', session_id: 'mover' })
  t.equal(after.json().provider, other, 'it does not move back')
})

test('a session stays where it is, and a breaker as it is, over a reload', async (t) => {
  one.script = well
  two.script = well
  const where = async (session: string): Promise<string> =>
    (await ask({ model: 'acme/both', session_id: session })).json().provider
  const sessions = ['red', 'green', 'blue', 'white', 'mover']
  const before = await Promise.all(sessions.map(where))
  const reloads = (): number => server.log().split('all workers have the new configuration').length
  const done = reloads()
  server.reload({ ...CONFIG, models: { ...CONFIG.models, 'acme/new': CONFIG.models['acme/both'] } })
  await eventually(() => reloads() > done)
  t.equal((await ask({ model: 'acme/new' })).status, 200)
  for (let call = 0; call < 4; call++) t.same(await Promise.all(sessions.map(where)), before)
})

test('an endpoint that is down is probed by one call at a time, over both workers', async (t) => {
  one.script = broken
  for (let call = 0; call < 16; call++) await ask({ model: 'acme/probed' })
  let underWay = 0
  let most = 0
  let probes = 0
  one.script = (peer) => {
    probes++
    most = Math.max(most, ++underWay)
    setTimeout(() => {
      underWay--
      peer.json({ error: { message: 'no' } }, 500)
    }, 300)
  }
  const begun = performance.now()
  // Two probes fit into seven seconds, unless the machine is busy.
  const isOver = (): boolean => performance.now() - begun > (probes < 2 ? 30_000 : 7_000)
  const callers = Array.from({ length: 8 }, async () => {
    while (!isOver()) {
      const { status } = await ask({ model: 'acme/probed' })
      if (status !== 502 && status !== 503) t.fail(`answered ${status}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  })
  await Promise.all(callers)
  t.equal(most, 1)
  t.ok(probes >= 2 && probes <= 6, `${probes} probes`)
})

for (const stream of [false, true]) {
  test(`a provider that asks for a second gets it, stream: ${stream}`, async (t) => {
    let calls = 0
    one.script = (peer, request) => {
      if (calls++ === 0) peer.json({ error: { message: 'later' } }, 429, { 'retry-after': '1' })
      else well(peer, request)
    }
    const begun = performance.now()
    const asked = await ask({ model: 'acme/single', stream })
    t.equal(asked.status, 200)
    t.ok(performance.now() - begun >= 999, 'Retry-After is the least wait')
    const said: Json = stream ? asked.events().at(-2) : asked.json()
    t.match(said.service_metadata, { attempt: 2, attempts: [{ status: 429 }, { status: 200 }] })
  })
}

test('a provider that asks for more patience than is configured is not asked again', async (t) => {
  let calls = 0
  one.script = (peer) => {
    calls++
    peer.json({ error: { message: 'later' } }, 429, { 'retry-after': '2' })
  }
  const asked = await ask({ model: 'acme/single' })
  t.equal(asked.status, 429)
  t.equal(asked.headers.get('retry-after'), '2')
  t.equal(calls, 1)
})

test('a provider that stays busy is tried three times in all', async (t) => {
  let calls = 0
  one.script = (peer) => {
    calls++
    peer.json({ error: { message: 'busy' } }, 503, { 'retry-after': '1' })
  }
  const asked = await ask({ model: 'acme/single' })
  t.equal(asked.status, 503)
  t.equal(calls, 3)
  t.equal(asked.json().service_metadata.attempts.length, 3)
})

test('whoever leaves during the pause is not called again', async (t) => {
  let calls = 0
  one.script = (peer) => {
    calls++
    peer.json({ error: { message: 'later' } }, 429, { 'retry-after': '1' })
  }
  const leaving = new AbortController()
  const body = { model: 'acme/single', messages: [{ role: 'user', content: 'x' }] }
  const asked = server.post('/chat/completions', body, { signal: leaving.signal })
  while (calls === 0) await new Promise((resolve) => setImmediate(resolve))
  leaving.abort()
  await t.rejects(asked)
  // Another call outlives the pause of the first; by then the first would have been tried again.
  one.script = (peer, request) => {
    calls++
    if (calls === 2) peer.json({ error: { message: 'later' } }, 429, { 'retry-after': '1' })
    else well(peer, request)
  }
  t.equal((await ask({ model: 'acme/single' })).status, 200)
  t.equal(calls, 3)
})

const TOO_LONG = {
  error: { message: 'This model has a maximum context length', code: 'context_length_exceeded' },
}

test('a prompt that is too long for one model goes to one that is made for more', async (t) => {
  one.script = (peer) => peer.json(TOO_LONG, 400)
  two.script = well
  const asked = await ask({ models: ['acme/small', 'acme/smaller', 'acme/large'] })
  t.equal(asked.status, 200)
  t.equal(asked.json().model, 'acme/large', 'the smaller one is not even asked')
  t.equal(asked.json().service_metadata.attempts.length, 2)
})

test('a prompt that is too long for all of them is the caller’s to shorten', async (t) => {
  one.script = (peer) => peer.json(TOO_LONG, 400)
  const asked = await ask({ models: ['acme/small', 'acme/smaller'] })
  t.equal(asked.status, 400)
  t.equal(asked.json().error.metadata.error_type, 'context_length_exceeded')
})

test('ultrafast goes to who has it, and asks for it; fast asks for priority', async (t) => {
  one.script = well
  two.script = well
  const asked = await ask({ model: 'acme/tiered', service_tier: 'ultrafast' })
  t.equal(asked.json().provider, 'Two')
  t.equal(JSON.parse(two.requests.at(-1)!.body).service_tier, 'ultrafast')
  await ask({ model: 'acme/single', service_tier: 'fast' })
  t.equal(JSON.parse(one.requests.at(-1)!.body).service_tier, 'priority')
})

test('when every breaker is open the answer is 503, at once and without a call', async (t) => {
  one.script = broken
  for (let call = 0; call < 6; call++) await ask({ model: 'acme/small' })
  // A second later one call may try again, so the machine may have been too slow for the first.
  const asked = await eventually(async () => {
    const before = one.requests.length
    const answer = await ask({ model: 'acme/small' })
    return answer.status === 503 && one.requests.length === before && answer
  })
  t.match(asked.headers.get('retry-after'), /^[1-9]\d*$/)
  t.match(asked.json().error, { metadata: { error_type: 'provider_unavailable' } })
  t.match(asked.json().service_metadata, { attempt: 0, attempts: [] })
})
