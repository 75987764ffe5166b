/**
 * `npm run dev`: serves, and serves anew whenever a source has changed. Arguments go to `serve`.
 *
 * A change that cannot be built leaves the running server alone. The next server starts only when the last one has
 * ended, because both want the same port and the same store; the one that is left has `LEAVE_MS` for what is under
 * way. Any end of this process (interrupt, terminate, closed terminal, an error) takes the server along.
 */
import { spawn } from 'node:child_process'
import { watch } from 'node:fs'
import process, { argv, execPath, exit } from 'node:process'
import { fileURLToPath } from 'node:url'
import { build, PRODUCT } from './build.js'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** Editors and branch switches write many files at once: the build waits for this much silence. */
const SETTLE_MS = 100
/** What is under way may take this long; then the server gets its second signal, which ends it at once. */
const LEAVE_MS = 2_000

/** @type {import('node:child_process').ChildProcess | null} */
let server = null
/** @type {NodeJS.Timeout | undefined} */
let settling
/** One build and restart after the other. */
let work = Promise.resolve()

async function serveAnew() {
  try {
    await build(false)
  } catch {
    return
  }
  await leave()
  const started = spawn(execPath, ['dist/src/main.js', 'serve', ...argv.slice(2)], {
    cwd: ROOT,
    stdio: 'inherit',
  })
  started.on('exit', (code) => {
    if (server === started)
      console.error(`the server ended with ${code}; it starts again after the next change`)
  })
  server = started
}

/** Resolves when the server has ended. */
function leave() {
  const leaving = server
  server = null
  if (leaving === null || leaving.exitCode !== null || leaving.signalCode !== null) return
  return new Promise((resolve) => {
    const impatience = setTimeout(() => leaving.kill('SIGTERM'), LEAVE_MS)
    leaving.on('exit', () => {
      clearTimeout(impatience)
      resolve(undefined)
    })
    leaving.kill('SIGTERM')
  })
}

function changed() {
  clearTimeout(settling)
  settling = setTimeout(() => {
    work = work.then(serveAnew)
  }, SETTLE_MS)
}

for (const folder of PRODUCT) watch(`${ROOT}${folder}`, { recursive: true }, changed)
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
  process.on(signal, () => {
    clearTimeout(settling)
    void work.then(leave).then(() => exit(0))
  })
}
process.on('exit', () => server?.kill('SIGTERM'))
changed()
