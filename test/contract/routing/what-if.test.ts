/** `POST /routing/what-if` and `sluice whatif`: the calls of a ledger under another configuration, without a call. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import tap, { type Test, test } from 'tap'
import { makeFolder } from '../../support/data/temp-folder.js'
import { mockUpstream } from '../../support/providers/mock-upstream.js'
import { mockCompletion } from '../../support/servers/chat-bench.js'
import { askChat, type Json, MANAGEMENT_KEY, startGateway } from '../../support/servers/gateway-server.js'
import { runMain } from '../../support/servers/main-command.js'

const SINCE = new Date().toISOString()
const upstream = await mockUpstream(tap, (peer) => peer.json(mockCompletion('served')))
/** One model of one provider, with prices as many times as high. */
const configOf = (times: number) => ({
  providers: { one: { kind: 'openai', name: 'One', base_url: `${upstream.origin}/v1` } },
  models: {
    'acme/one': {
      endpoints: [
        { provider: 'one', prices: { prompt: String(0.001 * times), completion: String(0.002 * times) } },
      ],
    },
  },
})
const folder = makeFolder()
const server = await startGateway({
  // Room for as many limits as are allowed.
  env: { SLUICE_WORKERS: '1', SLUICE_DATA_DIR: folder, SLUICE_BODY_LIMIT: String(1024 * 1024) },
  config: configOf(1),
})
tap.teardown(() => server.stop())

const CALLS = 3
let spent = 0
let called = 0

test('calls come before', async (t) => {
  for (let n = 0; n < CALLS; n++) {
    const { status, json } = await askChat(server, {
      model: 'acme/one',
      messages: [{ role: 'user', content: 'x' }],
    })
    t.equal(status, 200)
    spent += json().usage.cost
  }
  t.ok(spent > 0)
  called = upstream.requests.length
})

async function ask(body: unknown, key = MANAGEMENT_KEY) {
  const response = await server.post('/routing/what-if', body, { key })
  return { status: response.status, headers: response.headers, said: (await response.json()) as Json }
}

/** Twice the price, to the nano-dollar. */
function isDoubled(t: Test, told: Json): void {
  const near = (value: number, wanted: number): void => {
    t.ok(Math.abs(value - wanted) < 1e-9, `${value}, ${wanted}`)
  }
  t.same(told.calls, { all: CALLS, exact: CALLS, estimated: 0, unknown: 0 })
  near(told.cost.before, spent)
  for (const side of ['value', 'low', 'high']) near(told.cost.after[side], 2 * spent)
  t.same(
    told.by.provider.map(({ name }: Json) => name),
    ['One'],
  )
}

test('twice the price is twice the money, and nobody is called', async (t) => {
  const { status, said } = await ask({ since: SINCE, config: JSON.stringify(configOf(2)) })
  t.equal(status, 200)
  isDoubled(t, said.data)
  t.equal(upstream.requests.length, called)
})

test('without a configuration it is that of this moment, and limits refuse what they would have', async (t) => {
  const { said } = await ask({ since: SINCE })
  t.ok(Math.abs(said.data.cost.after.value - spent) < 1e-9)
  const limits = { keys: { '*': { limit: (spent / CALLS) * 1.5 } } }
  const limited = await ask({ since: SINCE, limits })
  const refused = Object.values(limited.said.data.refused as Record<string, Json>)
  t.equal(
    refused.reduce((sum, { value }) => sum + value, 0),
    CALLS - 1,
    'the first is served, and none that would go beyond the limit',
  )
})

test('a time without calls has nothing to tell', async (t) => {
  const { said } = await ask({
    since: '2020-01-01T00:00:00Z',
    until: '2020-01-02T00:00:00Z',
    history_days: 0,
  })
  t.equal(said.data.calls.all, 0)
  t.equal(said.data.first_event_ms.after, null)
  t.match(said.data.notes, [/there is no call in this time; rows are kept for 90 days/])
})

test('entries of limits that no call is of are named', async (t) => {
  const nobody = 'f'.repeat(64)
  const limits = { keys: { [nobody]: { limit: 1 } }, organizations: { nobody: { credits: 1 } } }
  const { said } = await ask({ since: SINCE, limits })
  t.match(said.data.notes, [
    new RegExp(`limits.keys.${nobody} has no effect`),
    /limits.organizations.nobody has no effect/,
  ])
})

