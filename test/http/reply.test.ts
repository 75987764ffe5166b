import { test } from 'tap'
import {
  bytesReply,
  createdReply,
  jsonReply,
  noContentReply,
  serializedJsonReply,
} from '../../src/http/reply.js'

test('replies are values with status, headers and body', async (t) => {
  const type = ['Content-Type', 'application/json']
  t.strictSame(jsonReply(200, { a: 1 }), { status: 200, headers: [type], body: '{"a":1}' })
  t.strictSame(jsonReply(422, [], [['X-A', 'b']]), { status: 422, headers: [type, ['X-A', 'b']], body: '[]' })
  const body = Buffer.from('[]')
  t.equal(serializedJsonReply(200, body).body, body, 'bytes are handed on, not copied')
  t.strictSame(createdReply('/items/7', body), {
    status: 201,
    headers: [type, ['Location', '/items/7']],
    body,
  })
  t.strictSame(bytesReply(200, 'text/plain', 'x', [['X-A', 'b']]), {
    status: 200,
    headers: [
      ['Content-Type', 'text/plain'],
      ['X-A', 'b'],
    ],
    body: 'x',
  })
})

test('204 has neither body nor headers', async (t) => {
  t.strictSame(noContentReply(), { status: 204, headers: [], body: null })
})

test('what replies share cannot be changed by one of them', async (t) => {
  t.ok(Object.isFrozen(noContentReply()))
  t.ok(Object.isFrozen(jsonReply(200, {}).headers))
})
