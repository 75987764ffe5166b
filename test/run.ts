/**
 * Runs the built test files with tap as the runner:
 *
 *     node dist/test/run.js [--fleet [--pgbouncer] | --apart-from-fleet] [--shared] [unit|system|clients …] [part of a path …]
 *
 * `clients` is the folder of that name: programs that nobody here wrote, and whose versions of Node are their own
 * affair. Any other test belongs to `system` when it, or anything it imports, can start a process; the rest is `unit`.
 * That is read from the imports of the built files, so a test changes sides with what it does, wherever it stands.
 * Without such a word all suites run. A file of `system` has a process of its own, files of `unit` share one with others of their
 * folder, unless a line of their source says `// Runs in a process of its own: …` or, which is last and with nothing
 * beside it, `// Runs alone: …`. What took longest the last time starts first, so that none is left at the end.
 *
 * `--fleet` runs the tests that ask a server over the wire, and them alone, with three machines on one PostgreSQL in the
 * place of each server; `--pgbouncer` puts a pooler in transaction mode between. `SLUICE_TEST_DATABASE_URL` names a
 * PostgreSQL that runs; without it the run has a cluster of its own. `--apart-from-fleet` runs all but these tests, and
 * with one machine. `--shared` leaves it, for both, at the tests of what the machines of a fleet share.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { t } from 'tap'
import { isOfFleet, startFleetStore } from './fleet-run.js'

const FLAGS = ['--fleet', '--pgbouncer', '--apart-from-fleet', '--shared']

const words = process.argv.slice(2)
const flags = words.filter((word) => word.startsWith('--'))
const isFleet = flags.includes('--fleet')
/** Whether the tests that run on a fleet are the only ones, or left out; null when nothing is said of them. */
const fleetOnly = isFleet || (flags.includes('--apart-from-fleet') ? false : null)

const HERE = dirname(fileURLToPath(import.meta.url))
const ROOT = join(HERE, '../..')
const DURATIONS = join(ROOT, isFleet ? '.tap/durations-fleet.json' : '.tap/durations.json')
/** Several times what the longest file takes on a quiet machine: it ends what hangs, and judges no speed. */
const TIMEOUT_S = 480
/** Who imports it can run on a fleet. */
const FLEET_DATABASE = join(HERE, 'support/servers/fleet-database.js')
/** Few enough that the processes end at about the same time. */
const MOST_TOGETHER = 8
const STARTS_PROCESSES = new Set(['node:child_process', 'node:cluster'])
/** esbuild writes every import of a built file in this form. */
const IMPORTED = /\b(?:from |import |import\()"([^"]+)"/g

const SUITES = ['unit', 'system', 'clients'] as const
type Suite = (typeof SUITES)[number]

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

function suiteOf(path: string): Suite {
  if (path.startsWith(join(HERE, 'clients/'))) return 'clients'
  return startsProcesses(path) ? 'system' : 'unit'
}

function durationsOfLastTime(): Record<string, number> {
  try {
    return JSON.parse(readFileSync(DURATIONS, 'utf8')) as Record<string, number>
  } catch {
    return {}
  }
}

