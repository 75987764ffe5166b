/** Pages are read from a web that means harm: addresses, redirects, names that change, bodies without end. */
// Runs in a process of its own: it looks at every address that the process dials.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createServer as createTcpServer, type Socket } from 'node:net'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { type Test, test } from 'tap'
import { systemClock } from '../../../src/base/clock.js'
import type { FetchFile } from '../../../src/base/file-fetch.js'
import { pooledDocumentReader } from '../../../src/compose/document-reading.js'
import { CpuPool } from '../../../src/cpu-pool/pool.js'
import { createPageReader } from '../../../src/gateway/web/page-reader.js'
import type { PageReader } from '../../../src/gateway/web/port.js'
import { type DnsLookup, fileAddressGuard } from '../../../src/upstream/address-guard.js'
import { createUpstreamClient } from '../../../src/upstream/client.js'
import { fileFetcher } from '../../../src/upstream/fetch-file.js'
import { dialledAddresses } from '../../support/servers/dialled-addresses.js'

/** Plays a host of the public web; every other address is judged as the product does. */
const PUBLIC = '127.0.0.9'
const MAX_BYTES = 300_000
const CALL_MS = 2_500

/** What names resolve to: each time the next list, the last one again and again. */
const NAMES: Readonly<Record<string, readonly (readonly string[])[]>> = {
  'public.test': [[PUBLIC]],
  'other.test': [[PUBLIC]],
  'loopback.test': [['127.0.0.1']],
  'loopback6.test': [['::1']],
  'mapped.test': [['::ffff:127.0.0.1']],
  'private.test': [['10.0.0.1'], ['192.168.1.1']],
  'metadata.test': [['169.254.169.254']],
  'shared.test': [['100.64.0.1']],
  'unique.test': [['fd00::1']],
  'linklocal.test': [['fe80::1']],
  'sixtofour.test': [['2002:7f00:1::1']],
  'nat64.test': [['64:ff9b::7f00:1']],
  'multicast.test': [['224.0.0.1']],
  'zero.test': [['0.0.0.0']],
  'nowhere.test': [[]],
  'rebinding.test': [[PUBLIC], ['127.0.0.1']],
  'rebinding-late.test': [[PUBLIC], [PUBLIC], ['169.254.169.254']],
}

type Play = (socket: Socket) => void

const answer =
  (head: string, body: string | Uint8Array = ''): Play =>
  (socket) => {
    socket.write(`HTTP/1.1 ${head}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n`)
    socket.write(body)
  }
const redirect = (location: string): Play => answer(`302 Found\r\nLocation: ${location}`)
const page = (body: string | Uint8Array, type = 'text/html', more = ''): Play =>
  answer(`200 OK\r\nContent-Type: ${type}${more}`, body)
/** Sends pieces as long as somebody listens. */
const endless =
  (head: string, piece: string | Uint8Array): Play =>
  (socket) => {
    socket.write(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n`)
    const more = (): void => {
      while (!socket.destroyed && socket.write(piece));
    }
    socket.on('drain', more)
    more()
  }
const drip =
  (head: string, every: number): Play =>
  (socket) => {
    socket.write(head)
    const timer = setInterval(() => socket.write('x'), every)
    socket.on('close', () => clearInterval(timer))
  }

interface World {
  readonly reader: PageReader
  readonly dialled: readonly string[]
  /** `http://public.test:<port>` */
  readonly origin: string
  readonly port: number
  readonly plays: Map<string, Play>
  /** Connections that the forbidden server has had. */
  readonly intrusions: () => number
  readonly open: () => number
}

async function worldOf(t: Test): Promise<World> {
  const plays = new Map<string, Play>()
  const sockets = new Set<Socket>()
  const server = createTcpServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      const path = String(chunk).split(' ')[1] ?? ''
      ;(plays.get(path) ?? answer('404 Not Found'))(socket)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, PUBLIC, resolve))
  const { port } = server.address() as AddressInfo
  let intrusions = 0
  const forbidden = createServer((_, response) => void response.end('the inner secret'))
  forbidden.on('connection', () => intrusions++)
  // The same port, so that only the address tells them apart.
  await new Promise<void>((resolve) => forbidden.listen(port, '127.0.0.1', resolve))
  const asked = new Map<string, number>()
  const resolve = ((host: string, _: unknown, callback: (e: Error | null, found: object[]) => void) => {
    const lists = NAMES[host] ?? [[]]
    const turn = asked.get(host) ?? 0
    asked.set(host, turn + 1)
    const list = lists[Math.min(turn, lists.length - 1)]!
    const found = list.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
    setImmediate(() => callback(found.length === 0 ? new Error('no such name') : null, found))
  }) as unknown as DnsLookup
  const guard = fileAddressGuard(false)
  const client = createUpstreamClient({
    guard: (address, secure) => address === PUBLIC || guard(address, secure),
    resolve,
  })
  const pool = new CpuPool({ threads: 0, maxQueuedCost: 0 })
  const dialled = dialledAddresses(t)
  t.teardown(async () => {
    await client.close()
    await pool.close()
    for (const socket of sockets) socket.destroy()
    await Promise.all([server, forbidden].map((each) => new Promise((done) => each.close(done))))
  })
  const reader = createPageReader({
    fetchFile: fileFetcher(client, systemClock),
    simulated: { has: () => false, fetchFile: async () => ({ ok: false, reason: 'none', isBusy: false }) },
    documents: pooledDocumentReader(pool),
    countTokens: async (texts) => ({ counts: texts.map(({ length }) => length), areGuessed: true }),
    clock: systemClock,
    isOn: true,
    maxBytes: MAX_BYTES,
  })
  const origin = `http://public.test:${port}`
  return { reader, dialled, origin, port, plays, intrusions: () => intrusions, open: () => sockets.size }
}

