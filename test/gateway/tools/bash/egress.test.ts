/** What of the network a command reaches: by the proxy, what is allowed, at addresses that are guarded. */
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'tap'
import { EgressProxy } from '../../../../src/gateway/tools/bash/local/egress-proxy.js'
import type { DnsLookup } from '../../../../src/upstream/address-guard.js'
import { listen } from '../../../support/servers/listen.js'
import { openSandboxStage, whyNoSandbox } from '../../../support/tools/local-sandbox.js'

const why = await whyNoSandbox()

/** Names of a test, and where they lead. */
const ADDRESSES: Readonly<Record<string, string>> = {
  'good.example': '127.0.0.1',
  'private.example': '10.0.0.7',
  'metadata.example': '169.254.169.254',
}
const resolve = ((host: string, _: unknown, callback: (...found: unknown[]) => void) => {
  const address = ADDRESSES[host]
  if (address === undefined) callback(new Error('no such name'), [])
  else callback(null, [{ address, family: 4 }])
}) as unknown as DnsLookup

/** Asks through the proxy and prints the status line. */
const ask = (port: number, head: string): string =>
  `exec 9<>/dev/tcp/127.0.0.1/${port}; printf '${head}\\r\\n\\r\\n' >&9; head -n 1 <&9; exec 9>&-`

test('only allowed hosts are reached, at addresses that the guard lets through', {
  skip: why ?? false,
}, async (t) => {
  let asked = 0
  const port = await listen(
    t,
    createServer((_, response) => {
      asked++
      response.end('hello from outside')
    }),
  )
  const stage = await openSandboxStage({
    egress: {
      guard: (address) => address === '127.0.0.1',
      resolve,
      bounds: { bytes: 100_000, connections: 4, connectMs: 2_000, ports: [port] },
    },
  })
  t.teardown(() => stage.close())
  const allowedDomains = ['good.example', 'private.example', 'metadata.example']
  const lines = [
    `GET http://good.example:${port}/ HTTP/1.1`,
    `CONNECT good.example:${port} HTTP/1.1`,
    `CONNECT private.example:${port} HTTP/1.1`,
    `CONNECT metadata.example:${port} HTTP/1.1`,
    `CONNECT other.example:${port} HTTP/1.1`,
    `CONNECT notgood.example:${port} HTTP/1.1`,
    `CONNECT 127.0.0.1:${port} HTTP/1.1`,
    'CONNECT good.example:22 HTTP/1.1',
    'GET / HTTP/1.1',
  ]
  const { stdout, egress } = await stage.run(
    `${lines.map((line) => ask(3128, line)).join('\n')}\n(exec 9<>/dev/tcp/127.0.0.1/${port}) 2>/dev/null && echo open`,
    { allowedDomains },
  )
  t.same(stdout.replaceAll('\r', '').trim().split('\n'), [
    'HTTP/1.1 200 OK',
    'HTTP/1.1 200 Connection established',
    ...['HTTP/1.1 502 Bad Gateway', 'HTTP/1.1 502 Bad Gateway'],
    ...Array.from({ length: 4 }, () => 'HTTP/1.1 403 Forbidden'),
    'HTTP/1.1 400 Bad Request',
  ])
  t.equal(asked, 1, 'the server was asked by nobody else')
  t.equal(egress.length, 8, 'every connection is told')
  t.ok(egress[0]!.receivedBytes > 18 && egress[0]!.refused === undefined)
  t.match(egress[2]!.refused, /may not be dialled/)
  const closed = await stage.run(
    'env | grep -i proxy; (exec 9<>/dev/tcp/127.0.0.1/3128) 2>/dev/null && echo open',
  )
  t.equal(closed.stdout, '', 'without a list there is neither proxy nor network')
})

/** Prints the number of the process that is the bridge to the proxy. */
const BRIDGE = `grep -l '^/opt/egress/node' /proc/[0-9]*/cmdline | cut -d/ -f3`

test('the bridge opens no debugger, and is in no group of processes with the server', {
  skip: why ?? false,
}, async (t) => {
  const stage = await openSandboxStage({
    egress: {
      guard: () => false,
      resolve,
      bounds: { bytes: 100_000, connections: 4, connectMs: 2_000, ports: [80] },
    },
  })
  t.teardown(() => stage.close())
  const { stdout } = await stage.run(
    `bridge=$(${BRIDGE}); kill -USR1 $bridge; sleep 0.5; (exec 9<>/dev/tcp/127.0.0.1/9229) 2>/dev/null && echo open
    cut -d' ' -f5 /proc/$bridge/stat | grep -qx 0 && echo shared
    ${ask(3128, 'CONNECT good.example:80 HTTP/1.1')}`,
    { allowedDomains: ['good.example'] },
  )
  t.equal(stdout, 'HTTP/1.1 502 Bad Gateway\r\n')
})

test('what goes out is counted whole, and after a thousand connections nobody listens', async (t) => {
  const port = await listen(
    t,
    createServer((_, response) => response.end('x')),
  )
  const folder = await mkdtemp(join(tmpdir(), 'sluice-proxy-test-'))
  t.teardown(() => rm(folder, { recursive: true }))
  const proxy = new EgressProxy({
    ...{ allowedDomains: ['good.example'], guard: () => true, resolve },
    bounds: { bytes: 100_000, connections: 1, connectMs: 2_000, ports: [port] },
  })
  const path = join(folder, 'proxy')
  await proxy.listen(path)
  t.teardown(() => proxy.close())
  const exchange = async (said: string): Promise<string> => {
    const socket = connect(path)
    socket.end(said)
    let answer = ''
    for await (const piece of socket) answer += piece
    return answer
  }
  const head = `GET http://GOOD.example.:${port}/a HTTP/1.1\r\nHost: other.example\r\nX-A: b\r\n\r\n`
  t.match(await exchange(head), /^HTTP\/1\.1 200 OK/)
  const sent = `GET /a HTTP/1.1\r\nHost: good.example.:${port}\r\nConnection: close\r\nX-A: b\r\n\r\n`
  t.match(proxy.log(), [{ host: `good.example:${port}`, sentBytes: sent.length }])
  let taken = 1
  for (; taken < 2_000; taken++) if (!(await exchange('x\r\n\r\n').catch(() => null))) break
  t.equal(taken, 1_000)
})
