/** contract/directory 7: what one connection may send, and how fast. */
import { test } from 'tap'
import type { HttpReply } from '../../support/clients/http-client.js'
import { groupBody, patchBody, userBody } from '../../support/schemas/scim-bodies.js'
import { scimServer } from '../../support/servers/scim-server.js'

const server = await scimServer()
const MIB = 1024 * 1024

test('bodies up to 1 MiB are read, and no larger ones', async (t) => {
  const { ask } = await server.directory()
  const body = JSON.stringify(groupBody({ displayName: 'g' }))
  const padded = (bytes: number): string => body.padEnd(bytes, ' ')
  t.equal((await ask('POST', '/Groups', { body: padded(MIB) })).status, 201)
  const over = await ask('POST', '/Groups', { body: padded(MIB + 1) })
  t.equal(over.status, 413)
  t.match(over.json, { status: '413' })
  t.equal(over.headers['content-type'], 'application/scim+json')
})

test('a connection that asks too fast is told when to come again, and others go on', async (t) => {
  const [hasty, calm] = [await server.directory(), await server.directory()]
  const replies: HttpReply[] = []
  // A bucket of fifty, which refills by fifty a second: however slow the machine is, some burst is faster.
  while (!replies.some(({ status }) => status === 429) && replies.length < 10_000)
    replies.push(
      ...(await Promise.all(Array.from({ length: 200 }, () => hasty.ask('GET', '/Users?count=0')))),
    )
  const statuses = replies.map(({ status }) => status)
  t.ok(statuses.includes(200))
  t.strictSame([...new Set(statuses)].sort(), [200, 429])
  for (const { status, headers, json } of replies) {
    if (status !== 429) continue
    const wait = Number(headers['retry-after'])
    t.ok(Number.isInteger(wait) && wait >= 1 && wait <= 3, `Retry-After: ${headers['retry-after']}`)
    t.match(json, { status: '429' })
  }
  t.equal((await calm.ask('GET', '/Users')).status, 200)
})

/** Objects in objects, so many. */
const nested = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`

test('hostile bodies are refused or taken for what they are, and the service goes on', async (t) => {
  const { ask, user } = await server.directory()
  const { id } = await user({ userName: 'u' })
  const many = Array.from({ length: 20_000 }, (_, n) => ({
    op: 'add',
    path: 'emails',
    value: [{ value: `${n}@x` }],
  }))
  const bodies: [string, string, unknown][] = [
    ['POST', '/Users', nested(100)],
    ['POST', '/Users', nested(100_000)],
    ['POST', '/Users', `[${'['.repeat(500_000)}`],
    ['POST', '/Users', '{"__proto__":{"userName":"x"},"constructor":1}'],
    ['POST', '/Users', `{"userName":"${'x'.repeat(900_000)}"}`],
    ['POST', '/Users', `{"userName":"a","emails":[${'{},'.repeat(200_000)}{}]}`],
    ['POST', '/Users', Buffer.from([0xff, 0xfe, 0x7b, 0x7d]).toString('latin1')],
    ['PATCH', `/Users/${id}`, patchBody(...many.slice(0, 8_000))],
    ['PATCH', `/Users/${id}`, patchBody({ op: 'add', path: `emails[${'('.repeat(5_000)}`, value: 1 })],
    ['PATCH', `/Users/${id}`, patchBody({ op: 'add', path: `${'a.'.repeat(50_000)}b`, value: 1 })],
    ['PATCH', `/Users/${id}`, patchBody({ op: 'replace', value: { __proto__: 1, toString: 2, 'a.b.c': 3 } })],
    ['POST', '/Users/.search', { filter: `emails[${'value eq "x" and '.repeat(20_000)}value pr]` }],
    ['POST', '/Users/.search', { attributes: Array.from({ length: 50_000 }, () => 'userName') }],
  ]
  for (const [method, path, body] of bodies) {
    const { status, headers } = await ask(method, path, { body })
    t.ok((status >= 400 && status < 500) || status < 300, `${method} ${path}: ${status}`)
    if (status >= 400) t.equal(headers['content-type'], 'application/scim+json')
  }
  t.equal((await ask('POST', '/Users', { body: userBody({ userName: 'after' }) })).status, 201)
})

test('hostile addresses and headers are answered as they deserve', async (t) => {
  const { ask, user } = await server.directory()
  const { id } = await user({ userName: 'u' })
  for (const [path, status] of [
    ['/Users?filter=%FF%FE', 400],
    ['/Users?filter=', 400],
    ['/Users?filter=%22', 400],
    ['/Users?attributes=%00,%0A,,,', 200],
    ['/Users?count=99999999999999999999999', 200],
    ['/Users?startIndex=99999999999999999999999', 200],
    ['/Users?startIndex=-99999999999999999999999&count=-99999999999999999', 200],
    ['/Users/..%2F..%2Fkeys', 404],
  ] as const) {
    const reply = await ask('GET', path)
    t.equal(reply.status, status, `${path}: ${reply.text.slice(0, 200)}`)
  }
  const body = patchBody({ op: 'replace', path: 'title', value: 'x' })
  const headers = { 'If-Match': `${'W/"x",'.repeat(2_000)}*` }
  t.equal((await ask('PATCH', `/Users/${id}`, { headers, body })).status, 412)
})
