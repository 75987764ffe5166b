/**
 * contract/directory 5: every operation of the document with every kind of credential is let in or refused as its
 * `x-access` says, and nobody reads or changes what another organization has. No row is written by hand.
 */
import tap, { test } from 'tap'
import { type HttpReply, httpClient } from '../../support/clients/http-client.js'
import { operationsOf, type PlacedOperation } from '../../support/schemas/openapi-validator.js'
import type { Json } from '../../support/servers/gateway-server.js'
import type { OperationAccess } from './access-table.js'
import { CANARY, type Credential, type Organization, world } from './world.js'

const { federation, foreign, credentials } = await world(tap)
const client = httpClient(federation.server.baseUrl, 4)
tap.teardown(() => client.close())
const document: Json = (await client.get('/api/v1/openapi.json')).json
/** What ends the session it is called with comes last. */
const endsSession = ({ method, path }: PlacedOperation): boolean => method === 'DELETE' && !path.includes('{')
const operations = operationsOf(document).sort((a, b) => Number(endsSession(a)) - Number(endsSession(b)))

const accessOf = (operation: PlacedOperation): OperationAccess => (operation as Json)['x-access']

/** What nothing is called. */
const NONE = '01900000-0000-7000-8000-000000000000'

/** The path with the ids of what an organization has; without one, of nothing. */
function pathOf({ path }: PlacedOperation, of: Organization | null): string {
  let passed = ''
  const parts = path.split('/').map((part) => {
    const name = /^\{(.+)\}$/.exec(part)?.[1]
    const id = name === undefined ? part : (of?.ids[passed] ?? of?.ids[name] ?? NONE)
    passed += passed === '' && part === '' ? '' : `/${part}`
    return id
  })
  return parts.join('/')
}

/** Members of bodies and parameters that name something, with what an organization has. */
function renamed(value: Json, of: Organization): Json {
  if (Array.isArray(value)) return value.map((each) => renamed(each, of))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [
      name,
      typeof each === 'string' ? (of.ids[name] ?? each) : renamed(each, of),
    ]),
  )
}

function bodyOf(operation: PlacedOperation, of: Organization | null): string | null {
  const content = (operation as Json).requestBody?.content ?? {}
  const json = content['application/json'] ?? content['application/scim+json']
  const [example] = Object.values(json?.examples ?? {}) as Json[]
  if (example === undefined) return null
  return JSON.stringify(of === null ? example.value : renamed(example.value, of))
}

function queryOf(operation: PlacedOperation, of: Organization | null): string {
  const given = ((operation as Json).parameters ?? [])
    .filter((each: Json) => each.in === 'query')
    .flatMap(({ name, required, schema }: Json) => {
      const value =
        of?.ids[name] ?? (required ? (schema.enum?.[0] ?? (schema.type === 'boolean' ? 'true' : NONE)) : null)
      return value === null ? [] : [`${name}=${value}`]
    })
  return given.length === 0 ? '' : `?${given.join('&')}`
}

const isStream = (operation: PlacedOperation): boolean =>
  (operation as Json).responses['200']?.content?.['text/event-stream'] !== undefined &&
  operation.method === 'GET'

function send(
  operation: PlacedOperation,
  credential: Credential,
  of: Organization | null,
): Promise<HttpReply> {
  const body = bodyOf(operation, of)
  return client.send({
    // A stream of events has no end: its head says who is let in.
    method: isStream(operation) ? 'HEAD' : (operation.method as 'GET'),
    path: pathOf(operation, of) + queryOf(operation, of),
    headers: { ...credential.headers, ...(body !== null && { 'Content-Type': 'application/json' }) },
    ...(body !== null && { body }),
  })
}

/** What the table says: `in`, or the status of the refusal. */
function expected(operation: PlacedOperation, credential: Credential): 'in' | 401 | 403 {
  const { level, callers, sessions } = accessOf(operation)
  if (level === 'anyone') return 'in'
  if (credential.class === 'nobody' || (credential.isSession && sessions.length === 0)) return 401
  if ((credential.isSession ? sessions : callers).includes(credential.class)) return 'in'
  // Some answers have 401 for both (contract/decisions 4): the document says which.
  return '403' in operation.responses ? 403 : 401
}

/** What the foreign organization's own credentials read of it, by operation. */
async function snapshot(): Promise<Map<string, string>> {
  const readers = ['management', 'connection'].map((of) => ({
    name: of,
    class: of,
    isSession: false,
    headers: { Authorization: `Bearer ${of === 'management' ? foreign.management : foreign.token}` },
  }))
  const seen = new Map<string, string>()
  for (const operation of operations.filter(({ method }) => method === 'GET')) {
    const reader = readers.find((each) => accessOf(operation).callers.includes(each.class))
    if (reader === undefined) continue
    const { status, text } = await send(operation, reader, foreign)
    seen.set(operation.operationId, `${status} ${text}`)
  }
  return seen
}

const isAddressed = (operation: PlacedOperation): boolean =>
  pathOf(operation, foreign) !== pathOf(operation, null) ||
  bodyOf(operation, foreign) !== bodyOf(operation, null) ||
  queryOf(operation, foreign) !== queryOf(operation, null)

/** They count what is read, and are written a second later: they may change between any two looks. */
const COUNTS_READS: ReadonlySet<string> = new Set([
  'list_scim_connection_requests',
  'list_scim_connection_quirks',
  'list_scim_connections',
  'read_scim_connection',
  'list_scim_connection_tokens',
])

test('nobody reads or changes what another organization has', async (t) => {
  const addressed = operations.filter((each) => accessOf(each).level !== 'anyone' && isAddressed(each))
  t.ok(addressed.length > 40)
  const [first, before] = [await snapshot(), await snapshot()]
  // A log of requests and a time of last use change by being read.
  const steady = [...before].filter(([name, text]) => first.get(name) === text && !COUNTS_READS.has(name))
  t.ok(steady.length > 20)
  t.ok(steady.filter(([, text]) => text.includes(CANARY)).length > 8, 'there is something to be seen')
  for (const operation of addressed) {
    for (const credential of credentials) {
      if (credential.class === 'operator' && accessOf(operation).level === 'operator') continue
      const { status, text } = await send(operation, credential, foreign)
      const about = `${operation.operationId} with ${credential.name}: ${status}`
      t.notOk(text.includes(CANARY), about)
    }
  }
  const after = await snapshot()
  for (const [name, text] of steady) t.equal(after.get(name), text, name)
})

test('every operation lets in whom its x-access names, and nobody else', async (t) => {
  t.ok(operations.length > 80)
  for (const operation of operations) {
    for (const credential of credentials) {
      const wanted = expected(operation, credential)
      // What is let in meets nothing that could be changed.
      const { status, text } = await send(operation, credential, null)
      const about = `${operation.operationId} with ${credential.name}: ${status} ${text.slice(0, 120)}`
      if (wanted === 'in') t.notOk([401, 403].includes(status), about)
      else t.equal(status, wanted, about)
    }
  }
})
