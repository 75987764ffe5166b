import { type Test, test } from 'tap'
import { createTrustedProxies } from '../../src/base/caller-address.js'
import { askRaw } from '../support/clients/raw-http.js'
import { startEdge } from '../support/servers/native-edge.js'
import { Ledger, testRoute } from '../support/servers/test-routes.js'

interface Case {
  readonly name: string
  readonly proxies: readonly string[]
  /** Lines of X-Forwarded-For, in order. */
  readonly lines: readonly string[]
  readonly address: string
}

const US = '127.0.0.1'
const CASES: Case[] = [
  { name: 'without a proxy it is the peer', proxies: [], lines: [], address: US },
  { name: 'nobody vouches for anybody unless declared', proxies: [], lines: ['198.51.100.7'], address: US },
  {
    name: 'another proxy than the peer vouches for nobody',
    proxies: ['10.0.0.1'],
    lines: ['198.51.100.7'],
    address: US,
  },
  {
    name: 'a declared proxy vouches for its caller',
    proxies: [US],
    lines: ['198.51.100.7'],
    address: '198.51.100.7',
  },
  {
    name: 'a range of proxies does, too',
    proxies: ['127.0.0.0/8'],
    lines: ['198.51.100.7'],
    address: '198.51.100.7',
  },
  { name: 'a proxy that names nobody stands for itself', proxies: [US], lines: [], address: US },
  {
    name: 'the right-most name counts',
    proxies: [US],
    lines: ['203.0.113.1, 198.51.100.7'],
    address: '198.51.100.7',
  },
  {
    name: 'a proxy behind a proxy is passed over',
    proxies: [US, '10.0.0.0/8'],
    lines: ['203.0.113.1, 198.51.100.7, 10.1.1.1'],
    address: '198.51.100.7',
  },
  {
    // HAProxy's `option forwardfor` adds a line of its own below what its caller sent.
    name: 'the last line counts, not the one that the caller made up',
    proxies: [US],
    lines: ['203.0.113.1', '198.51.100.7'],
    address: '198.51.100.7',
  },
  {
    name: 'several lines are one list',
    proxies: [US, '10.0.0.0/8'],
    lines: ['203.0.113.1', '198.51.100.7, 10.1.1.1', '10.2.2.2'],
    address: '198.51.100.7',
  },
  { name: 'garbage ends the search', proxies: [US], lines: ['198.51.100.7, unknown'], address: US },
  {
    name: 'garbage in front does no harm',
    proxies: [US],
    lines: ['"; drop, 198.51.100.7'],
    address: '198.51.100.7',
  },
  { name: 'an address with a port is garbage', proxies: [US], lines: ['198.51.100.7:4711'], address: US },
  { name: 'an empty list names nobody', proxies: [US], lines: [''], address: US },
  { name: 'IPv6 is an address', proxies: [US], lines: ['2001:db8::7'], address: '2001:db8::7' },
  {
    name: 'a mapped address is IPv4',
    proxies: [US],
    lines: ['::ffff:198.51.100.7'],
    address: '198.51.100.7',
  },
]

async function seenAddress(t: Test, one: Case, readsAddress: boolean): Promise<string> {
  const answer = (call: { readonly address: string }) => ({ status: 200, headers: [], body: call.address })
  const routes = [testRoute(new Ledger(), 'GET', '/address', answer, { readsAddress })]
  const { port } = await startEdge(t, routes, { trusted: createTrustedProxies(one.proxies) })
  const headers = one.lines.map((line): [string, string] => ['X-Forwarded-For', line])
  return (await askRaw(port, { target: '/address', headers })).body.toString()
}

for (const one of CASES) {
  test(`the address of a call: ${one.name}`, async (t) => {
    t.equal(await seenAddress(t, one, true), one.address)
  })
}

test('a route that does not ask is shown no address', async (t) => {
  t.equal(await seenAddress(t, CASES[3]!, false), '')
})