test('a configuration that has none of the models called says so', async (t) => {
  const { said } = await ask({ since: SINCE, config: 'simulated_models: true' })
  t.equal(said.data.refused.no_endpoint.value, CALLS)
  t.match(said.data.notes, [/none of the calls has an endpoint/])
})

test('settings of the process that a configuration holds are no fault, and files are not looked for', async (t) => {
  const config = JSON.stringify({ ...configOf(1), port: 8080, tls_key: '/nowhere', tls_cert: '/nowhere' })
  t.equal((await ask({ since: SINCE, config })).status, 200)
})

test('as many limits as are allowed are looked at, and the document tells how many', async (t) => {
  const limits = { keys: entriesOf(5_000, { limit: 1 }) }
  const { status, said } = await ask({ since: SINCE, limits })
  t.equal(status, 200)
  t.match(said.data.notes.at(-1), 'more entries of limits')
  const document = (await (await server.get('/openapi.json')).json()) as Json
  const { keys, organizations } = document.components.schemas.WhatIfIn.properties.limits.properties
  t.same([keys.maxProperties, organizations.maxProperties], [5_000, 5_000])
})

/** So many entries of limits, of keys that there are not. */
function entriesOf(count: number, entry: object): Record<string, object> {
  const names = Array.from({ length: count }, (_, at) => at.toString(16).padStart(8, '0'))
  return Object.fromEntries(names.map((name) => [name, entry]))
}

test('a caller from elsewhere does not learn which tapes this machine has, and the command does', async (t) => {
  const tapes = makeFolder()
  const present = join(tapes, 'present.ndjson')
  const absent = join(tapes, 'absent.ndjson')
  writeFileSync(present, '')
  const configWith = (tape: object): string => {
    const endpoints = [{ provider: 'sim', simulation: { tape } }]
    return JSON.stringify({ ...configOf(1), models: { 'acme/one': { endpoints } } })
  }
  const answerTo = async (tape: object) => {
    const { status, said } = await ask({ since: SINCE, config: configWith(tape) })
    t.equal(status, 200, JSON.stringify(tape))
    // The version is a hash of the text, and the end is the moment of the question.
    const { config_version: _, until: __, ...rest } = said.data
    return rest
  }
  const known = await answerTo({ file: present })
  for (const tape of [
    { file: absent },
    { file: tapes },
    { folder: tapes },
    { folder: present },
    [{ file: absent }],
  ])
    t.same(await answerTo(tape), known, JSON.stringify(tape))
  const file = join(tapes, 'new.json')
  writeFileSync(file, configWith({ file: absent }))
  const words = ['whatif', '--since', SINCE, '--config', file]
  const [status, , refusal] = await runMain(words, { SLUICE_DATA_DIR: folder })
  t.equal(status, 2)
  t.match(refusal, 'models.acme/one.endpoints[0].simulation.tape.file: names no file')
})

for (const [what, body, sentence] of [
  ['no beginning', {}, /since/],
  ['a beginning that is no time', { since: 'yesterday' }, /since/],
  ['an end before the beginning', { since: SINCE, until: '2020-01-01T00:00:00Z' }, /must be before until/],
  ['a configuration that is none', { since: SINCE, config: 'providers: [' }, /config/],
  ['a configuration with a fault', { since: SINCE, config: 'models: { a: 1 }' }, /models/],
  [
    'a configuration with a name that there is not',
    { since: SINCE, config: 'modells: {}' },
    /modells: there/,
  ],
  [
    'limits of no hash',
    { since: SINCE, limits: { keys: { me: {} } } },
    /keys\.me: must be the hash of a key/,
  ],
  ['limits that are none', { since: SINCE, limits: { keys: { '*': { limit: -1 } } } }, /limit/],
  [
    'more limits of keys than are looked at',
    { since: SINCE, limits: { keys: entriesOf(5_001, {}) } },
    /keys: must have at most 5000 entries/,
  ],
  [
    'more limits of organizations than are looked at',
    { since: SINCE, limits: { organizations: entriesOf(5_001, { credits: 1 }) } },
    /organizations: must have at most 5000 entries/,
  ],
  ['a member that nobody knows', { since: SINCE, prices: {} }, /prices/],
] as const) {
  test(`refused with its reason: ${what}`, async (t) => {
    const { status, said } = await ask(body)
    t.equal(status, 400)
    t.match(said.error.message, sentence)
  })
}

