/** `sluice upgrade --check`, and the mark of the data folder that it goes by. */
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Test, t, test } from 'tap'
import { examineUpgrade, judgeFormat } from '../../src/doctor/upgrade.js'
import { FORMAT } from '../../src/process/folder-format.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { PostgresCluster, WITHOUT_POSTGRES } from '../support/servers/postgres-cluster.js'
import { runSluice, ServerProcess, serve } from '../support/servers/server-process.js'

const ONE = { SLUICE_WORKERS: '1' }

async function check(t: Test, folder: string) {
  const run = await runSluice(t, ['upgrade', '--check', '--json'], { folder })
  const { findings } = JSON.parse(run.stdout) as {
    findings: readonly { check: string; verdict: string; found: string; remedy: string | null }[]
  }
  return { code: run.code, of: (name: string) => findings.filter((each) => each.check === name) }
}

/** A folder that a server has served from, and what it wrote there. */
async function servedFolder(t: Test) {
  const folder = tempFolder(t)
  const { server } = await serve(t, ONE, folder)
  await server.stop()
  return { folder, mark: join(folder, 'data', 'format.json') }
}

test('without a store there is nothing to do, and none is made', async (t) => {
  const folder = tempFolder(t)
  const { code, of } = await check(t, folder)
  t.equal(code, 0)
  t.match(of('data folder'), [{ verdict: 'ok', found: /nothing to do/ }])
  t.same(readdirSync(folder), [])
})

test('a folder of this release stays as it is; one without a mark gets it by the next start', async (t) => {
  const { folder, mark } = await servedFolder(t)
  t.match(JSON.parse(readFileSync(mark, 'utf8')), { format: FORMAT, serves: /./, release: /^\d/ })
  const same = await check(t, folder)
  t.equal(same.code, 0)
  t.match(same.of('data folder'), [{ verdict: 'ok', found: /stays as it is/ }])
  t.match(same.of('way back'), [{ verdict: 'ok' }])
  t.match(same.of('disk room'), [{ found: /MiB free/ }])
  rmSync(mark)
  const before = readdirSync(join(folder, 'data')).sort()
  t.match((await check(t, folder)).of('data folder'), [{ verdict: 'ok', found: /told no format/ }])
  t.same(readdirSync(join(folder, 'data')).sort(), before, 'a check writes nothing')
})

test('a folder of a newer release that does not serve this one is left alone by check and start', async (t) => {
  const { folder, mark } = await servedFolder(t)
  const newer = JSON.stringify({ format: FORMAT + 1, serves: FORMAT + 1, release: '9.0.0' })
  writeFileSync(mark, newer)
  const { code, of } = await check(t, folder)
  t.equal(code, 1)
  t.match(of('data folder'), [{ verdict: 'fail', found: /release 9\.0\.0/, remedy: /run that release/ }])
  const started = ServerProcess.start(t, { env: { ...ONE, PORT: '0' }, folder })
  t.match(await started.exited(), { code: 1 })
  t.match(started.stderr, /sluice: the data folder is in format 2, of release 9\.0\.0/)
  t.equal(readFileSync(mark, 'utf8'), newer)
})

test('a newer release that serves this one keeps its mark through a start of this one', async (t) => {
  const { folder, mark } = await servedFolder(t)
  const newer = JSON.stringify({ format: FORMAT + 1, serves: FORMAT, release: '9.0.0' })
  writeFileSync(mark, newer)
  t.equal((await check(t, folder)).code, 0)
  const { server } = await serve(t, ONE, folder)
  await server.stop()
  t.equal(readFileSync(mark, 'utf8'), newer)
})

test('a mark that cannot be read fails, and an older format says whether there is a way back', async (t) => {
  const { folder, mark } = await servedFolder(t)
  writeFileSync(mark, '{')
  const { code, of } = await check(t, folder)
  t.equal(code, 1)
  t.match(of('data folder'), [{ verdict: 'fail', found: /format\.json cannot be read/ }])
  const [step, back] = judgeFormat({ format: FORMAT - 1, serves: 1, release: '0.0.9' })
  t.match(step, { verdict: 'ok', found: /becomes/ })
  t.match(back, { verdict: 'warn', remedy: /back up/ })
})

test('without --check it is no command', async (t) => {
  t.match(await runSluice(t, ['upgrade']), { code: 2, stderr: /upgrade needs --check/ })
})

t.test('on a PostgreSQL', { skip: WITHOUT_POSTGRES }, async (t) => {
  const cluster = await PostgresCluster.start(t)
  const databaseUrl = await cluster.database()
  const settings = { dataDir: tempFolder(t), databaseUrl, diskReserveBytes: 0 }
  const of = async (name: string) => (await examineUpgrade(settings)).filter(({ check }) => check === name)
  t.match(await of('database'), [{ verdict: 'ok', found: /adds 001_machines, / }])
  t.match(await of('database'), [{ found: /adds/ }], 'a check adds nothing')
  const sealingKey = join(tempFolder(t), 'sealing.key')
  writeFileSync(sealingKey, randomBytes(32))
  const shared = { SLUICE_DATABASE_URL: databaseUrl, SLUICE_SEALING_KEY_FILE: sealingKey }
  t.equal((await runSluice(t, ['migrate'], { env: shared })).code, 0)
  t.match(await of('database'), [{ verdict: 'ok', found: /stays as it is/ }])
  await cluster.sql(
    "INSERT INTO sluice.migrations (number, name, checksum) VALUES (999, '999_x', 'x')",
    new URL(databaseUrl).pathname.slice(1),
  )
  t.match(await of('database'), [{ verdict: 'fail', found: /newer release/ }])
})
