import { spawn } from 'node:child_process'
import { existsSync, readFileSync, renameSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { type Lifetime, tempFolder } from '../support/data/temp-folder.js'
import { eventually } from '../support/timing/eventually.js'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const MAIN = `${ROOT}dist/src/main.js`

test('a build deletes what has no source any more and does not touch what is the same', async (t) => {
  const stale = `${ROOT}dist/src/left-by-a-deleted-source.js`
  writeFileSync(stale, '')
  const before = statSync(MAIN)
  t.equal(await run(t, ['.tools/build.js']), 0)
  t.notOk(existsSync(stale), 'no output without a source')
  t.equal(statSync(MAIN).ino, before.ino, 'the same file as before')
})

test('chunks of the build before a change stay for servers that run from it, and go with the next one', async (t) => {
  const program = `${ROOT}dist/src/store/lmdb/check-program.js`
  const [loaded, forgotten] = ['chunk-LOADED22', 'chunk-FORGOT22'].map(
    (name) => `${ROOT}dist/chunks/${name}.js`,
  )
  const built = readFileSync(program, 'utf8')
  const nameLoaded = (): void => {
    writeFileSync(`${program}.new`, `${built}// chunk-LOADED22.js\n`)
    renameSync(`${program}.new`, program)
  }
  writeFileSync(loaded!, '')
  writeFileSync(forgotten!, '')
  t.equal(await run(t, ['.tools/build.js']), 0)
  t.ok(existsSync(forgotten!), 'a build that changes nothing removes none')
  nameLoaded()
  t.equal(await run(t, ['.tools/build.js']), 0)
  t.equal(readFileSync(program, 'utf8'), built)
  t.ok(existsSync(loaded!), 'the build before has named it')
  t.notOk(existsSync(forgotten!))
  writeFileSync(`${program}.new`, `${built}\n`)
  renameSync(`${program}.new`, program)
  t.equal(await run(t, ['.tools/build.js']), 0)
  t.notOk(existsSync(loaded!))
})

test('a build makes what is missing or differs from its source anew', async (t) => {
  const victim = `${MAIN}.map`
  const built = readFileSync(victim, 'utf8')
  t.teardown(() => writeFileSync(victim, built))
  writeFileSync(victim, `${built} `)
  t.equal(await run(t, ['.tools/build.js']), 0)
  t.equal(readFileSync(victim, 'utf8'), built)
})

test('npm run dev serves anew after a change, and takes its server along when it ends', async (t) => {
  let output = ''
  const dev = spawn(process.execPath, ['.tools/dev.js'], {
    cwd: ROOT,
    env: {
      PATH: process.env.PATH,
      PORT: '0',
      SLUICE_WORKERS: '1',
      SLUICE_DATA_DIR: tempFolder(t),
      SLUICE_LOG_LEVEL: 'info',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.after(() => dev.kill('SIGTERM'))
  const ended = new Promise((resolve) => dev.on('exit', resolve))
  for (const stream of [dev.stdout, dev.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  const urls = (): string[] => [...output.matchAll(/^sluice listening on (\S+)/gm)].map(([, url = '']) => url)
  const first = (await eventually(() => urls().at(0), 60_000)) ?? ''
  t.equal((await fetch(`${first}/api/v1/health`)).status, 200)

  utimesSync(`${ROOT}src/main.ts`, new Date(), new Date())
  const second = (await eventually(() => urls().at(1), 60_000)) ?? ''
  t.equal((await fetch(`${second}/api/v1/health`)).status, 200)
  await t.rejects(fetch(`${first}/api/v1/health`), 'the first server is gone')

  dev.kill('SIGTERM')
  t.equal(await ended, 0)
  await t.rejects(fetch(`${second}/api/v1/health`), 'the second went with the watcher')
})

/** Runs a script of the repository and resolves with its exit code. */
function run(lifetime: Lifetime, script: readonly string[]): Promise<number | null> {
  const child = spawn(process.execPath, script, { cwd: ROOT, stdio: 'inherit' })
  lifetime.after(() => child.kill('SIGKILL'))
  return new Promise((resolve) => child.on('exit', resolve))
}