const read = (
  world: World,
  url: string,
  refusal: (url: URL) => string | null = () => null,
  callMs = CALL_MS,
) =>
  world.reader.read(
    { url, isSimulated: false, maxTokens: 50_000, refusal },
    {
      organizationId: 'org-1',
      signal: new AbortController().signal,
      deadlineAt: performance.now() + callMs,
    },
  )

/** Addresses that lead inside, as written in a request. */
const inside = (port: number): readonly string[] => [
  `http://127.0.0.1:${port}/`,
  `http://127.1:${port}/`,
  `http://2130706433:${port}/`,
  `http://0x7f000001:${port}/`,
  `http://0177.0.0.1:${port}/`,
  `http://0:${port}/`,
  `http://localhost:${port}/`,
  `http://LOCALHOST.:${port}/`,
  `http://[::1]:${port}/`,
  `http://[::ffff:127.0.0.1]:${port}/`,
  `http://[0:0:0:0:0:ffff:7f00:1]:${port}/`,
  `http://[::]:${port}/`,
  `http://１２７.０.０.１:${port}/`,
  `http://10.0.0.1:${port}/`,
  `http://172.16.0.1/`,
  `http://192.168.0.1/`,
  `http://169.254.169.254/latest/meta-data/`,
  `http://168.63.129.16/`,
  `http://[fd00:ec2::254]/`,
  `http://100.100.100.200/`,
  ...Object.keys(NAMES)
    .filter((name) => !/^(public|other|rebinding)/.test(name))
    .map((name) => `http://${name}:${port}/`),
]

/** What is no address of the web, or carries what it must not. */
const NO_ADDRESS: readonly string[] = [
  'file:///etc/passwd',
  'ftp://public.test/',
  'gopher://127.0.0.1:70/_',
  'data:text/html,hello',
  'javascript:alert(1)',
  'unix:/var/run/docker.sock',
  'http://user:secret@public.test/',
  'https://:secret@public.test/',
  '//public.test/',
  'public.test',
  `http://public.test/${'a'.repeat(3_000)}`,
  'http://',
]

test('addresses that lead inside are never dialled, however they are spelt', {
  timeout: 60_000,
}, async (t) => {
  const world = await worldOf(t)
  const urls = [...inside(world.port), ...NO_ADDRESS]
  const outcomes = await Promise.all(urls.map((url) => read(world, url)))
  for (const [at, outcome] of outcomes.entries())
    t.match(outcome, { ok: false, error: String }, String(urls[at]))
  t.same(world.dialled, [], 'nothing at all was dialled')
  t.equal(world.intrusions(), 0)
  const told = new Set(outcomes.slice(0, inside(world.port).length).map((one) => !one.ok && one.error))
  t.same(
    told,
    new Set(['the host could not be reached']),
    'what is forbidden is not told from what is not there',
  )
})

