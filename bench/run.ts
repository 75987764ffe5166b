/** `npm run bench`: runs the chosen scenarios against the built server, prints the report and keeps it. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describeMachine } from './harness/machine/machine.js'
import { UsageError } from './harness/option-values.js'
import { newReportFolder, reportName } from './harness/project.js'
import { LAB_COMMANDS, labCommandHelp } from './loadlab/lab-commands.js'
import { hasErrors, withCampaign } from './performance/campaign.js'
import { gateCommand } from './performance/gate.js'
import { type BenchOptions, readOptions, usage } from './performance/options.js'
import { quickTable } from './performance/quick-table.js'
import { type BenchReport, renderMarkdown, runRecord } from './performance/report.js'
import { type Scenario, scenarios } from './performance/scenarios.js'
import { summarize } from './performance/summary.js'

async function runBenchmark(args: readonly string[]): Promise<number> {
  const options = readOptions(args)
  if (options.help) return printText(usage(labCommandHelp()))
  if (options.list) return printText(scenarios.map(listLine).join(''))
  return await withCampaign(options, async (settings, measure) => {
    const machine = describeMachine(settings.tempFolder)
    const startedAt = new Date().toISOString()
    const rounds = await measure(options.scenarios)
    const summaries = scenarios.flatMap((scenario) => {
      const own = rounds[scenario.name]
      return own === undefined ? [] : [summarize(scenario, options.connections ?? scenario.connections, own)]
    })
    const run = runRecord(settings, args, startedAt, machine)
    writeReport({ run, scenarios: summaries, rounds }, options)
    return Object.values(rounds).flat().some(hasErrors) ? 1 : 0
  })
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

const listLine = ({ name, operation, note }: Scenario): string => `${name.padEnd(12)} ${operation}: ${note}\n`

function printText(text: string): number {
  process.stdout.write(text)
  return 0
}

/** A first argument that is no option is the gate, or a word of the lab. */
async function runCommand(args: readonly string[]): Promise<number> {
  const [first = 'help', ...rest] = args
  if (['help', '-h'].includes(first)) return printText(usage(labCommandHelp()))
  if (first.startsWith('-')) return await runBenchmark(args)
  if (first === 'gate') return await gateCommand(rest)
  const word = Object.hasOwn(LAB_COMMANDS, first) ? LAB_COMMANDS[first] : undefined
  if (word !== undefined) return await word.run(rest)
  throw new UsageError(`there is no '${first}'; there are gate, ${Object.keys(LAB_COMMANDS).join(', ')}`)
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
