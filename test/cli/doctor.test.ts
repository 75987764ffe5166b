/** `sluice doctor` as operators run it. */
import { randomBytes } from 'node:crypto'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type Test, t, test } from 'tap'
import { examineDatabase } from '../../src/doctor/neighbours.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { fakeProvider } from '../support/providers/fake-provider.js'
import { mockUpstream } from '../support/providers/mock-upstream.js'
import { freePort, listen } from '../support/servers/listen.js'
import { PostgresCluster, WITHOUT_POSTGRES } from '../support/servers/postgres-cluster.js'
import { runSluice, serve } from '../support/servers/server-process.js'

const KEY = 'sk-of-the-provider-0123456789'

interface Found {
  readonly check: string
  readonly verdict: string
  readonly found: string
  readonly remedy: string | null
}

async function doctor(t: Test, env: Readonly<Record<string, string>> = {}, folder?: string) {
  const options = { env: { PORT: '0', ...env }, ...(folder !== undefined && { folder }) }
  const run = await runSluice(t, ['doctor', '--json'], options)
  t.equal(run.stderr, '')
  const { ok, findings } = JSON.parse(run.stdout) as { ok: boolean; findings: readonly Found[] }
  const of = (check: string): readonly Found[] => findings.filter((each) => each.check === check)
  return { code: run.code, ok, of, text: run.stdout }
}

function writeConfiguration(t: Test, providers: Readonly<Record<string, unknown>>): string {
  const path = join(tempFolder(t), 'sluice.json')
  writeFileSync(path, JSON.stringify({ providers }))
  return path
}

test('an empty folder on this machine is well, and stays empty', async (t) => {
  const folder = tempFolder(t)
  const { code, ok, of } = await doctor(t, {}, folder)
  t.strictSame({ code, ok }, { code: 0, ok: true })
  for (const check of [
    'native server',
    'native store',
    'configuration',
    'data folder',
    'databases',
    'port',
  ]) {
    t.match(of(check), [{ verdict: /ok|warn/ }], check)
  }
  t.match(of('disk sync'), [{ found: /ms for a block/ }])
  t.same(readdirSync(folder), [])
})

test('without a folder for temporary files the native store is tried in the data folder', async (t) => {
  const folder = tempFolder(t)
  const { code, of } = await doctor(t, { TMPDIR: join(folder, 'nowhere') }, folder)
  t.equal(code, 0)
  t.match(of('native store'), [{ verdict: 'ok' }])
  t.same(readdirSync(folder), [])
})

test('lines are for people, and words that are no option are refused', async (t) => {
  const run = await runSluice(t, ['doctor'], { env: { PORT: '0' } })
  t.match(run, { code: 0, stdout: /^ok {4}native server {3}\S/m })
  t.match(await runSluice(t, ['doctor', '--fix']), { code: 2, stderr: /doctor takes --json/ })
})

test('every bad setting is named, and what they would have named is not looked at', async (t) => {
  const { code, of } = await doctor(t, { PORT: 'x', SLUICE_WORKERS: 'many' })
  t.equal(code, 2)
  t.match(
    of('configuration').map(({ found }) => found),
    [/PORT/, /SLUICE_WORKERS/],
  )
  t.same(of('port'), [])
  t.equal(of('native server').length, 1)
})

test('a port that another program holds fails; beside a server of this folder it is well', async (t) => {
  const port = await listen(t, createServer())
  const taken = await doctor(t, { PORT: String(port) })
  t.equal(taken.code, 1)
  t.match(taken.of('port'), [{ verdict: 'fail', found: /already in use/ }])
  const folder = tempFolder(t)
  const { url } = await serve(t, { SLUICE_WORKERS: '1' }, folder)
  const beside = await doctor(t, { PORT: new URL(url).port }, folder)
  t.equal(beside.code, 0)
  t.match(beside.of('port'), [{ verdict: 'ok', found: /a server \(process \d+\) works in this data folder/ }])
  t.match(beside.of('databases'), [{ verdict: 'ok', found: /sound/ }])
})