test('redirects that lead inside, out of the web, or nowhere are not followed', {
  timeout: 60_000,
}, async (t) => {
  const world = await worldOf(t)
  const { plays, port, origin } = world
  const targets = [
    ...inside(port).slice(0, 14),
    'file:///etc/passwd',
    'ftp://public.test/x',
    'http://user:pass@public.test/',
    'http://[::1',
    'data:text/plain,x',
  ]
  targets.forEach((target, at) => plays.set(`/r${at}`, redirect(target)))
  plays.set('/loop', redirect('/loop'))
  for (let hop = 0; hop < 8; hop++) plays.set(`/hop${hop}`, redirect(`/hop${hop + 1}`))
  plays.set('/rebind', redirect(`http://rebinding.test:${port}/second`))
  plays.set('/second', redirect(`http://rebinding.test:${port}/third`))
  const paths = [...plays.keys()].filter((path) => !/hop[1-9]/.test(path))
  const outcomes = await Promise.all(paths.map((path) => read(world, origin + path)))
  for (const [at, outcome] of outcomes.entries())
    t.match(outcome, { ok: false, error: String }, String(paths[at]))
  t.same([...new Set(world.dialled)], [PUBLIC])
  t.equal(world.intrusions(), 0)
})

test('a name that changes its mind is judged at every dial', async (t) => {
  const world = await worldOf(t)
  const closing = (body: string): Play => page(body, 'text/plain', '\r\nConnection: close')
  world.plays.set('/', closing('public words'))
  for (const [name, times] of [
    ['rebinding.test', 1],
    ['rebinding-late.test', 2],
  ] as const) {
    const url = `http://${name}:${world.port}/`
    for (let n = 0; n < times; n++) t.match(await read(world, url), { ok: true, text: 'public words' })
    t.match(await read(world, url), { ok: false, error: 'the host could not be reached' })
  }
  t.same([...new Set(world.dialled)], [PUBLIC])
  t.equal(world.intrusions(), 0)
})

test('five redirects are followed, and a list of domains holds at each', async (t) => {
  const world = await worldOf(t)
  const { plays, port, origin } = world
  for (let hop = 0; hop < 5; hop++) plays.set(`/hop${hop}`, redirect(`/hop${hop + 1}`))
  plays.set('/hop5', page('<title>There</title><p>arrived'))
  t.match(await read(world, `${origin}/hop0`), {
    ok: true,
    url: `${origin}/hop5`,
    title: 'There',
    text: 'arrived',
  })
  plays.set('/away', redirect(`http://other.test:${port}/hop5`))
  const refusal = ({ hostname }: URL) => (hostname === 'public.test' ? null : 'its domain is not allowed')
  t.match(await read(world, `${origin}/away`, refusal), { ok: false, error: 'its domain is not allowed' })
  t.match(await read(world, `${origin}/away`), { ok: true })
})

const bomb = Buffer.alloc(40_000_000, 0x20)
const BODIES: readonly [name: string, play: Play, outcome: object][] = [
  [
    'a gigabyte that is declared',
    (socket) => void socket.write('HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n'),
    { ok: false, error: /larger than 300000 bytes/ },
  ],
  [
    'a gigabyte that is not declared',
    endless('Content-Type: text/html', 'x'.repeat(65_536)),
    { ok: false, error: /larger than 300000 bytes/ },
  ],
  [
    'chunks without end',
    endless('Content-Type: text/html\r\nTransfer-Encoding: chunked', `1000\r\n${'x'.repeat(4096)}\r\n`),
    { ok: false, error: /larger than 300000 bytes/ },
  ],
  [
    'a gzip bomb',
    page(gzipSync(bomb), 'text/html', '\r\nContent-Encoding: gzip'),
    { ok: false, error: /larger than|hundredfold/ },
  ],
  [
    'a brotli bomb',
    page(brotliCompressSync(bomb), 'text/html', '\r\nContent-Encoding: br'),
    { ok: false, error: /larger than|hundredfold/ },
  ],
  ['gzip that is none', page('x', 'text/html', '\r\nContent-Encoding: gzip'), { ok: false }],
  ['a coding twice', page('x', 'text/html', '\r\nContent-Encoding: gzip, gzip'), { ok: false }],
  ['a coding that nobody knows', page('x', 'text/html', '\r\nContent-Encoding: zstd'), { ok: false }],
  ['silence', () => {}, { ok: false, error: 'no answer in time' }],
  ['a head without end', drip('HTTP/1.1 200 OK\r\nX-Slow: ', 50), { ok: false }],
  ['a body that drips', drip('HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n', 50), { ok: false }],
  [
    'a body that ends early',
    (socket) => void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx'),
    { ok: false },
  ],
  ['no HTTP at all', (socket) => void socket.end('SSH-2.0-OpenSSH_9.6\r\n'), { ok: false }],
  ['a hundred kilobytes of head', answer(`200 OK\r\nX: ${'x'.repeat(100_000)}`), { ok: false }],
  ['404', answer('404 Not Found'), { ok: false, error: 'its server answers with status 404' }],
  ['500', answer('500 Oops', '<p>secret'), { ok: false, error: 'its server answers with status 500' }],
  ['204', (socket) => void socket.write('HTTP/1.1 204 No Content\r\n\r\n'), { ok: false }],
  [
    'a page that is called a PDF',
    page('<p>x', 'application/pdf'),
    { ok: false, error: /called a PDF and is none/ },
  ],
  ['a PDF of ten bytes', page('%PDF-1.4\n!', 'application/pdf'), { ok: false, error: 'it is no PDF' }],
  ['a PDF that is called a page', page('%PDF-1.4\n!', 'text/html'), { ok: false, error: 'it is no PDF' }],
  ['a page that speaks of PDFs', page('<p>They begin with %PDF-1.4.'), { ok: true, text: /begin with %PDF/ }],
  ['a picture', page('\x89PNG\r\n\x1a\n\0\0\0', 'image/png'), { ok: false, error: /neither a page/ }],
  [
    'a picture that is called a page',
    page('\x89PNG\r\n\x1a\n\0\0\0', 'text/html'),
    { ok: false, error: /neither/ },
  ],
  ['sound', page('ID3', 'audio/mpeg'), { ok: false, error: /neither a page/ }],
  ['100,000 nested elements', page('<b>'.repeat(90_000)), { ok: false, error: /more than 30000 elements/ }],
  ['1,000 nested elements', page('<div>'.repeat(1_000)), { ok: false, error: /nested more than 256 deep/ }],
  ['nothing', page(''), { ok: true, text: '' }],
  ['JSON', page('{"a":1}', 'application/json'), { ok: true, text: '{"a":1}' }],
  [
    'text in Latin-1',
    page(Buffer.from('caf\xe9', 'latin1'), 'text/plain; charset=iso-8859-1'),
    { text: 'café' },
  ],
]

