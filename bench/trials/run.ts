/** The command line of the trials: runs the chosen ones, one after the other, and writes down what they found. */
import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { describeMachine } from '../harness/machine/machine.js'
import { onGeneratorCore, planCores } from '../harness/machine/pinning.js'
import { namesOption, readFlags, UsageError, wholeOption } from '../harness/option-values.js'
import { builtServer } from '../harness/project.js'
import { CATALOGUE, SUBJECTS } from './catalogue.js'
import { formatFinding, judgeTrial, type TrialFinding } from './findings.js'
import { Staging } from './staging.js'
import type { Trial, TrialOutcome } from './trial.js'

const HELP = `npm run trials -- [subject] [options]

Drives the built server through robustness trials over real sockets. Subjects: ${Object.keys(SUBJECTS).join(', ')};
without one, all of them.

  --trial a,b    only these trials (default: all of the subject; --list names them)
  --rounds n     rounds of each trial, 1 to 1000 (default: each trial's own)
  --json file    also write the figures to this file
  --server file  drive this server's main.js instead of the one built with this program
  --list         name the trials and leave
  --help         print this and leave

Exit code: 0 every bar met, 1 a bar missed or a trial broken, 2 bad options.
`

const NAMES = CATALOGUE.map(({ name }) => name)

type TrialsOptions = ReturnType<typeof readOptions>

/** Reads the command line. Throws `UsageError`. */
function readOptions(args: readonly string[]) {
  const [first = ''] = args
  if (first === 'help' || first === '-h') return readOptions(['--help'])
  const subject = first === '' || first.startsWith('-') ? null : first
  const given = readFlags(subject === null ? args : args.slice(1), 'trial rounds json server', 'list help')
  const names = given.trial === undefined ? namesOf(subject) : namesOption('trial', given.trial, NAMES)
  return {
    help: given.help,
    list: given.list,
    trials: names.map((name) => CATALOGUE[NAMES.indexOf(name)]!),
    /** Null: each trial's own number. */
    rounds: given.rounds === undefined ? null : wholeOption('rounds', given.rounds, 1, 1, 1_000),
    json: given.json ?? null,
    /** The server to drive; null: the one that was built together with this program. */
    server: given.server ?? null,
  }
}

/** The trials of a subject; all for null. Throws `UsageError`. */
function namesOf(subject: string | null): string[] {
  if (subject === null) return NAMES
  const own = Object.hasOwn(SUBJECTS, subject) ? SUBJECTS[subject] : undefined
  if (own !== undefined) return own.map(({ name }) => name)
  throw new UsageError(`unknown subject ${subject}; known are ${Object.keys(SUBJECTS).join(', ')}`)
}

function progress(line: string): void {
  process.stderr.write(`${line}\n`)
}

/** Nothing of this run stays on the machine, whichever way the process ends. */
function clearAtEnd(staging: Staging): void {
  process.on('exit', () => staging.clear())
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      progress(`${signal}: clearing up`)
      process.exit(1)
    })
  }
}

/** The trial is still running somewhere: nothing may be measured beside it. */
class TrialTimeout extends Error {}

/** Faults: NotFinished when the work takes longer than `limitS`, and the work's own. */
async function withTimeLimit(limitS: number, work: Promise<TrialOutcome>): Promise<TrialOutcome> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TrialTimeout(`not finished after ${limitS} s`)), limitS * 1_000)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}

async function runTrial(trial: Trial, request: TrialsOptions, staging: Staging): Promise<TrialFinding> {
  const { cores } = staging
  const rounds = request.rounds ?? trial.rounds
  const start = performance.now()
  const seconds = (): number => (performance.now() - start) / 1_000
  const context = { rounds, staging, cores, progress: (line: string) => progress(`${trial.name}: ${line}`) }
  progress(`${trial.name}: ${trial.summary}`)
  try {
    const work = trial.pinned ? onGeneratorCore(cores, () => trial.run(context)) : trial.run(context)
    const outcome = await withTimeLimit(60 + rounds * trial.roundLimitS, work)
    return judgeTrial(trial, rounds, seconds(), outcome)
  } catch (error) {
    return judgeTrial(trial, rounds, seconds(), error instanceof Error ? error : new Error(String(error)))
  } finally {
    staging.clear()
  }
}

async function runAll(request: TrialsOptions): Promise<boolean> {
  const cores = planCores()
  const staging = new Staging(request.server ?? builtServer(), cores)
  clearAtEnd(staging)
  if (!cores) progress('no taskset or a single core: server and generator share what there is')
  const machine = describeMachine(tmpdir())
  const started = new Date().toISOString()
  const findings: TrialFinding[] = []
  for (const trial of request.trials) {
    const finding = await runTrial(trial, request, staging)
    findings.push(finding)
    process.stdout.write(formatFinding(finding))
    if (finding.fault instanceof TrialTimeout) break
  }
  if (request.json !== null) {
    const pinned = cores !== null
    const record = {
      started,
      machine,
      pinned,
      findings: findings.map((one) => ({ ...one, fault: one.fault?.message ?? null })),
    }
    writeFileSync(request.json, `${JSON.stringify(record, null, 2)}\n`)
  }
  return findings.length === request.trials.length && findings.every((finding) => finding.passed)
}

const listLine = ({ name, summary }: Trial): string => `${name.padEnd(30)} ${summary}\n`

async function main(): Promise<number> {
  try {
    const request = readOptions(process.argv.slice(2))
    if (request.help) process.stdout.write(HELP)
    else if (request.list) process.stdout.write(request.trials.map(listLine).join(''))
    else return (await runAll(request)) ? 0 : 1
    return 0
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    process.stderr.write(`${error.message}\n\n${HELP}`)
    return 2
  }
}

// Findings are printed as they come: a reader who has gone wants no more of them; that is no failure.
process.stdout.on('error', () => process.exit(0))

process.exit(await main())
