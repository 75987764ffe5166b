/** The list of generations and the sums of usage, over two workers: who sees what, pages, filters and bad input. */
import { after, test } from 'tap'
import {
  type Asked,
  askChat,
  type GatewayServer,
  type Json,
  MANAGEMENT_KEY,
  startGateway,
} from '../../support/servers/gateway-server.js'

const EXACT = 'acme/exact'
const server: GatewayServer = await startGateway({
  config: {
    models: {
      [EXACT]: {
        endpoints: [
          {
            provider: 'sim',
            prices: { prompt: '0', completion: '0', request: '0.01' },
            simulation: { tokens: { constant: 4 } },
          },
        ],
      },
    },
  },
})
after(() => server.stop())

async function api(
  key: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; json: Json; text: string }> {
  const response = await fetch(`${server.apiUrl}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', Connection: 'close' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true
  return { status: response.status, text, json: isJson ? JSON.parse(text) : null }
}

function chat(key: string, more: object = {}): Promise<Asked> {
  const body = { model: EXACT, max_tokens: 4, messages: [{ role: 'user', content: 'hi' }], ...more }
  return askChat(server, body, { Authorization: `Bearer ${key}`, Connection: 'close' })
}

async function newOrganization(name: string) {
  const { json } = await api(MANAGEMENT_KEY, '/organizations', { name })
  const management: string = json.key
  const keys = []
  for (const key of ['one', '=two']) {
    const made = (await api(management, '/keys', { name: key })).json
    keys.push({ key: made.key as string, hash: made.data.hash as string })
  }
  return { id: json.data.id as string, management, keys }
}

const ours = await newOrganization('ours')
const theirs = await newOrganization('theirs')
const [one, two] = ours.keys as [(typeof ours.keys)[0], (typeof ours.keys)[0]]
const ids: string[] = []
for (let n = 0; n < 5; n++) ids.unshift((await chat(one.key, { session_id: 'é "1"' })).json().id)
for (let n = 0; n < 2; n++) ids.unshift((await chat(two.key)).json().id)
await chat(theirs.keys[0]!.key)

const idsOf = (json: Json): string[] => json.data.map(({ id }: Json) => id)

test('a management key lists the calls of its organization at once, the newest first', async (t) => {
  const { status, json } = await api(ours.management, '/generations')
  t.equal(status, 200)
  t.same(idsOf(json).sort(), ids.toSorted())
  t.same(idsOf(json), idsOf(json).toSorted().toReversed())
  t.match(json, { next_cursor: null, scanned_to: null })
  t.match(json.data.at(-1), {
    key_hash: one.hash,
    key_name: 'one',
    organization_id: ours.id,
    model: EXACT,
    requested: EXACT,
    provider: 'Simulated',
    outcome: 'settled',
    fault: null,
    cost: 0.01,
    byok_cost: 0,
    completion_tokens: 4,
    session_id: 'é "1"',
    attempts: 1,
  })
  t.equal((await api(ours.management, `/generation?id=${json.data.at(-1).id}`)).json.data.key_hash, one.hash)
})

test('pages follow each other without a gap', async (t) => {
  const found: string[] = []
  for (let cursor = ''; ; ) {
    const { json } = await api(ours.management, `/generations?limit=2${cursor}`)
    t.ok(json.data.length <= 2)
    found.push(...idsOf(json))
    if (json.next_cursor === null) break
    t.type(json.scanned_to, 'string')
    cursor = `&cursor=${json.next_cursor}`
  }
  t.same(found.toSorted(), ids.toSorted())
})

test('filters leave out everything else', async (t) => {
  const count = async (query: string): Promise<number> =>
    (await api(ours.management, `/generations?${query}`)).json.data.length
  t.equal(await count(`key=${one.hash}`), 5)
  t.equal(await count(`session=${encodeURIComponent('é "1"')}`), 5)
  t.equal(await count(`model=${EXACT}&provider=Simulated&outcome=settled`), 7)
  t.equal(await count('outcome=failed'), 0)
  t.equal(await count('model=acme/none'), 0)
  t.equal(await count('from=2026-01-01&to=2026-01-02'), 0)
  t.equal(
    await count('from=2030-01-01&to=2020-01-01'),
    0,
    'nothing lies in a time that ends before it begins',
  )
})

test('what is of another organization is not there', async (t) => {
  const strange = theirs.keys[0]!.hash
  t.same(idsOf((await api(ours.management, `/generations?key=${strange}`)).json), [])
  t.same((await api(ours.management, `/usage?key=${strange}`)).json.data, [])
  for (const path of ['/generations', '/usage']) {
    t.equal((await api(ours.management, `${path}?organization_id=${theirs.id}`)).status, 404)
    t.equal((await api(ours.management, `${path}?organization_id=${ours.id}`)).status, 200)
    t.equal((await api(one.key, path)).status, 403, 'a key of a workspace')
  }
  const [theirCall] = (await api(theirs.management, '/generations')).json.data
  const beyond = (await api(ours.management, `/generations?cursor=${theirCall.id}`)).json
  t.ok(
    idsOf(beyond).every((id) => ids.includes(id)),
    'a cursor is a place and opens nothing',
  )
})

test('the operator lists all organizations, or one', async (t) => {
  const all = idsOf((await api(MANAGEMENT_KEY, '/generations')).json)
  t.equal(all.length, ids.length + 1)
  const some = idsOf((await api(MANAGEMENT_KEY, `/generations?organization_id=${theirs.id}`)).json)
  t.equal(some.length, 1)
  const row = await api(MANAGEMENT_KEY, `/generation?id=${some[0]}`)
  t.equal(row.json.data?.id, some[0], 'and reads what it lists')
  t.equal((await api(ours.management, `/generation?id=${some[0]}`)).status, 404)
  t.same(idsOf((await api(MANAGEMENT_KEY, '/generations?organization_id=%00none')).json), [])
})

test('what no cursor, time or name is is refused with the rule it breaks', async (t) => {
  const bad = [
    ...['cursor=x', 'cursor=', 'cursor=gen-zzzzzzzzzzzzzzzzzzzzzzzzzz', 'cursor=%00', 'limit=0', 'limit=201'],
    ...['from=yesterday', 'from=2026-13-01', 'to=9999-12-31', 'from=1969-12-31', 'from=2026-11-20T10:00'],
    ...['key=abc', `key=${one.hash.toUpperCase()}0`, 'model=%00', 'model=', `session=${'a'.repeat(257)}`],
    ...['outcome=good', 'model=%ff'],
  ]
  for (const query of bad) t.equal((await api(ours.management, `/generations?${query}`)).status, 400, query)
  for (const query of ['by=', 'by=day,hour', 'by=day,day', 'by=week', 'format=xml', 'model=a%0db']) {
    t.equal((await api(ours.management, `/usage?${query}`)).status, 400, query)
  }
})

test('usage tells calls, tokens and dollars apart as it is asked to', async (t) => {
  const { json } = await api(ours.management, '/usage?by=key,model,provider')
  const figures = { model: EXACT, provider: 'Simulated', failed: 0, byok_cost: 0 }
  const lineOf = (hash: string): Json => json.data.find((line: Json) => line.key_hash === hash)
  t.match(lineOf(one.hash), { ...figures, key_name: 'one', calls: 5, completion_tokens: 20, cost: 0.05 })
  t.match(lineOf(two.hash), { ...figures, key_name: '=two', calls: 2, completion_tokens: 8, cost: 0.02 })
  t.equal(json.data.length, 2)
  t.ok(Date.parse(json.from) < Date.parse(json.to))
  const days = (await api(ours.management, '/usage')).json.data
  t.equal(
    days.reduce((calls: number, line: Json) => calls + line.calls, 0),
    7,
  )
  t.match(days[0].day, /^\d{4}-\d{2}-\d{2}$/)
  t.match((await api(ours.management, '/usage?by=hour')).json.data[0].hour, /:00:00/)
})

test('usage comes as CSV that no spreadsheet runs', async (t) => {
  const { text } = await api(ours.management, `/usage?by=key&format=csv&key=${two.hash}`)
  t.equal(
    text,
    `key_hash,key_name,calls,failed,prompt_tokens,completion_tokens,cost,byok_cost\r\n${two.hash},'=two,2,0,${text.split(',').at(-4)},8,0.020000000,0\r\n`,
  )
})
