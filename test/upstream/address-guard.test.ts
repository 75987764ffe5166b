import { createSocket } from 'node:dgram'
import { type LookupAddress, lookup } from 'node:dns'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { type Test, test } from 'tap'
import { systemClock } from '../../src/base/clock.js'
import {
  AddressRefused,
  addressGuard,
  type DnsLookup,
  guardedLookup,
  isLoopback,
  isPublic,
  nameResolver,
} from '../../src/upstream/address-guard.js'
import { createUpstreamClient } from '../../src/upstream/client.js'
import { jsonFetcher } from '../../src/upstream/fetch-json.js'
import { eventually } from '../support/timing/eventually.js'
import { TLS_FILES, testCertificate } from '../support/tls/tls-files.js'

const PUBLIC = [
  '8.8.8.8',
  '1.1.1.1',
  '93.184.216.34',
  '172.15.0.1',
  '172.32.0.1',
  '100.63.0.1',
  '100.128.0.1',
  '192.0.1.1',
]
const PUBLIC_6 = ['2606:4700:4700::1111', '2a00:1450:4001:81b::200e', '2001:4860:4860::8888', '2400::1']

const SPECIAL: Readonly<Record<string, readonly string[]>> = {
  unspecified: ['0.0.0.0', '0.1.2.3', '::', '0:0:0:0:0:0:0:0'],
  loopback: ['127.0.0.1', '127.255.255.255', '::1', '0:0:0:0:0:0:0:1'],
  private: ['10.0.0.0', '10.255.255.255', '172.16.0.1', '172.31.255.255', '192.168.0.1', '192.168.255.255'],
  'unique local': ['fc00::1', 'fd12:3456:789a::1', 'fdff::1'],
  'link-local': ['169.254.0.1', '169.254.255.255', 'fe80::1', 'febf::1', 'fec0::1'],
  'carrier-grade NAT': ['100.64.0.1', '100.127.255.255'],
  metadata: [
    '169.254.169.254',
    '100.100.100.200',
    '192.0.0.192',
    '168.63.129.16',
    'fd00:ec2::254',
    'fd20:ce::254',
  ],
  multicast: ['224.0.0.1', '239.255.255.255', 'ff02::1', 'ff0e::1'],
  reserved: ['240.0.0.1', '255.255.255.255', '192.0.0.1'],
  documentation: ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1'],
  benchmarking: ['198.18.0.1', '198.19.255.255', '2001:2::1'],
  'IPv4-mapped': [
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::ffff:8.8.8.8',
    '0:0:0:0:0:ffff:a00:1',
    '::ffff:0:8.8.8.8',
  ],
  'IPv4-compatible': ['::127.0.0.1', '::8.8.8.8', '::7f00:1'],
  '6to4': ['2002:7f00:1::', '2002:0808:0808::1', '192.88.99.1'],
  Teredo: ['2001::1', '2001:0:4136:e378:8000:63bf:3fff:fdd2'],
  ORCHID: ['2001:10::1', '2001:20::1'],
  NAT64: ['64:ff9b::7f00:1', '64:ff9b::808:808', '64:ff9b:1::1'],
  discard: ['100::1'],
  'bound to an interface': ['fe80::1%lo', '2606:4700::1%eth0'],
  'no address': ['', 'localhost', '127.1', '0x7f000001', '2130706433', '1.2.3.4.5', '[::1]', '8.8.8.8 '],
}

void test('ordinary addresses are dialled over TLS, and never without', async (t) => {
  for (const address of [...PUBLIC, ...PUBLIC_6]) {
    for (const guard of [addressGuard(false), addressGuard(true)]) {
      t.equal(guard(address, true), true, address)
      t.equal(guard(address, false), false, address)
    }
  }
})

for (const [what, addresses] of Object.entries(SPECIAL)) {
  void test(`${what}: not dialled`, async (t) => {
    for (const address of addresses) {
      t.equal(isPublic(address), false, address)
      t.equal(addressGuard(false)(address, true), false, address)
      t.equal(addressGuard(false)(address, false), false, address)
      t.equal(addressGuard(true)(address, true), what === 'loopback', address)
      t.equal(addressGuard(true)(address, false), what === 'loopback', address)
      t.equal(isLoopback(address), what === 'loopback', address)
    }
  })
}

/** A resolver that says what the test wants. */
function resolver(...addresses: string[]): DnsLookup {
  const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
  return ((_host: string, _options: object, told: (error: null, found: LookupAddress[]) => void) =>
    told(null, found)) as unknown as DnsLookup
}

function looked(lookup: DnsLookup, all: boolean, host = 'name.example'): Promise<unknown> {
  return new Promise((resolve) => {
    lookup(host, { all }, (error, address) => resolve(error ?? address))
  })
}

void test('a name is judged by every address it has', async (t) => {
  const guard = addressGuard(false)
  const mixed = guardedLookup(guard, true, resolver('10.0.0.1', '8.8.8.8', '::1', '2400::1'))
  t.strictSame(await looked(mixed, true), [
    { address: '8.8.8.8', family: 4 },
    { address: '2400::1', family: 6 },
  ])
  t.equal(await looked(mixed, false), '8.8.8.8')
  const inside = guardedLookup(guard, true, resolver('169.254.169.254', '::ffff:10.0.0.1'))
  t.type(await looked(inside, true), AddressRefused)
  t.type(await looked(inside, false), AddressRefused)
  t.type(await looked(guardedLookup(guard, true, resolver()), true), AddressRefused)
  t.type(await looked(guardedLookup(guard, false, resolver('8.8.8.8')), true), AddressRefused)
})

