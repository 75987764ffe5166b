/** `GET /credits/history`: what the credits of an organization were set to, when and by whom. */
import { after, test } from 'tap'
import { hashKey } from '../../../src/identity/api-keys.js'
import { API_KEY, type Json, MANAGEMENT_KEY, startGateway } from '../../support/servers/gateway-server.js'

const server = await startGateway()
after(() => server.stop())
const OPERATOR = hashKey(MANAGEMENT_KEY)

async function ask(method: string, path: string, body?: unknown, key = MANAGEMENT_KEY) {
  const response = await fetch(`${server.apiUrl}${path}`, {
    method,
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  return { status: response.status, json: (await response.json()) as Json }
}

const historyOf = async (key: string) =>
  (await ask('GET', '/credits/history', undefined, key)).json.data.map((each: Json) => {
    const { changed_at, ...rest } = each
    return { ...rest, isTime: !Number.isNaN(Date.parse(changed_at)) }
  })
const entry = (total_credits: number | null, change: number | null) => ({
  ...{ total_credits, change, changed_by: OPERATOR, isTime: true },
})

test('the first credits, what is added and what is set are told, newest first, to the organization itself', async (t) => {
  const made = await ask('POST', '/organizations', { name: 'Acme', credits: 10 })
  const { id } = made.json.data
  t.equal((await ask('POST', '/credits', { amount: 2.5, organization_id: id })).status, 201)
  await ask('PATCH', `/organizations/${id}`, { credits: null })
  await ask('PATCH', `/organizations/${id}`, { name: 'Acme Labs' })
  await ask('PATCH', `/organizations/${id}`, { credits: 4 })
  await ask('POST', '/credits', { amount: 1, organization_id: id })
  t.same(await historyOf(made.json.key), [
    entry(5, 1),
    entry(4, null),
    entry(null, null),
    entry(12.5, 2.5),
    entry(10, null),
  ])
})

test('an organization that never had credits has no history, a refused change leaves none', async (t) => {
  const { json } = await ask('POST', '/organizations', { name: 'Endless' })
  t.same(await historyOf(json.key), [])
  t.equal((await ask('POST', '/credits', { amount: 1, organization_id: json.data.id }, json.key)).status, 403)
  t.equal((await ask('POST', '/credits', { amount: -1, organization_id: json.data.id })).status, 400)
  t.same(await historyOf(json.key), [])
})

test('the last 50 changes are kept', async (t) => {
  const { json } = await ask('POST', '/organizations', { name: 'Busy', credits: 0 })
  for (let n = 0; n < 51; n++) await ask('POST', '/credits', { amount: 1, organization_id: json.data.id })
  const history = await historyOf(json.key)
  t.equal(history.length, 50)
  t.same(history[0], entry(51, 1))
  t.same(history[49], entry(2, null), 'what was there before it is not kept any more')
})

test('a key that may only call does not see it', async (t) => {
  t.equal((await ask('GET', '/credits/history', undefined, API_KEY)).status, 403)
})
