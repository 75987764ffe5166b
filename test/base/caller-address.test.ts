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

interface Case {
  readonly name: string
  readonly peer: string
  readonly forwarded: string
  readonly address: string
}

const CALLS: readonly Case[] = [
  { name: 'no proxy, no header', peer: '9.9.9.9', forwarded: '', address: '9.9.9.9' },
  {
    name: 'a header from a peer that is no declared proxy counts for nothing',
    peer: '9.9.9.9',
    forwarded: '1.1.1.1',
    address: '9.9.9.9',
  },
  { name: 'one proxy', peer: '10.0.0.1', forwarded: '1.1.1.1', address: '1.1.1.1' },
  {
    name: 'what the caller wrote into the header itself stands left and is not believed',
    peer: '10.0.0.1',
    forwarded: '7.7.7.7, 1.1.1.1',
    address: '1.1.1.1',
  },
  {
    name: 'a chain of declared proxies',
    peer: '10.0.0.1',
    forwarded: '1.1.1.1,10.0.0.3 , 10.0.0.2',
    address: '1.1.1.1',
  },
  {
    name: 'proxies all the way: the furthest',
    peer: '10.0.0.1',
    forwarded: '10.0.0.3, 10.0.0.2',
    address: '10.0.0.3',
  },
  {
    name: 'an entry that is no address ends the search',
    peer: '10.0.0.1',
    forwarded: '1.1.1.1, unknown',
    address: '10.0.0.1',
  },
  { name: 'a proxy without a header', peer: '10.0.0.1', forwarded: '', address: '10.0.0.1' },
  {
    name: 'a mapped peer is the proxy it maps',
    peer: '0000:0000:0000:0000:0000:ffff:0a00:0001',
    forwarded: '::ffff:1.1.1.1',
    address: '1.1.1.1',
  },
]

test('the caller is the peer, or what a declared proxy vouches for', async (t) => {
  const trusted = createTrustedProxies(['10.0.0.0/24'])
  for (const { name, peer, forwarded, address } of CALLS) {
    t.equal(callerAddress(peer, forwarded, trusted), address, name)
  }
})