test('a damaged database fails with its name and what to do', async (t) => {
  const folder = tempFolder(t)
  mkdirSync(join(folder, 'data'))
  writeFileSync(join(folder, 'data', 'data.mdb'), Buffer.alloc(65_536, 7))
  const { code, of } = await doctor(t, {}, folder)
  t.equal(code, 1)
  t.match(of('databases'), [{ verdict: 'fail', found: /data\.mdb is damaged/, remedy: /backup/ }])
})

test('providers are asked for their models and never for an answer, and no key is shown', async (t) => {
  const good = await fakeProvider(t, ['a', 'b'], KEY)
  const mute = await mockUpstream(t, (peer) => peer.answer(404, 'no such page'))
  const base = { kind: 'openai', api_key_env: 'ACME_KEY' }
  const file = writeConfiguration(t, {
    good: { ...base, base_url: `${good.origin}/v1` },
    refused: { ...base, base_url: `${good.origin}/v1`, api_key_env: 'OTHER_KEY' },
    mute: { ...base, base_url: `${mute.origin}/v1` },
    nobody: { ...base, base_url: `http://127.0.0.1:${await freePort()}/v1` },
    service: { kind: 'deepgram', base_url: mute.origin, api_key_env: 'ACME_KEY' },
  })
  const env = { SLUICE_CONFIG: file, ACME_KEY: KEY, OTHER_KEY: 'sk-wrong-0123456789' }
  const { code, of, text } = await doctor(t, env)
  t.equal(code, 1)
  t.match(of('provider good'), [{ verdict: 'ok', found: /lists 2 models/ }])
  t.match(of('provider refused'), [{ verdict: 'fail', found: /401/ }])
  t.match(of('provider mute'), [{ verdict: 'ok', found: /404.*not tried/ }])
  t.match(of('provider nobody'), [{ verdict: 'fail', found: /127\.0\.0\.1:\d+: .*ECONNREFUSED/ }])
  t.match(of('provider service'), [{ verdict: 'ok', found: /answers/ }])
  t.same([...new Set([...good.requests, ...mute.requests].map(({ method }) => method))].sort(), [
    'GET',
    'HEAD',
  ])
  t.notMatch(text, KEY)
  t.notMatch(text, 'sk-wrong')
})

test('a key that no header can hold is not told either', async (t) => {
  const good = await fakeProvider(t, ['a'], KEY)
  const file = writeConfiguration(t, {
    good: { kind: 'openai', base_url: `${good.origin}/v1`, api_key_env: 'ACME_KEY' },
  })
  const { text } = await doctor(t, { SLUICE_CONFIG: file, ACME_KEY: 'sk-secret-\u2713-of-mine' })
  t.notMatch(text, 'of-mine')
})

test('a database that nobody answers for fails, without its password', async (t) => {
  const { code, of, text } = await doctor(t, {
    SLUICE_DATABASE_URL: 'postgres://me:secret-of-mine@127.0.0.1:1/x',
  })
  t.not(code, 0)
  t.match([...of('database'), ...of('configuration')], [{ verdict: 'fail' }])
  t.notMatch(text, 'secret-of-mine')
})

t.test('on a PostgreSQL', { skip: WITHOUT_POSTGRES }, async (t) => {
  const cluster = await PostgresCluster.start(t)
  const databaseUrl = await cluster.database()
  t.match(await examineDatabase({ databaseUrl }), [
    { check: 'database', verdict: 'warn', remedy: /sluice migrate/ },
    { check: 'database clock', verdict: 'ok' },
  ])
  const sealingKey = join(tempFolder(t), 'sealing.key')
  writeFileSync(sealingKey, randomBytes(32))
  const shared = { SLUICE_DATABASE_URL: databaseUrl, SLUICE_SEALING_KEY_FILE: sealingKey }
  t.equal((await runSluice(t, ['migrate'], { env: shared })).code, 0)
  t.match(await examineDatabase({ databaseUrl }), [{ verdict: 'ok' }, { verdict: 'ok' }])
})
