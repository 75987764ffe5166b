/** Sandboxes behind HTTP (docs/guide/tools/bash.md): what is sent, what comes back, and what goes wrong. */
import tap, { test } from 'tap'
import { RemoteSandbox } from '../../../../src/gateway/tools/bash/remote-sandbox.js'
import { SandboxFailure } from '../../../../src/gateway/tools/bash/sandbox.js'
import { createUpstreamClient } from '../../../../src/upstream/client.js'
import { type MockRequest, mockUpstream, type Peer } from '../../../support/providers/mock-upstream.js'
import { OWNER } from '../../../support/tools/local-sandbox.js'

const server = await mockUpstream(tap)
const upstream = createUpstreamClient({})
tap.teardown(() => upstream.close())
const sandbox = new RemoteSandbox({
  url: `${server.origin}/base/`,
  credential: 'secret-of-the-sandbox',
  upstream,
})

const EXPIRES_AT = 1_800_000_000
const COMMAND = {
  command: 'cat in.txt',
  timeoutMs: 5_000,
  maxOutputBytes: 1_024,
  allowedDomains: ['a.example'],
}
const RAN = { stdout: '', stderr: '', exit_code: 0, changed: [], expires_at: EXPIRES_AT }

/** A server that speaks the contract to the letter, and answers 418 to everything that is not in it. */
class StrictServer {
  readonly files = new Map<string, string>()
  deleted = false

  answer(peer: Peer, { method, path, headers, body }: MockRequest): void {
    const { pathname, searchParams } = new URL(path, 'http://x')
    const file = searchParams.get('path') ?? ''
    const fail = (status: number, code: string): void =>
      peer.json({ error: { code, message: 'No.' } }, status)
    const isOurs =
      headers.authorization === 'Bearer secret-of-the-sandbox' &&
      headers['sluice-organization'] === OWNER.organizationId
    if (!isOurs) fail(401, 'unavailable')
    else if (this.deleted || headers['sluice-workspace'] !== OWNER.workspaceId) fail(404, 'container_expired')
    else {
      const calls: Readonly<Record<string, () => void>> = {
        'POST /base/containers': () => peer.json({ id: 'c-1', expires_at: EXPIRES_AT }),
        'POST /base/containers/c-1/files': () => {
          this.files.set(file, body)
          peer.answer(200, '')
        },
        'GET /base/containers/c-1/files': () => {
          const bytes = this.files.get(file)
          if (bytes === undefined) fail(404, 'not_found')
          else peer.answer(200, bytes)
        },
        'POST /base/containers/c-1/runs': () => this.run(peer, body),
        'POST /base/containers/c-1/delete': () => {
          this.deleted = true
          peer.answer(200, '')
        },
      }
      const call = calls[`${method} ${pathname}`]
      if (call === undefined) peer.json({}, 418)
      else call()
    }
  }

  run(peer: Peer, asked: string): void {
    const stdout = this.files.get('a b/in.txt') ?? ''
    this.files.set('out.txt', stdout)
    const egress = [{ host: 'a.example:443', sent_bytes: 1, received_bytes: 2, refused: null }]
    const changed = [{ path: 'out.txt', size_bytes: stdout.length }]
    peer.json({ ...RAN, stdout, changed, egress }, asked === ASKED ? 200 : 418)
  }
}

const ASKED = JSON.stringify({
  ...{ command: 'cat in.txt', timeout_ms: 5_000, max_output_bytes: 1_024 },
  allowed_domains: ['a.example'],
})
const noSignal = new AbortController().signal
const run = (signal = noSignal, more = {}) => sandbox.run(OWNER, 'c-1', { ...COMMAND, ...more }, signal)
const failureOf = async (promise: Promise<unknown>): Promise<string> => {
  const error = await promise.then(
    () => null,
    (reason: unknown) => reason,
  )
  return error instanceof SandboxFailure ? error.code : `no failure of a sandbox: ${error}`
}

test('a container is made, filled, used, read and deleted', async (t) => {
  const strict = new StrictServer()
  server.script = (peer, request) => strict.answer(peer, request)
  t.same(await sandbox.create(OWNER), { id: 'c-1', expiresAtUnixMs: EXPIRES_AT * 1000 })
  await sandbox.put(OWNER, 'c-1', 'a b/in.txt', Buffer.from('grün'))
  t.same(await run(), {
    ...{ stdout: 'grün', stderr: '', exitCode: 0, changed: [{ path: 'out.txt', sizeBytes: 4 }] },
    egress: [{ host: 'a.example:443', sentBytes: 1, receivedBytes: 2 }],
    container: { id: 'c-1', expiresAtUnixMs: EXPIRES_AT * 1000 },
  })
  t.equal((await sandbox.get(OWNER, 'c-1', 'out.txt', 100)).toString(), 'grün')
  t.equal(await failureOf(sandbox.get(OWNER, 'c-1', 'none', 100)), 'not_found')
  t.equal(
    await failureOf(sandbox.get({ ...OWNER, workspaceId: 'ws-2' }, 'c-1', 'out.txt', 100)),
    'container_expired',
  )
  await sandbox.delete(OWNER, 'c-1')
  t.equal(await failureOf(run()), 'container_expired')
})