/** A name server: every name has the IPv4 address 8.8.8.8 and no other, but those that begin with `silent`. */
async function nameServer(t: Test): Promise<{ servers: readonly string[]; silent: () => number }> {
  const socket = createSocket('udp4')
  let silent = 0
  socket.on('message', (query, { port, address }) => {
    const labels = query.toString('latin1', 13)
    if (labels.startsWith('silent')) {
      silent++
      return
    }
    const end = query.indexOf(0, 12) + 5
    const asksIpv4 = query.readUInt16BE(end - 4) === 1
    const answer = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 8, 8, 8, 8])
    const head = Buffer.from(query.subarray(0, 12))
    head.writeUInt16BE(0x8180, 2)
    for (const [at, count] of [1, asksIpv4 ? 1 : 0, 0, 0].entries()) head.writeUInt16BE(count, 4 + 2 * at)
    const message = [head, query.subarray(12, end), ...(asksIpv4 ? [answer] : [])]
    socket.send(Buffer.concat(message), port, address)
  })
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve))
  t.after(() => socket.close())
  return { servers: [`127.0.0.1:${socket.address().port}`], silent: () => silent }
}

void test('names whose servers are silent keep nobody else from an address', async (t) => {
  const { servers, silent } = await nameServer(t)
  const resolve = nameResolver(servers)
  let done = 0
  const hanging = Array.from({ length: 20 }, async (_, index) => {
    const outcome = await looked(resolve, true, `silent${index}.example`)
    done++
    return outcome
  })
  await eventually(() => silent() >= 40)
  t.strictSame(await looked(resolve, true), [{ address: '8.8.8.8', family: 4 }])
  await new Promise<void>((resolved, reject) =>
    lookup('localhost', (error) => (error === null ? resolved() : reject(error))),
  )
  t.equal(done, 0, 'the others still wait')
  for (const outcome of await Promise.all(hanging)) t.match(outcome, { code: 'ETIMEOUT' })
})

/** A server that would answer, and says whether anybody came. */
async function server(t: Test): Promise<{ port: number; visits: () => number }> {
  let visits = 0
  const listening = createServer((_request, response) => response.end('{"keys":[]}'))
  listening.on('connection', () => visits++)
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    listening.closeAllConnections()
    listening.close()
  })
  return { port: (listening.address() as AddressInfo).port, visits: () => visits }
}

const UNREACHABLE = 'the host could not be reached'
const HOSTS = ['127.0.0.1', 'localhost', '2130706433', '[::ffff:127.0.0.1]', '0.0.0.0', '127.1']

for (const scheme of ['http', 'https']) {
  void test(`${scheme}: no spelling of this machine is dialled unless it is allowed`, async (t) => {
    const { port, visits } = await server(t)
    const upstream = createUpstreamClient({ guard: addressGuard(false) })
    t.after(() => upstream.close())
    const fetch = jsonFetcher(upstream, 4, systemClock)
    const outcomes = await Promise.all(HOSTS.map((host) => fetch(`${scheme}://${host}:${port}/`, 2_000)))
    const detail = 'the address of the host may not be dialled'
    for (const outcome of outcomes) t.strictSame(outcome, { ok: false, reason: UNREACHABLE, detail })
    t.equal(visits(), 0)
    await eventually(() => upstream.sockets() === 0)
  })
}

void test('with the setting loopback is dialled, and its disguises are not', async (t) => {
  const { port, visits } = await server(t)
  const upstream = createUpstreamClient({ guard: addressGuard(true) })
  t.after(() => upstream.close())
  const fetch = jsonFetcher(upstream, 4, systemClock)
  for (const host of ['127.0.0.1', 'localhost'])
    t.match(await fetch(`http://${host}:${port}/`, 20_000), { ok: true })
  const before = visits()
  for (const host of ['[::ffff:127.0.0.1]', '0.0.0.0']) {
    t.match(await fetch(`http://${host}:${port}/`, 2_000), { ok: false })
  }
  t.equal(visits(), before)
})

void test('over TLS a name of this machine is dialled when it is allowed, with its certificate checked', async (t) => {
  const files = { key: readFileSync(TLS_FILES.keyFile), cert: readFileSync(TLS_FILES.certFile) }
  const listening = createTlsServer(files, (_request, response) => response.end('{"keys":[]}'))
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    listening.closeAllConnections()
    listening.close()
  })
  const url = `https://localhost:${(listening.address() as AddressInfo).port}/`
  for (const [allow, trusts, reason] of [
    [true, true, null],
    [true, false, UNREACHABLE],
    [false, true, UNREACHABLE],
  ] as const) {
    const authorities = trusts ? { authorities: testCertificate() } : {}
    const upstream = createUpstreamClient({ guard: addressGuard(allow), ...authorities })
    t.after(() => upstream.close())
    t.match(
      await jsonFetcher(upstream, 4, systemClock)(url, 20_000),
      reason === null ? { ok: true } : { ok: false, reason },
    )
  }
})

void test('a name that leads to a private address is told as one that leads nowhere, and no sooner', async (t) => {
  const { port } = await server(t)
  const upstream = createUpstreamClient({ guard: addressGuard(false) })
  t.after(() => upstream.close())
  const told = await Promise.all(
    ['localhost', 'nobody.invalid'].map(async (host) => {
      const begun = performance.now()
      const outcome = await jsonFetcher(upstream, 4, systemClock)(`https://${host}:${port}/`, 5_000)
      t.ok(performance.now() - begun >= 299, host)
      return outcome.ok ? null : outcome.reason
    }),
  )
  t.strictSame(told, [UNREACHABLE, UNREACHABLE])
})