/** The others share places with them, and have time. */
const NEVER_ENDING = ['silence', 'a head without end', 'a body that drips']
const PATIENT_MS = 25_000

test('bodies that lie, swell or never end are bounded and told', { timeout: 90_000 }, async (t) => {
  const world = await worldOf(t)
  BODIES.forEach(([, play], at) => world.plays.set(`/b${at}`, play))
  const begun = performance.now()
  const outcomes = await Promise.all(
    BODIES.map(([name], at) => {
      const callMs = NEVER_ENDING.includes(name) ? CALL_MS : PATIENT_MS
      return read(world, `${world.origin}/b${at}`, undefined, callMs)
    }),
  )
  const elapsed = performance.now() - begun
  for (const [at, [name, , outcome]] of BODIES.entries()) t.match(outcomes[at], outcome, name)
  t.ok(elapsed < 30_000, `all were over after ${Math.round(elapsed)} ms`)
  t.same([...new Set(world.dialled)], [PUBLIC])
})

test('a fetch that nobody waits for any more ends at once', async (t) => {
  const world = await worldOf(t)
  const abort = new AbortController()
  world.plays.set('/', () => abort.abort())
  const call = { organizationId: 'org-1', signal: abort.signal, deadlineAt: performance.now() + 60_000 }
  const wish = { url: `${world.origin}/`, isSimulated: false, maxTokens: 10, refusal: () => null }
  t.match(await world.reader.read(wish, call), { ok: false, error: /nobody waits/ })
})

test('whoever leaves does not wait for a thread that reads, nor for its turn to fetch', async (t) => {
  const never = new Promise<never>(() => {})
  const parts = {
    simulated: { has: () => false, fetchFile: () => never },
    documents: { readPage: () => never, readPdf: () => never },
    countTokens: () => never,
    clock: systemClock,
    isOn: true,
    maxBytes: MAX_BYTES,
  }
  const delivered: FetchFile = async ({ sink, url }) => {
    await sink.write(Buffer.from('<html>words'))
    return { ok: true, contentType: 'text/html', size: 11, url }
  }
  for (const fetchFile of [delivered, () => never]) {
    const abort = new AbortController()
    const call = { organizationId: 'one', signal: abort.signal, deadlineAt: Number.POSITIVE_INFINITY }
    const wish = { url: 'https://a.test/', isSimulated: false, maxTokens: 10, refusal: () => null }
    const page = createPageReader({ ...parts, fetchFile }).read(wish, call)
    setImmediate(() => abort.abort())
    t.match(await page, { ok: false, error: 'nobody waits for it any more' })
  }
})
