/**
 * Runs the built test files, each in a process of its own, with tap as the runner:
 *
 *     node dist/test/run.js [unit|system] [part of a path …]
 *
 * A test belongs to `system` when it, or anything it imports, can start a process; the rest is `unit`. That is read
 * from the imports of the built files, so a test changes sides with what it does, wherever it stands. Without a
 * word both suites run. The files that took longest the last time start first, so that none is left alone at the end.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { t } from 'tap'

const HERE = dirname(fileURLToPath(import.meta.url))
const ROOT = join(HERE, '../..')
const DURATIONS = join(ROOT, '.tap/durations.json')
const TIMEOUT_S = 240
const STARTS_PROCESSES = new Set(['node:child_process', 'node:cluster'])
/** esbuild writes every import of a built file in this form. */
const IMPORTED = /\b(?:from|import)\s*\(?\s*"([^"]+)"/g

type Suite = 'unit' | 'system'

/** Modules by path: whether one can start a process, by itself or by what it imports. */
const known = new Map<string, boolean>()

function startsProcesses(path: string): boolean {
  const answer = known.get(path)
  if (answer !== undefined) return answer
  // Modules import each other in circles only for types, of which nothing is left here: the mark merely ends the walk.
  known.set(path, false)
  const imported = [...readFileSync(path, 'utf8').matchAll(IMPORTED)].map(([, name = '']) => name)
  const starts =
    imported.some((name) => STARTS_PROCESSES.has(name)) ||
    imported.some((name) => name.startsWith('.') && startsProcesses(join(dirname(path), name)))
  known.set(path, starts)
  return starts
}

/** A test that measures times says so in a line of its source, and comes last, when nothing else runs. */
function runsAlone(path: string): boolean {
  return /^\/\/ Runs alone: /m.test(
    readFileSync(join(ROOT, nameOf(path).replace(/^dist\/(.*)\.js$/, '$1.ts')), 'utf8'),
  )
}

const suiteOf = (path: string): Suite => (startsProcesses(path) ? 'system' : 'unit')

function durationsOfLastTime(): Record<string, number> {
  try {
    return JSON.parse(readFileSync(DURATIONS, 'utf8')) as Record<string, number>
  } catch {
    return {}
  }
}

function chosen(words: readonly string[]): string[] {
  const suite = words.find((word): word is Suite => word === 'unit' || word === 'system')
  const parts = words.filter((word) => word !== suite)
  return readdirSync(HERE, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.js'))
    .map((name) => join(HERE, name))
    .filter((path) => suite === undefined || suiteOf(path) === suite)
    .filter((path) => parts.length === 0 || parts.some((part) => path.includes(part)))
}

const durations = durationsOfLastTime()
const nameOf = (path: string): string => relative(ROOT, path)
/** A file nobody has timed yet starts before those that are known to be short, those with processes first. */
const expectedMs = (path: string): number =>
  durations[nameOf(path)] ?? (startsProcesses(path) ? 10_000 : 1_000)

function run(path: string): Promise<unknown> {
  return t.spawn(process.execPath, ['--enable-source-maps', path], {
    name: nameOf(path),
    cwd: ROOT,
    buffered: true,
    timeout: TIMEOUT_S * 1000,
    // The same for the clock that each file holds over itself.
    env: { ...process.env, TAP_TIMEOUT: String(TIMEOUT_S) },
  })
}

// Tests also wait: for disks, for processes, for deadlines. One more than there are cores keeps the cores busy.
t.jobs = availableParallelism() + 1
// The clock is held over each file, not over the whole.
t.setTimeout(0)
t.on('subtestEnd', ({ name, hrtime }) => {
  durations[name] = Number(hrtime / 1_000_000n)
})
t.teardown(() => {
  mkdirSync(dirname(DURATIONS), { recursive: true })
  writeFileSync(DURATIONS, `${JSON.stringify(durations, null, 1)}\n`)
})
const paths = chosen(process.argv.slice(2))
if (paths.length === 0) t.fail('no test file was chosen')
paths.sort((a, b) => expectedMs(b) - expectedMs(a))
await Promise.all(paths.filter((path) => !runsAlone(path)).map(run))
for (const path of paths.filter(runsAlone)) await run(path)
