/** contract/practice 1, "Bodies". */
import { test } from 'tap'
import { BODY_OPERATIONS, type BodyOperation } from '../../support/models/practice-operations.js'
import { refused, violation } from '../../support/models/violations.js'
import { practiceServer } from '../../support/servers/practice-server.js'

const { client } = await practiceServer()
await client.write('POST', '/api/v1/items', { name: 'item 1' })

const JSON_TYPES = [
  'application/json',
  'application/json; charset=utf-8',
  'application/json;charset=UTF-8',
  'application/json ; charset="utf-8"',
  'application/json;',
  'Application/JSON',
  'application/vnd.api+json',
  'application/problem+json; charset=utf-8',
  'application/merge-patch+json',
  'application/ld+JSON',
  'image/svg+json',
]

const OTHER_TYPES = [
  'text/plain',
  'text/plain; charset=utf-8',
  'text/json',
  'text/html',
  'application/xml',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/octet-stream',
  'application/jsonp',
  'application/json5',
  'application/json-seq',
  'application/x-ndjson',
  'application/jsonapplication/json',
  'application/xml; profile="application/json"',
  'text/plain; x=+json',
  'application/foo+jsonx',
  'application/foo+json+xml',
  '*/*',
  'json',
]

function send(operation: BodyOperation, contentType: string | null, body: string, path = operation.path) {
  const headers = contentType === null ? {} : { 'Content-Type': contentType }
  return client.send({ method: operation.method, path, headers, body })
}

for (const operation of BODY_OPERATIONS) {
  const { name, valid, success } = operation
  const body = JSON.stringify(valid)

  test(`${name} accepts application/json with parameters and any +json type`, async (t) => {
    for (const type of JSON_TYPES) t.equal((await send(operation, type, body)).status, success, type)
  })

  test(`${name} takes a body without a declared type for JSON`, async (t) => {
    t.equal((await send(operation, null, body)).status, success, 'no Content-Type')
    t.equal((await send(operation, '', body)).status, success, 'empty Content-Type')
  })

  test(`${name} refuses any other declared type at the body, whatever the body holds`, async (t) => {
    for (const type of OTHER_TYPES) {
      refused(t, await send(operation, type, body), [violation.noObject(['body'])], type)
      refused(t, await send(operation, type, 'name=x'), [violation.noObject(['body'])], `${type}, not JSON`)
    }
  })

  test(`${name} calls an empty body missing, whatever type it declares`, async (t) => {
    for (const type of [null, 'application/json', 'text/plain']) {
      refused(t, await send(operation, type, ''), [violation.missing(['body'])], String(type))
    }
  })
}

test('a bad path parameter and a wrong type are both listed', async (t) => {
  const update = BODY_OPERATIONS.find(({ name }) => name === 'update_item')!
  const reply = await send(update, 'text/plain', '{"name":"x"}', '/api/v1/items/abc')
  refused(
    t,
    reply,
    [violation.noIntegerText(['path', 'item_id']), violation.noObject(['body'])],
    'text/plain',
  )
})

test('operations without a body do not look at the type', async (t) => {
  const headers = { 'Content-Type': 'text/plain' }
  const read = await client.send({ method: 'GET', path: '/api/v1/items/1', headers })
  t.equal(read.status, 200, 'GET with a type')
  const withBody = await client.send({ method: 'GET', path: '/api/v1/items/1', headers, body: 'no JSON' })
  t.equal(withBody.status, 200, 'GET with a body that nobody reads')
  const spare = (await client.write('POST', '/api/v1/items', { name: 'spare' })).headers.location!
  const gone = await client.send({ method: 'DELETE', path: spare, headers, body: 'no JSON' })
  t.equal(gone.status, 204, 'DELETE with a body that nobody reads')
})

test('every JSON answer is declared as application/json', async (t) => {
  for (const path of ['/api/v1/health', '/api/v1/items', '/api/v1/items/1', '/api/v1/items/x', '/nope']) {
    t.equal((await client.get(path)).headers['content-type'], 'application/json', path)
  }
})
