import { test } from 'tap'
import { callerAddress, createTrustedProxies, unmapIpv4 } from '../../src/base/caller-address.js'

test('a list of proxies holds addresses and CIDR ranges of both families', async (t) => {
  const trusted = createTrustedProxies(['10.1.2.3', '192.168.0.0/16', '2001:db8::/32', '::1'])
  for (const address of ['10.1.2.3', '192.168.200.1', '2001:db8:1::5', '::1']) t.ok(trusted(address), address)
  for (const address of ['10.1.2.4', '192.169.0.1', '2001:db9::1', '::2', '', 'localhost', '10.1.2']) {
    t.notOk(trusted(address), `not ${address}`)
  }
})

test('an empty list trusts nobody', async (t) => {
  t.notOk(createTrustedProxies([])('127.0.0.1'))
})

const NO_RANGES = [
  'localhost',
  '10.0.0',
  '10.0.0.0/33',
  '10.0.0.0/-1',
  '10.0.0.0/1.5',
  '::/129',
  '10.0.0.0/x',
  '',
  // Each of these would silently trust more than it seems to say.
  '10.0.0.1/',
  '10.0.0.1/8/24',
  '10.0.0.0/0x8',
  '10.0.0.0/ 8',
  '10.0.0.0/1e1',
]

for (const entry of NO_RANGES) {
  test(`"${entry}" is refused as a proxy, by name`, async (t) => {
    t.throws(() => createTrustedProxies(['127.0.0.1', entry]), { name: 'TypeError', message: `"${entry}"` })
  })
}

test('an IPv4-mapped address is written as IPv4', async (t) => {
  const TABLE = {
    '::ffff:10.1.2.3': '10.1.2.3',
    '::FFFF:0a01:0203': '10.1.2.3',
    '0000:0000:0000:0000:0000:ffff:0a01:0203': '10.1.2.3',
    '::ffff:1:2': '0.1.0.2',
    '10.1.2.3': '10.1.2.3',
    '2001:db8::1': '2001:db8::1',
    '::1': '::1',
    '::ffff:nonsense': '::ffff:nonsense',
    '': '',
  }
  for (const [address, plain] of Object.entries(TABLE)) t.equal(unmapIpv4(address), plain, address)
})

const CALLS: readonly (readonly [name: string, peer: string, forwarded: string, address: string])[] = [
  ['no proxy, no header', '9.9.9.9', '', '9.9.9.9'],
  ['a header from a peer that is no declared proxy counts for nothing', '9.9.9.9', '1.1.1.1', '9.9.9.9'],
  ['one proxy', '10.0.0.1', '1.1.1.1', '1.1.1.1'],
  [
    'what the caller wrote into the header itself stands left and is not believed',
    '10.0.0.1',
    '7.7.7.7, 1.1.1.1',
    '1.1.1.1',
  ],
  ['a chain of declared proxies', '10.0.0.1', '1.1.1.1,10.0.0.3 , 10.0.0.2', '1.1.1.1'],
  ['proxies all the way: the furthest', '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
  ['an entry that is no address ends the search', '10.0.0.1', '1.1.1.1, unknown', '10.0.0.1'],
  ['a proxy without a header', '10.0.0.1', '', '10.0.0.1'],
  [
    'a mapped peer is the proxy it maps',
    '0000:0000:0000:0000:0000:ffff:0a00:0001',
    '::ffff:1.1.1.1',
    '1.1.1.1',
  ],
]

test('the caller is the peer, or what a declared proxy vouches for', async (t) => {
  const trusted = createTrustedProxies(['10.0.0.0/24'])
  for (const [name, peer, forwarded, address] of CALLS) {
    t.equal(callerAddress(peer, forwarded, trusted), address, name)
  }
})
