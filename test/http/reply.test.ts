import { test } from 'tap'
import { bytes, created, empty, json, jsonBytes } from '../../src/http/reply.js'

test('replies are values with status, headers and body', async (t) => {
  const type = ['Content-Type', 'application/json']
  t.strictSame(json(200, { a: 1 }), { status: 200, headers: [type], body: '{"a":1}' })
  t.strictSame(json(422, [], [['X-A', 'b']]), { status: 422, headers: [type, ['X-A', 'b']], body: '[]' })
  const body = Buffer.from('[]')
  t.equal(jsonBytes(200, body).body, body, 'bytes are handed on, not copied')
  t.strictSame(created('/items/7', body), { status: 201, headers: [type, ['Location', '/items/7']], body })
  t.strictSame(bytes(200, 'text/plain', 'x', [['X-A', 'b']]), {
    status: 200,
    headers: [
      ['Content-Type', 'text/plain'],
      ['X-A', 'b'],
    ],
    body: 'x',
  })
})

test('204 has neither body nor headers', async (t) => {
  t.strictSame(empty(), { status: 204, headers: [], body: null })
})

test('what replies share cannot be changed by one of them', async (t) => {
  t.ok(Object.isFrozen(empty()))
  t.ok(Object.isFrozen(json(200, {}).headers))
})
