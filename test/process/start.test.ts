import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { createServer } from 'node:net'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { probePort } from '../../src/process/port-probe.js'
import { poolThreadsFor, workersFor } from '../../src/process/topology.js'
import { getOnce, httpClient } from '../support/clients/http-client.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { API_KEY, runSluice, ServerProcess, serve } from '../support/servers/server-process.js'
import { eventually } from '../support/timing/eventually.js'

const TLS = fileURLToPath(new URL('../../../test/support/tls/', import.meta.url))
const ONE = { SLUICE_WORKERS: '1' }

test('standard output says where and with what the server listens and where its pages are, and nothing else', async (t) => {
  const { server, port } = await serve(t, { SLUICE_WORKERS: '3', SLUICE_POOL_THREADS: '2' })
  t.ok(port > 0, 'a free port was taken for 0')
  const client = await server.client()
  t.equal((await client.get('/api/v1/health')).status, 200)
  await client.get('/api/v1/items/x')
  await client.get('/nothing')
  t.equal(server.children().length, 3)
  t.match(await server.stop(), { code: 0, signal: null })
  const url = `http://127.0.0.1:${port}`
  const pages = `start page ${url}/, documentation of the API ${url}/docs`
  t.equal(server.stdout, `sluice listening on ${url} (workers: 3, pool threads: 2)\n${pages}\n`)
})

const UNCHOSEN = { ...ONE, SLUICE_API_KEY: '', SLUICE_MANAGEMENT_KEY: '' }
const MADE =
  /^sluice made a workspace key, shown only now: (sk-sluice-v1-\S+)\nsluice made a management key, shown only now: (sk-sluice-mgmt-\S+)\nsluice listening on /

test('the first start makes two keys and shows them once, the second tells how to make another; the store knows only their hashes', async (t) => {
  const folder = tempFolder(t)
  const env = { ...UNCHOSEN, SLUICE_DATA_DIR: join(folder, 'data') }
  const { server: first, url } = await serve(t, env, folder)
  const [, apiKey, managementKey] = MADE.exec(first.stdout) ?? []
  const statusOf = async (key: string | undefined, path: string, at = url): Promise<number> =>
    (await fetch(`${at}/api/v1${path}`, { headers: { Authorization: `Bearer ${key}` } })).status
  t.equal(await statusOf(apiKey, '/key'), 200)
  t.equal(await statusOf(apiKey, '/keys'), 403)
  t.equal(await statusOf(managementKey, '/keys'), 200)
  await first.stop()
  for (const key of [apiKey, managementKey])
    t.notOk(first.stderr.includes(key!), 'and the log does not know them')
  const stored = readFileSync(join(folder, 'data', 'data.mdb'))
  for (const key of [apiKey, managementKey]) t.notOk(stored.includes(key!))
  const { server: second } = await serve(t, env, folder)
  t.match(second.stdout, /^sluice listening on /)
  t.notMatch(first.stdout, 'earlier start')
  const [, command = ''] = /"npx sluice (keys create --name) NAME" makes another\n$/.exec(second.stdout) ?? []
  const made = await runSluice(t, [...command.split(' '), 'found again'], { folder, env })
  t.equal(await statusOf(made.stdout.trim(), '/key', (await second.ready()).url), 200)
})

test('logs are JSON lines on standard error', async (t) => {
  const server = ServerProcess.start(t, {
    env: { ...ONE, SLUICE_LOG_LEVEL: 'debug', SLUICE_SEED_ITEMS: '3' },
  })
  const client = await server.client()
  await client.get('/api/v1/items/77')
  await server.stop()
  const lines = server.stderr.trimEnd().split('\n')
  t.ok(lines.length >= 3, `${lines.length} lines`)
  for (const line of lines) {
    const { level, time, process, pid, msg } = JSON.parse(line)
    t.match({ level, time, process, pid, msg }, { level: Number, pid: Number, msg: String })
    t.match(process, /^(supervisor|worker-0)$/)
    t.notOk(Number.isNaN(Date.parse(time)))
  }
  t.ok(server.log.some(({ msg, process }) => msg === 'seeded items' && process === 'worker-0'))
  t.ok(server.log.some(({ fault }) => fault === 'item-not-found'))
  t.ok(server.log.some(({ msg, process }) => msg === 'draining' && process === 'supervisor'))
})