function chosen(words: readonly string[]): string[] {
  const isSuite = (word: string): boolean => (SUITES as readonly string[]).includes(word)
  const suites = words.filter(isSuite)
  const parts = words.filter((word) => !isSuite(word))
  return readdirSync(HERE, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.js'))
    .map((name) => join(HERE, name))
    .filter((path) => suites.length === 0 || suites.includes(suiteOf(path)))
    .filter((path) => parts.length === 0 || parts.some((part) => path.includes(part)))
    .filter(
      (path) =>
        fleetOnly === null ||
        fleetOnly ===
          isOfFleet(relative(HERE, path), reaches(path, FLEET_DATABASE), flags.includes('--shared')),
    )
}

/** Whether a file imports another, itself or by what it imports. */
function reaches(path: string, other: string, seen = new Set<string>()): boolean {
  if (path === other) return true
  if (seen.has(path)) return false
  seen.add(path)
  const imported = [...readFileSync(path, 'utf8').matchAll(IMPORTED)].map(([, name = '']) => name)
  return imported.some((name) => name.startsWith('.') && reaches(join(dirname(path), name), other, seen))
}

const nameOf = (path: string): string => relative(ROOT, path)

/** What one process runs. */
interface Job {
  readonly name: string
  readonly paths: readonly string[]
  readonly alone: boolean
}

/** How a file wants to be run, as its source says. */
function wishOf(path: string): 'alone' | 'in a process of its own' | 'with others' {
  const source = readFileSync(join(ROOT, nameOf(path).replace(/^dist\/(.*)\.js$/, '$1.ts')), 'utf8')
  const wish = /^\/\/ Runs (alone|in a process of its own): /m.exec(source)?.[1] as 'alone' | undefined
  return wish ?? (startsProcesses(path) ? 'in a process of its own' : 'with others')
}

function jobsOf(paths: readonly string[]): Job[] {
  const jobs: Job[] = []
  const shared = new Map<string, string[]>()
  for (const path of paths) {
    const wish = wishOf(path)
    const folder = dirname(path)
    if (wish === 'with others') shared.set(folder, [...(shared.get(folder) ?? []), path])
    else jobs.push({ name: nameOf(path), paths: [path], alone: wish === 'alone' })
  }
  for (const [folder, all] of shared) {
    for (let from = 0; from < all.length; from += MOST_TOGETHER) {
      const together = all.slice(from, from + MOST_TOGETHER)
      const of = all.length > MOST_TOGETHER ? `, from ${basename(together[0]!)} on` : ''
      const name =
        together.length === 1 ? nameOf(together[0]!) : `${nameOf(folder)}: ${together.length} files${of}`
      jobs.push({ name, paths: together, alone: false })
    }
  }
  return jobs
}

const durations = durationsOfLastTime()
/** What nobody has timed yet starts before what is known to be short, tests with processes first. */
const expectedMs = ({ name, paths }: Job): number =>
  durations[name] ?? (startsProcesses(paths[0]!) ? 10_000 : 1_000 * paths.length)

// The server takes a variable with this beginning that is no setting for a slip of the pen.
const { SLUICE_TEST_DATABASE_URL: _, ...ENVIRONMENT } = process.env

function run({ name, paths }: Job): Promise<unknown> {
  const program = paths.length === 1 ? paths : [join(HERE, 'run-files.js'), ...paths]
  return t.spawn(process.execPath, ['--enable-source-maps', ...program], {
    name,
    cwd: ROOT,
    buffered: true,
    timeout: TIMEOUT_S * 1000,
    // The same for the clock that each process holds over itself.
    env: { ...ENVIRONMENT, TAP_TIMEOUT: String(TIMEOUT_S), TEST_FLEET_DATABASE_URL: fleetStore },
  })
}

// Tests also wait: for disks, for processes, for deadlines. One more than there are cores keeps the cores busy.
t.jobs = availableParallelism() + 1
// The clock is held over each process, not over the whole.
t.setTimeout(0)
t.on('subtestEnd', ({ name, hrtime }) => {
  durations[name] = Number(hrtime / 1_000_000n)
})
t.teardown(() => {
  mkdirSync(dirname(DURATIONS), { recursive: true })
  writeFileSync(DURATIONS, `${JSON.stringify(durations, null, 1)}\n`)
})
if (flags.some((flag) => !FLAGS.includes(flag))) t.bailout(`known are ${FLAGS.join(', ')}`)
const fleetStore = isFleet ? await startFleetStore(t, flags.includes('--pgbouncer')) : ''
const paths = chosen(words.filter((word) => !word.startsWith('--')))
if (paths.length === 0) t.fail('no test file was chosen')
const jobs = jobsOf(paths).sort((a, b) => expectedMs(b) - expectedMs(a))
await Promise.all(jobs.filter(({ alone }) => !alone).map(run))
for (const job of jobs.filter(({ alone }) => alone)) await run(job)