test('what is no id of a container asks for nothing', async (t) => {
  const before = server.requests.length
  for (const id of ['../x', 'a/b', 'a?b', '', '%2e%2e', 'c 1', 'c-1\r\nX: y']) {
    t.equal(await failureOf(sandbox.run(OWNER, id, COMMAND, noSignal)), 'container_expired', id)
    t.equal(await failureOf(sandbox.put(OWNER, id, 'x', Buffer.alloc(1))), 'container_expired', id)
    t.equal(await failureOf(sandbox.get(OWNER, id, 'x', 1)), 'container_expired', id)
    t.equal(await failureOf(sandbox.delete(OWNER, id)), 'container_expired', id)
  }
  t.equal(server.requests.length, before)
})

test('garbage, broken connections and too much are told as unavailable', async (t) => {
  const unavailable = async (what: string, script: (peer: Peer) => void): Promise<void> => {
    server.script = script
    t.equal(await failureOf(run()), 'unavailable', what)
  }
  const bad: Readonly<Record<string, unknown>> = {
    'no object': [],
    'no exit code': { ...RAN, exit_code: undefined },
    'an exit code of words': { ...RAN, exit_code: '0' },
    'an end that is none': { ...RAN, ended: 'whim' },
    'sizes below zero': { ...RAN, changed: [{ path: 'x', size_bytes: -1 }] },
    'bytes that are no number': { ...RAN, egress: [{ host: 'h', sent_bytes: null, received_bytes: 0 }] },
  }
  for (const [what, value] of Object.entries(bad)) await unavailable(what, (peer) => peer.json(value))
  await unavailable('no JSON', (peer) => peer.answer(200, '\u0000{'))
  await unavailable('a status without a word', (peer) => peer.answer(500, 'oops'))
  await unavailable('a code that is none', (peer) => peer.json({ error: { code: 'x', message: 'y' } }, 400))
  await unavailable('a redirect', (peer) => peer.answer(302, '', { location: 'http://127.0.0.1:1/' }))
  await unavailable('an answer that is cut', (peer) => {
    peer.head(200, { 'content-length': '100' })
    peer.write('{')
    peer.cut()
  })
  await unavailable('a reset', (peer) => peer.reset())
  await unavailable('no HTTP', (peer) => void peer.write('hello\r\n\r\n'))
  await unavailable('an answer of 2 MB', (peer) => peer.json({ ...RAN, stdout: 'x'.repeat(2e6) }))
  server.script = (peer) => peer.answer(200, 'x'.repeat(101))
  t.equal(
    await failureOf(sandbox.get(OWNER, 'c-1', 'x', 100)),
    'unavailable',
    'a larger file than was asked for',
  )
  t.equal(upstream.inFlight(), 0)
})

test('what a command ended with is told, and an output is not longer than was asked for', async (t) => {
  for (const ended of ['timeout', 'memory', 'quota', 'aborted', 'broken'] as const) {
    server.script = (peer) => peer.json({ ...RAN, exit_code: null, ended })
    t.match(await run(), { exitCode: null, ended })
  }
  for (const code of ['busy', 'too_many_containers', 'quota_exceeded'] as const) {
    server.script = (peer) => peer.json({ error: { code, message: 'So it is.' } }, 429)
    t.equal(await failureOf(run()), code)
  }
  server.script = (peer) => peer.json({ ...RAN, stdout: '\u0001'.repeat(5_000), stderr: 'y'.repeat(5_000) })
  const { stdout, stderr } = await run()
  t.ok(stdout.length < 1_200 && stderr.length < 1_200)
})

test('a caller that leaves, and the end of the server, close the connection of a command', async (t) => {
  const reached = (): Promise<Peer> => new Promise((resolve) => (server.script = resolve))
  const leaving = new AbortController()
  const first = reached()
  const running = run(leaving.signal)
  const peer = await first
  leaving.abort(new Error('the call was cancelled'))
  await t.rejects(running, { message: 'the call was cancelled' })
  await peer.closed()
  await t.rejects(run(AbortSignal.abort(new Error('too late'))), { message: 'too late' })

  const second = reached()
  const closing = new RemoteSandbox({ url: server.origin, credential: null, upstream })
  const left = closing.run(OWNER, 'c-1', COMMAND, noSignal)
  const other = await second
  t.notHas(server.requests.at(-1)!.headers, { authorization: /./ })
  await closing.close()
  await t.rejects(left)
  await other.closed()
  t.equal(upstream.inFlight(), 0)
})