test('the log says which build of the native server serves', async (t) => {
  const { server } = await serve(t, ONE)
  await server.stop()
  const told = server.logged('native server')
  t.equal(told.length, 1)
  t.match(told[0], {
    process: 'worker-0',
    build: /^(older|newer)$/,
    version: / [\d.]+$/,
    node: process.version,
  })
})

/** As on a machine on which the newer build is not installed, whatever this one has. */
const WITHOUT_NEWER = `const Module = require('node:module')
const resolve = Module._resolveFilename
Module._resolveFilename = (name, ...more) => {
  if (!name.startsWith('@btc-vision/')) return resolve(name, ...more)
  throw Object.assign(new Error('gone'), { code: 'MODULE_NOT_FOUND' })
}`

test('a native server that cannot be had is a bad setting: one sentence, before anything else was done', async (t) => {
  const folder = tempFolder(t)
  writeFileSync(join(folder, 'without.cjs'), WITHOUT_NEWER)
  const env = {
    ...UNCHOSEN,
    SLUICE_NATIVE: 'newer',
    NODE_OPTIONS: `--require=${folder}/without.cjs`,
    SLUICE_LOG_LEVEL: 'silent',
  }
  const server = ServerProcess.start(t, { folder, env })
  t.match(await server.exited(), { code: 2, signal: null })
  t.equal(server.stdout, '', 'no key was made')
  t.match(
    server.stderr,
    /^sluice: the native server \(@btc-vision\/uwebsockets\.js [\d.]+\) is not installed, which npm ci without --omit=optional does: run Node 22 without SLUICE_NATIVE, or [^\n]*\n$/,
  )
})

test('left to itself the server takes the workers and threads that suit the machine', async (t) => {
  const cores = availableParallelism()
  const server = ServerProcess.start(t)
  const { workers, poolThreads } = await server.ready()
  t.equal(workers, workersFor(cores))
  t.equal(poolThreads, poolThreadsFor(cores, workers))
})

test('the data folder is made where it is wanted, in the working folder by default', async (t) => {
  const folder = tempFolder(t)
  await ServerProcess.start(t, { folder, env: ONE }).ready()
  t.ok(existsSync(join(folder, 'data')), './data')
  const deep = join(folder, 'a', 'b', 'c')
  await ServerProcess.start(t, { folder, env: { ...ONE, SLUICE_DATA_DIR: deep } }).ready()
  t.ok(existsSync(deep), 'with the folders above it')
})

test('items and ids outlive a restart', async (t) => {
  const folder = tempFolder(t)
  const first = ServerProcess.start(t, { folder, env: { ...ONE, SLUICE_SEED_ITEMS: '5' } })
  const client = await first.client()
  await client.write('POST', '/api/v1/items', { name: 'mine' })
  await client.send({ method: 'DELETE', path: '/api/v1/items/5' })
  await first.stop()
  const second = ServerProcess.start(t, { folder, env: { ...ONE, SLUICE_SEED_ITEMS: '5' } })
  const again = await second.client()
  t.match((await again.get('/api/v1/items/6')).json, { name: 'mine', id: 6 })
  t.equal((await again.get('/api/v1/items/5')).status, 404, 'seeding does not bring it back')
  t.match((await again.write('POST', '/api/v1/items', { name: 'next' })).json, { id: 7 })
})

test('settings come from a file, and the environment wins', async (t) => {
  const folder = tempFolder(t)
  for (const [name, text] of [
    ['sluice.yaml', 'port: 0\nworkers: 2\npool_threads: 3\nbody_limit: 40\n'],
    ['sluice.json', '{"port": 0, "workers": 2, "pool_threads": 3, "body_limit": 40}'],
  ] as const) {
    writeFileSync(join(folder, name), text)
    const server = ServerProcess.start(t, { folder, env: { SLUICE_CONFIG: name, SLUICE_WORKERS: '1' } })
    const { url, workers, poolThreads } = await server.ready()
    t.equal(workers, 1, `${name}: the environment wins`)
    t.equal(poolThreads, 3, `${name}: the file counts`)
    const client = httpClient(url)
    const { status } = await client.write('POST', '/api/v1/items', { name: 'x'.repeat(50) })
    client.close()
    t.equal(status, 413, `${name}: the limit reached the workers`)
    await server.stop()
  }
})

