/** contract/directory 1 and 3: what is kept of requests, of whom nothing is told, and what each leniency counts. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { patchBody, userBody } from '../../support/schemas/scim-bodies.js'
import { type Json, MANAGEMENT_KEY } from '../../support/servers/gateway-server.js'
import { type Directory, scimServer } from '../../support/servers/scim-server.js'
import { eventually } from '../../support/timing/eventually.js'

const server = await scimServer({ SLUICE_LOG_LEVEL: 'debug', SLUICE_LOG_CALLS: 'all' })
/** In bodies, filters, paths and names of parameters: it may stand in no log and no metric. */
const CANARY = 'canary-person-77d1'
const USERS = '/api/v1/scim/v2/Users'

/** Rows come to disk shortly after their answers; oldest first. */
const rowsOf = (directory: Directory, count: number): Promise<Json[]> =>
  eventually(async () => {
    const { data, total_count } = (await directory.manage('GET', '/requests?limit=100')).json
    return total_count >= count && data.toReversed()
  })

const search = (filter: string, more = ''): string => `/Users?filter=${encodeURIComponent(filter)}${more}`

test('the log has a row for each request: what was asked, how it ended, and nothing of a person', async (t) => {
  const directory = await server.directory()
  const { ask } = directory
  const { id } = await directory.user({ userName: CANARY, emails: [{ value: `${CANARY}@example.com` }] })
  const asked: [string, string, unknown, string, number, string | null][] = [
    [
      'GET',
      search(`userName eq "${CANARY}"`, '&count=5'),
      undefined,
      `${USERS}?filter=userName eq …&count=5`,
      200,
      null,
    ],
    [
      'GET',
      search(`emails[type eq "work" and value co "${CANARY}"] or not (title pr)`),
      undefined,
      `${USERS}?filter=emails[type eq … and value co …] or not (title pr)`,
      200,
      null,
    ],
    ['GET', search(`${CANARY} eq "x`), undefined, `${USERS}?filter=… eq …`, 400, 'invalidFilter'],
    ['GET', search(`userName eq ${CANARY}`), undefined, `${USERS}?filter=userName eq …`, 200, null],
    [
      'GET',
      `/Users?attributes=userName,${CANARY}&startIndex=1&${CANARY}=1&x=${CANARY}`,
      undefined,
      `${USERS}?attributes=userName,…&startIndex=1&…&…`,
      200,
      null,
    ],
    ['GET', `/Users/${CANARY}`, undefined, `${USERS}/…`, 404, null],
    ['POST', '/Users', `{"userName":"${CANARY}"`, USERS, 400, 'invalidSyntax'],
    ['POST', '/Users', userBody({ userName: CANARY }), USERS, 409, 'uniqueness'],
    [
      'PATCH',
      `/Users/${id}`,
      patchBody({ op: 'replace', path: 'id', value: CANARY }),
      `${USERS}/${id}`,
      400,
      'mutability',
    ],
    ['DELETE', `/Users/${id}`, undefined, `${USERS}/${id}`, 204, null],
  ]
  const ids = ['']
  for (const [method, path, body, , status] of asked) {
    const reply = await ask(method, path, { body })
    t.equal(reply.status, status, `${method} ${path}: ${reply.text}`)
    ids.push(String(reply.headers['x-request-id']))
  }
  const rows = await rowsOf(directory, asked.length + 1)
  const byRequest = new Map(rows.map((row) => [row.request_id, row]))
  for (const [at, [method, , , target, status, scim_type]] of asked.entries())
    t.match(byRequest.get(ids[at + 1]), { method, target, status, scim_type }, target)
  const token = (await directory.manage('GET', '/tokens')).json.data[0].id
  for (const row of rows) t.equal(row.token_id, token)
  t.notMatch(JSON.stringify(rows), CANARY)
  t.notMatch(JSON.stringify(rows), directory.token)
})

test('calls without a credential that counts have no row', async (t) => {
  const directory = await server.directory()
  await server.call('sk-sluice-scim-x', 'GET', USERS)
  await server.call(MANAGEMENT_KEY, 'GET', USERS)
  await directory.ask('GET', '/Users')
  t.equal((await rowsOf(directory, 1)).length, 1)
})

test('each leniency that a request uses is counted for its connection, and told with what is done', async (t) => {
  const directory = await server.directory()
  const { id } = await directory.user({ userName: 'u' })
  for (const value of ['False', 'True']) {
    const body = patchBody({ op: 'Replace', path: 'active', value })
    t.equal((await directory.ask('PATCH', `/Users/${id}`, { body })).status, 204)
  }
  await directory.ask('GET', '/users/')
  await directory.ask('GET', '/serviceConfiguration')
  await directory.group('All', ['nobody'])
  await rowsOf(directory, 6)
  const { data } = (await directory.manage('GET', '/quirks')).json
  const counts = Object.fromEntries(data.map(({ name, count }: Json) => [name, count]))
  t.strictSame(counts, {
    'boolean-as-text': 2,
    'capitalized-op': 2,
    'lower-case-endpoint': 1,
    'service-configuration': 1,
    'trailing-slash': 1,
    'unknown-member': 1,
  })
  for (const { sent_by, done } of data) for (const text of [sent_by, done]) t.match(text, /.{4,}/)
  const other = await server.directory()
  t.strictSame((await other.manage('GET', '/quirks')).json.data, [])
})

test('the audit of a connection tells who was changed, by which request', async (t) => {
  const directory = await server.directory()
  const { id } = await directory.user({ userName: 'u' })
  const body = patchBody({ op: 'replace', path: 'active', value: false })
  const changed = await directory.ask('PATCH', `/Users/${id}`, { body })
  const { id: group } = await directory.group('All', [id])
  await directory.ask('DELETE', `/Users/${id}`)
  const { data, total_count } = (await directory.manage('GET', '/audit')).json
  t.equal(data.length, total_count)
  const rows = data.toReversed()
  t.strictSame(
    rows.map(({ action, actor }: Json) => [action, actor]),
    ['member.create', 'member.deactivate', 'group.create', 'membership.add', 'member.delete'].map((each) => [
      each,
      directory.id,
    ]),
  )
  t.match(rows[1], { member_ids: [id], request_id: changed.headers['x-request-id'], address: '127.0.0.1' })
  t.match(rows[2], { scim_group_id: group })
})

test('what connections and tokens become is in the audit of the organization', async (t) => {
  const { id, manage } = await server.directory()
  await manage('PATCH', '', { name: 'renamed' })
  await manage('DELETE')
  const { data } = (await server.call(MANAGEMENT_KEY, 'GET', '/api/v1/scim/audit')).json
  t.ok(data.length > 0)
  t.ok(
    data.some(({ action }: Json) => action === 'connection.delete'),
    id,
  )
})

test('tokens stand in no file and no log, and persons in no log and no metric', async (t) => {
  const directory = await server.directory()
  await directory.user({ userName: CANARY })
  await directory.ask('GET', search(`userName eq "${CANARY}"`))
  await rowsOf(directory, 2)
  const metrics = (await server.call('', 'GET', '/metrics')).text
  for (const [sink, text] of [
    ['the log', server.log()],
    ['metrics', metrics],
  ] as const) {
    t.notMatch(text, CANARY, sink)
    t.notMatch(text, directory.token, sink)
  }
  for (const path of filesIn(server.dataDir)) t.notOk(readFileSync(path).includes(directory.token), path)
})

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
}
