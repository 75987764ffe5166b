/** `npm run bench`: runs the chosen scenarios against the built server, prints the report and keeps it. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describeMachine, describeSource } from './harness/machine/machine.js'
import { planPinning } from './harness/machine/pinning.js'
import { UsageError } from './harness/option-values.js'
import { Progress } from './harness/progress.js'
import { builtServer, newReportFolder, openWorkplace, PROJECT_FOLDER, reportName } from './harness/project.js'
import type { ChildProcesses } from './harness/server/child-processes.js'
import { LAB_COMMANDS, labCommandHelp } from './loadlab/lab-commands.js'
import { plannedSeconds, runScenario } from './performance/campaign.js'
import { wrkVersion } from './performance/drive-wrk.js'
import { installPeer } from './performance/gateway/peer.js'
import { errorTotal, type RoundFigures } from './performance/job.js'
import { type BenchOptions, readOptions, usage } from './performance/options.js'
import { quickTable } from './performance/quick-table.js'
import { type BenchReport, renderMarkdown, runRecord } from './performance/report.js'
import { type Scenario, scenarios } from './performance/scenarios.js'
import { type ScenarioSummary, summarize } from './performance/summary.js'

const INTERRUPTED = 130

async function runBenchmark(args: readonly string[]): Promise<number> {
  const options = readOptions(args)
  if (options.help) return printText(usage(labCommandHelp()))
  if (options.list) return printText(scenarios.map(listLine).join(''))
  const toolVersion = generatorVersion(options)
  const serverProgram = builtServer()
  const { tempFolder, children } = openWorkplace('bench')
  // Children keep their own temporary files in there too, so one removal leaves nothing behind.
  process.env.TMPDIR = tempFolder
  stopOnSignal(children)
  try {
    const pinning = planPinning(options.workers)
    const peerProgram = options.peer ? installPeer() : null
    const settings = { ...options, toolVersion, pinning, serverProgram, tempFolder, peerProgram }
    const chosen = scenarios.filter((scenario) => options.scenarios.includes(scenario.name))
    const machine = describeMachine(tempFolder)
    const startedAt = new Date().toISOString()
    const total = chosen.reduce((sum, scenario) => sum + plannedSeconds(scenario, settings), 0)
    const progress = new Progress(total, process.stderr)
    const summaries: ScenarioSummary[] = []
    const rounds: Record<string, RoundFigures[]> = {}
    for (const scenario of chosen) {
      const measured = await runScenario({ scenario, settings, children }, progress)
      rounds[scenario.name] = measured
      summaries.push(summarize(scenario, options.connections ?? scenario.connections, measured))
    }
    progress.clear()
    const run = runRecord(settings, args, startedAt, machine)
    writeReport({ run, scenarios: summaries, rounds }, options)
    return Object.values(rounds).flat().some(hasErrors) ? 1 : 0
  } finally {
    await children.stopAll()
  }
}

/** The generator with its version, as the report names it. Throws `UsageError` when it is not installed. */
function generatorVersion(options: BenchOptions): string {
  if (options.generator === 'autocannon') {
    return `autocannon ${describeSource(PROJECT_FOLDER).libraries.autocannon ?? ''}, latencies from its response event`
  }
  const version = wrkVersion()
  if (version === null) throw new UsageError('--generator wrk: there is no wrk on the PATH')
  return version
}

/** Prints the report and writes it to bench/reports and, when asked, to a file of the caller's choice. */
function writeReport(report: BenchReport, options: BenchOptions): void {
  const markdown = renderMarkdown(report)
  const json = `${JSON.stringify(report)}\n`
  const name = reportName(report.run.startedAt)
  const folder = newReportFolder(name)
  writeFileSync(join(folder, 'results.json'), json)
  writeFileSync(join(folder, 'report.md'), markdown)
  if (options.jsonFile !== null) writeFileSync(options.jsonFile, json)
  const printed = options.quick ? `${quickTable(report.scenarios, report.run.peer)}\n` : markdown
  process.stdout.write(`${printed}\nkept in bench/reports/${name}\n`)
}

/** A round without a single reply is as little a result as one with failures. */
function hasErrors({ ours, floor, peer, solo }: RoundFigures): boolean {
  if (ours.completed === 0) return true
  return [ours, floor, peer, solo].some((side) => side !== null && errorTotal(side) > 0)
}

const listLine = ({ name, operation, note }: Scenario): string => `${name.padEnd(12)} ${operation}: ${note}\n`

function printText(text: string): number {
  process.stdout.write(text)
  return 0
}

function stopOnSignal(children: ChildProcesses): void {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => {
      process.stderr.write('\nbench: interrupted, stopping what was started\n')
      void children.stopAll().finally(() => process.exit(INTERRUPTED))
    })
  }
}

/** A first argument that is no option is a word of the lab. */
async function runCommand(args: readonly string[]): Promise<number> {
  const [first = 'help', ...rest] = args
  if (['help', '-h'].includes(first)) return printText(usage(labCommandHelp()))
  if (first.startsWith('-')) return await runBenchmark(args)
  const word = Object.hasOwn(LAB_COMMANDS, first) ? LAB_COMMANDS[first] : undefined
  if (word !== undefined) return await word.run(rest)
  throw new UsageError(`there is no '${first}'; there are ${Object.keys(LAB_COMMANDS).join(', ')}`)
}

runCommand(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error: unknown) => {
    const usageFault = error instanceof UsageError
    process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`)
    if (usageFault) process.stderr.write('see npm run bench -- --help\n')
    process.exit(usageFault ? 2 : 1)
  },
)