test('a port that another server holds ends the start with a sentence and exit code 1', async (t) => {
  const { port, url } = await serve(t, { SLUICE_WORKERS: '2' })
  const second = ServerProcess.start(t, { env: { PORT: String(port) } })
  t.match(await second.exited(), { code: 1 })
  t.equal(second.stderr, `sluice: port ${port} on 127.0.0.1 is already in use\n`)
  t.equal(second.stdout, '')
  t.equal((await getOnce(url, '/api/v1/health')).status, 200, 'the first one serves on')
})

/** Settings that cannot be served, and how the sentence begins that says so; `port` is taken. */
const REFUSED: Readonly<
  Record<string, (port: number) => { env: Record<string, string>; says: string | RegExp }>
> = {
  'a port that something else holds': (port) => ({
    env: { PORT: String(port) },
    says: `sluice: port ${port} on 127.0.0.1 is already in use`,
  }),
  'an address that is not ours': () => ({
    env: { HOST: '192.0.2.1' },
    says: /^sluice: cannot listen on 192\.0\.2\.1:0: .+\n$/,
  }),
  'a metrics address that is taken': (port) => ({
    env: { SLUICE_METRICS: `127.0.0.1:${port}` },
    says: `sluice: cannot serve metrics on 127.0.0.1:${port}: `,
  }),
  'a file that is neither a TLS key nor a certificate': () => {
    const file = fileURLToPath(import.meta.url)
    return { env: { SLUICE_TLS_KEY: file, SLUICE_TLS_CERT: file }, says: /^sluice: cannot use the key /m }
  },
}

for (const [what, settings] of Object.entries(REFUSED)) {
  test(`${what} ends the start with a sentence and exit code 1`, async (t) => {
    const holder = createServer()
    await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve))
    t.after(() => holder.close())
    const { env, says } = settings((holder.address() as { port: number }).port)
    const server = ServerProcess.start(t, { env: { ...ONE, ...env } })
    t.match(await server.exited(), { code: 1 })
    t.match(server.stderr, says)
    t.equal(server.stdout, '')
  })
}

test('a data folder that cannot be made ends the start with its reason and leaves nobody behind', async (t) => {
  const folder = tempFolder(t)
  writeFileSync(join(folder, 'file'), '')
  const env = { SLUICE_WORKERS: '2', SLUICE_DATA_DIR: join(folder, 'file', 'data') }
  const server = ServerProcess.start(t, { folder, env })
  t.match(await server.exited(), { code: 1 })
  t.equal(server.stdout, '')
  t.match(server.stderr, /^sluice: the data folder \S+file\/data cannot be used: ENOTDIR/)
})

test('TLS is announced as https and spoken', async (t) => {
  const env = { ...ONE, SLUICE_TLS_KEY: join(TLS, 'key.pem'), SLUICE_TLS_CERT: join(TLS, 'cert.pem') }
  const { scheme, port } = await serve(t, env)
  t.equal(scheme, 'https')
  const ca = readFileSync(join(TLS, 'cert.pem'))
  const status = await new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, path: '/api/v1/health', ca, agent: false }, (reply) => {
      reply.resume().on('end', () => resolve(reply.statusCode))
    })
      .on('error', reject)
      .end()
  })
  t.equal(status, 200)
})

test('metrics of all workers can be served on an address of their own, and then only there', async (t) => {
  const metricsPort = await probePort('127.0.0.1', 0)
  const env = { SLUICE_WORKERS: '2', SLUICE_METRICS: `127.0.0.1:${metricsPort}` }
  const server = ServerProcess.start(t, { env })
  const api = await server.client()
  const metrics = (path: string) => getOnce(`http://127.0.0.1:${metricsPort}`, path)
  t.equal((await api.get('/metrics')).status, 404)
  await api.get('/api/v1/items/1')
  await eventually(async () => {
    const { text } = await metrics('/metrics')
    return /sluice_requests_total\{worker="[01]",operation="read_item"\} 1/.test(text)
  })
  // A worker that is kept from its core for a second is left out.
  await eventually(async () => {
    const { text } = await metrics('/metrics')
    return [0, 1].every((worker) => text.includes(`sluice_connections{worker="${worker}"}`))
  })
  t.equal((await metrics('/api/v1/health')).status, 404)
})

