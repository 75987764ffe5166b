import { type Test, test } from 'tap'
import { createTrustedProxies } from '../../src/base/caller-address.js'
import { askRaw } from '../support/clients/raw-http.js'
import { startEdge } from '../support/servers/native-edge.js'
import { Ledger, testRoute } from '../support/servers/test-routes.js'

/** `lines` of X-Forwarded-For, in order, from a peer among declared `proxies` or not. */
type Case = readonly [name: string, proxies: readonly string[], lines: readonly string[], address: string]

const US = '127.0.0.1'
const CALLER = '198.51.100.7'
const CASES: Case[] = [
  ['without a proxy it is the peer', [], [], US],
  ['nobody vouches for anybody unless declared', [], [CALLER], US],
  ['another proxy than the peer vouches for nobody', ['10.0.0.1'], [CALLER], US],
  ['a declared proxy vouches for its caller', [US], [CALLER], CALLER],
  ['a range of proxies does, too', ['127.0.0.0/8'], [CALLER], CALLER],
  ['a proxy that names nobody stands for itself', [US], [], US],
  ['the right-most name counts', [US], ['203.0.113.1, 198.51.100.7'], CALLER],
  [
    'a proxy behind a proxy is passed over',
    [US, '10.0.0.0/8'],
    ['203.0.113.1, 198.51.100.7, 10.1.1.1'],
    CALLER,
  ],
  [
    // HAProxy's `option forwardfor` adds a line of its own below what its caller sent.
    'the last line counts, not the one that the caller made up',
    [US],
    ['203.0.113.1', CALLER],
    CALLER,
  ],
  [
    'several lines are one list',
    [US, '10.0.0.0/8'],
    ['203.0.113.1', '198.51.100.7, 10.1.1.1', '10.2.2.2'],
    CALLER,
  ],
  ['garbage ends the search', [US], ['198.51.100.7, unknown'], US],
  ['garbage in front does no harm', [US], ['"; drop, 198.51.100.7'], CALLER],
  ['an address with a port is garbage', [US], ['198.51.100.7:4711'], US],
  ['an empty list names nobody', [US], [''], US],
  ['IPv6 is an address', [US], ['2001:db8::7'], '2001:db8::7'],
  ['a mapped address is IPv4', [US], ['::ffff:198.51.100.7'], CALLER],
]

async function seenAddress(t: Test, [, proxies, lines]: Case, readsAddress: boolean): Promise<string> {
  const answer = (call: { readonly address: string }) => ({ status: 200, headers: [], body: call.address })
  const routes = [testRoute(new Ledger(), 'GET', '/address', answer, { readsAddress })]
  const { port } = await startEdge(t, routes, { trusted: createTrustedProxies(proxies) })
  const headers = lines.map((line): [string, string] => ['X-Forwarded-For', line])
  return (await askRaw(port, { target: '/address', headers })).body.toString()
}

for (const one of CASES) {
  test(`the address of a call: ${one[0]}`, async (t) => {
    t.equal(await seenAddress(t, one, true), one[3])
  })
}

test('a route that does not ask is shown no address', async (t) => {
  t.equal(await seenAddress(t, CASES[3]!, false), '')
})
