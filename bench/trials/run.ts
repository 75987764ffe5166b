import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { describeMachine } from '../harness/machine/machine.js'
import { onGeneratorCore, planCores } from '../harness/machine/pinning.js'
import { UsageError } from '../harness/option-values.js'
import { CATALOGUE } from './catalogue.js'
import { findingJson, formatFinding, judgeTrial, type TrialFinding } from './findings.js'
import { HELP, readOptions, type TrialsCommand } from './options.js'
import { Staging } from './staging.js'
import type { Trial, TrialOutcome } from './trial.js'

const BUILT_SERVER = fileURLToPath(new URL('../../src/main.js', import.meta.url))

type RunCommand = Extract<TrialsCommand, { kind: 'run' }>

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

async function runTrial(trial: Trial, request: RunCommand, staging: Staging): Promise<TrialFinding> {
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

async function runAll(request: RunCommand): Promise<boolean> {
  const cores = planCores()
  const staging = new Staging(request.server ?? BUILT_SERVER, cores)
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
    const record = { started, machine, pinned, findings: findings.map(findingJson) }
    writeFileSync(request.json, `${JSON.stringify(record, null, 2)}\n`)
  }
  return findings.length === request.trials.length && findings.every((finding) => finding.passed)
}

async function main(): Promise<number> {
  try {
    const request = readOptions(process.argv.slice(2))
    if (request.kind === 'help') process.stdout.write(HELP)
    else if (request.kind === 'list') {
      for (const trial of CATALOGUE) process.stdout.write(`${trial.name.padEnd(20)} ${trial.summary}\n`)
    } else return (await runAll(request)) ? 0 : 1
    return 0
  } catch (error) {
    if (!(error instanceof UsageError)) throw error
    process.stderr.write(`${error.message}\n\n${HELP}`)
    return 2
  }
}

process.exit(await main())