test('of several at a time for one organization all but the first are told to come back', async (t) => {
  const all = await Promise.all(Array.from({ length: 8 }, () => ask({ since: SINCE })))
  const statuses = all.map(({ status }) => status)
  t.ok(statuses.includes(200))
  for (const { status, headers } of all) {
    if (status !== 200) t.same([status, headers.get('retry-after')], [429, '5'])
  }
  t.equal((await ask({ since: SINCE })).status, 200, 'afterwards there is room')
})

test('the command tells the same from the folder of a server that runs', async (t) => {
  const file = join(makeFolder(), 'new.json')
  writeFileSync(file, JSON.stringify(configOf(2)))
  const env = { SLUICE_DATA_DIR: folder }
  const [status, stdout] = await runMain(['whatif', '--since', SINCE, '--config', file, '--json'], env)
  t.equal(status, 0)
  isDoubled(t, JSON.parse(stdout))
  const [, text] = await runMain(['whatif', '--since', '1h', '--config', file], env)
  t.match(text, `${CALLS} exact (100.0 %), 0 estimated (0.0 %), 0 unknown (0.0 %)`)
  t.match(text, /^cost +\$0\.\d{6} +\$0\.\d{6} +exact$/m)
})

test('the command leaves with 2 where it was asked wrongly, and names the file', async (t) => {
  const file = join(makeFolder(), 'new.json')
  const env = { SLUICE_DATA_DIR: folder }
  const [unread, , missing] = await runMain(['whatif', '--since', '1h', '--config', file], env)
  t.equal(unread, 2)
  t.match(missing, file)
  writeFileSync(file, 'models: { a: 1 }')
  const [faulty, , fault] = await runMain(['whatif', '--since', '1h', '--config', file], env)
  t.equal(faulty, 2)
  t.match(fault, new RegExp(`${file}: .*models`))
  for (const [text, sentence] of [
    ['modells: {}', /modells: there is no such setting/],
    ['port: eighty', /port: must be/],
  ] as const) {
    writeFileSync(file, text)
    const [code, , said] = await runMain(['whatif', '--since', '1h', '--config', file], env)
    t.same([code, sentence.test(said)], [2, true], said)
  }
  const [bare, , usage] = await runMain(['whatif', '--config', file], env)
  t.equal(bare, 2)
  t.match(usage, /whatif needs --since and --config/)
})

test('the command tells limits of which keys it means, and takes the begin of a hash as it shows it', async (t) => {
  const folderOfFiles = makeFolder()
  const file = join(folderOfFiles, 'new.json')
  const limits = join(folderOfFiles, 'limits.json')
  writeFileSync(file, JSON.stringify(configOf(2)))
  const env = { SLUICE_DATA_DIR: folder }
  const run = (entries: object) => {
    writeFileSync(limits, JSON.stringify({ keys: entries }))
    return runMain(['whatif', '--since', SINCE, '--config', file, '--limits', limits], env)
  }
  const [wrong, , refusal] = await run({ me: { limit: 1 } })
  t.equal(wrong, 2)
  t.match(refusal, 'keys.me: must be the hash of a key')
  const [, idle] = await run({ ffffffffffff: { limit: 1 } })
  t.match(idle, 'note: limits.keys.ffffffffffff has no effect: no call of this time is of it')
  const shown = /^key .*\n([0-9a-f]{12}) /m.exec(idle)![1]!
  const [, bounded] = await run({ [shown]: { limit: 0 } })
  t.match(bounded, new RegExp(`^refused: key money +0 +${CALLS} +exact$`, 'm'))
})

test('a time without calls is told in one sentence and no table', async (t) => {
  const file = join(makeFolder(), 'new.json')
  writeFileSync(file, JSON.stringify(configOf(2)))
  const words = ['whatif', '--since', '2020-01-01', '--until', '2020-01-02', '--config', file]
  const [status, text] = await runMain(words, { SLUICE_DATA_DIR: folder, SLUICE_LEDGER_DAYS: '30' })
  t.equal(status, 0)
  t.match(text, 'note: there is no call in this time; rows are kept for 30 days (SLUICE_LEDGER_DAYS)')
  t.notMatch(text, /cost|exact\n/)
})