test('metrics can be switched off', async (t) => {
  const server = ServerProcess.start(t, { env: { ...ONE, SLUICE_METRICS: 'off' } })
  const client = await server.client()
  t.equal((await client.get('/metrics')).status, 404)
})

test('a store with files whose database is gone is refused in one sentence, and no file is lost', async (t) => {
  const folder = tempFolder(t)
  const env = { SLUICE_WORKERS: '2', SLUICE_DATA_DIR: join(folder, 'data') }
  const { server: first, url } = await serve(t, env, folder)
  const form = new FormData()
  form.append('file', new Blob(['kept']), 'a.txt')
  const headers = { Authorization: `Bearer ${API_KEY}` }
  const uploaded = await fetch(`${url}/api/v1/files`, { method: 'POST', headers, body: form })
  const { id } = (await uploaded.json()) as { id: string }
  await first.stop()
  rmSync(join(folder, 'data', 'data.mdb'))
  const second = ServerProcess.start(t, { folder, env })
  t.match(await second.exited(), { code: 1, signal: null })
  t.match(
    second.stderr,
    /^sluice: \S+ holds stored files but \S+data\.mdb, .* put it back, or move the files/m,
  )
  t.equal(second.stderr.split('\n').filter((line) => line.startsWith('sluice: ')).length, 1)
  t.equal(second.stdout, '')
  t.equal(readFileSync(join(folder, 'data', 'files', id.slice(-2), id), 'utf8'), 'kept')
})

test('files that a replaced database does not know are set aside, and one line of the log says where', async (t) => {
  const folder = tempFolder(t)
  const env = { ...ONE, SLUICE_DATA_DIR: join(folder, 'data') }
  const { server: first } = await serve(t, env, folder)
  await first.stop()
  const id = `file_${'0'.repeat(26)}`
  mkdirSync(join(folder, 'data', 'files', '00'), { recursive: true })
  writeFileSync(join(folder, 'data', 'files', '00', id), 'kept')
  const { server: second } = await serve(t, env, folder)
  const asideFolder = join(folder, 'data', 'files', 'set-aside')
  const told = second.logged('set aside files that the database does not know')
  t.match(told, [{ setAside: 1, folder: asideFolder }])
  t.equal(told.length, 1)
  t.equal(readFileSync(join(asideFolder, id), 'utf8'), 'kept')
})

test('a changed key setting closes the old key on every worker, and a removed one closes the last', async (t) => {
  const folder = tempFolder(t)
  const [old, young] = ['old', 'new'].map((age) => `sk-the-${age}-operator-key-${'0'.repeat(32)}`)
  const statusesAfter = async (key: string): Promise<[(number | undefined)[], ServerProcess]> => {
    const env = { SLUICE_WORKERS: '2', SLUICE_DATA_DIR: join(folder, 'data') }
    const server = ServerProcess.start(t, { folder, env: { ...env, SLUICE_MANAGEMENT_KEY: key } })
    const { url } = await server.ready()
    const made = /shown only now: (sk-sluice-mgmt-\S+)/.exec(server.stdout)?.[1]
    const statuses: (number | undefined)[] = []
    for (const each of [old, young, made]) {
      // A connection each, so that both workers are asked.
      const ask = async (): Promise<number> =>
        (
          await fetch(`${url}/api/v1/organizations`, {
            headers: { Authorization: `Bearer ${each}`, Connection: 'close' },
          })
        ).status
      const told = each === undefined ? [] : await Promise.all(Array.from({ length: 8 }, ask))
      statuses.push(told.every((status) => status === told[0]) ? told[0] : Number.NaN)
    }
    await server.stop()
    return [statuses, server]
  }
  t.strictSame((await statusesAfter(old!))[0], [200, 401, undefined])
  const [statuses, server] = await statusesAfter(young!)
  t.strictSame(statuses, [401, 200, undefined])
  const told = server.log.filter(({ msg }) => msg.includes('no longer names'))
  t.match(told, [{ keys: [{ setting: 'SLUICE_MANAGEMENT_KEY', label: 'sk-...000' }] }])
  t.equal(told.length, 1)
  t.notOk(server.stderr.includes(old!))
  t.strictSame((await statusesAfter(''))[0], [401, 401, 200])
})
