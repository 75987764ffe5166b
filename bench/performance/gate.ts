/**
 * `npm run bench -- gate`: what a call costs in CPU against its floor in the same run, held against what was recorded.
 * The record is bench/cost-ratios.json, by name and family of the processor; `--record` writes the entry of this one. The
 * ratios of two processors, or of two versions of Node, differ by more than what is tolerated, so one that is not
 * recorded is told and holds nothing up.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { columnTable } from '../harness/figures/markdown.js'
import type { MedianInterval } from '../harness/figures/statistics.js'
import { describeMachine, describeSource } from '../harness/machine/machine.js'
import { readFlags } from '../harness/option-values.js'
import { PROJECT_FOLDER } from '../harness/project.js'
import { overRounds } from './bars.js'
import { hasErrors, withCampaign } from './campaign.js'
import type { RoundFigures } from './job.js'
import { readOptions } from './options.js'

const FILE = join(PROJECT_FOLDER, 'bench/cost-ratios.json')
/** A call may cost so much more than was recorded. */
const TOLERATED = 1.1
const SCENARIOS = ['get', 'chat'] as const
/** The range of six rounds is a 97 % interval; nine leave out one at each end. */
const ROUNDS = 6
const ROUNDS_AGAIN = 9
const ROUNDS_RECORDED = 12
const USAGE = `npm run bench -- gate [--record]

Measures the CPU time of ${SCENARIOS.join(' and ')} against the floor, and fails when one costs more than ${Math.round((TOLERATED - 1) * 100)} % over
what bench/cost-ratios.json says for this processor, with its whole interval and twice in a row. Where it says nothing
for this processor and this version of Node, the costs are told and nothing fails.

  --record   write what is measured into that file instead
  --help     print this text and leave
`

/** Our CPU per call over the floor's. */
interface RecordedCost {
  readonly median: number
  readonly low: number
  readonly high: number
}

interface ProcessorRecord {
  readonly node: string
  readonly revision: string
  readonly costs: Readonly<Record<string, RecordedCost>>
}

/** By name and family of processor. */
export type CostRecords = Readonly<Record<string, ProcessorRecord>>

/** Exit code: 0 when nothing costs too much, 1 when something does or a call failed. Throws `UsageError`. */
export async function gateCommand(args: readonly string[]): Promise<number> {
  const given = readFlags(args, '', 'record help')
  if (given.help === true) {
    process.stdout.write(USAGE)
    return 0
  }
  const quick = ['--duration', '1', '--warmup', '0']
  return await withCampaign(readOptions(quick), async ({ tempFolder }, measure) => {
    const { cpu, node } = describeMachine(tempFolder)
    const records = JSON.parse(readFileSync(FILE, 'utf8')) as CostRecords
    const costsOf = async (names: readonly string[], rounds: number): Promise<MeasuredCosts> => {
      const measured = await measure(names, rounds)
      if (Object.values(measured).flat().some(hasErrors))
        throw new Error('a call was not answered as it has to be')
      return Object.fromEntries(Object.entries(measured).map(([name, all]) => [name, costOver(all)]))
    }
    if (given.record === true) {
      const costs = await costsOf(SCENARIOS, ROUNDS_RECORDED)
      const { revision } = describeSource(PROJECT_FOLDER)
      const rounded = Object.fromEntries(
        Object.entries(costs).map(([name, cost]) => [name, roundedCost(cost)]),
      )
      const all: CostRecords = { ...records, [cpu]: { node, revision, costs: rounded } }
      writeFileSync(FILE, `${JSON.stringify(all, null, 2)}\n`)
      process.stdout.write(`${cpu}: ${JSON.stringify(rounded)}\n`)
      return 0
    }
    const record = recordFor(cpu, node, records)
    const first = judgeCosts(await costsOf(SCENARIOS, ROUNDS), record)
    process.stdout.write(`${costTable(first)}\n`)
    if (record === null) {
      process.stdout.write(
        `gate: nothing is recorded for ${cpu} with Node ${node}, so nothing is held against it\n`,
      )
      return 0
    }
    const dear = first.filter(({ tooDear }) => tooDear).map(({ name }) => name)
    if (dear.length === 0) return 0
    process.stdout.write(`gate: ${dear.join(' and ')} once more, to be sure\n`)
    const again = judgeCosts(await costsOf(dear, ROUNDS_AGAIN), record)
    process.stdout.write(`${costTable(again)}\n`)
    return again.some(({ tooDear }) => tooDear) ? 1 : 0
  })
}

type MeasuredCosts = Readonly<Record<string, MedianInterval>>

/** Throws when the system does not tell CPU times. */
function costOver(rounds: readonly RoundFigures[]): MedianInterval {
  const cost = overRounds(({ ours, floor }) => {
    if (ours.cpuUsPerRequest === null || !floor?.cpuUsPerRequest) return null
    return ours.cpuUsPerRequest / floor.cpuUsPerRequest
  }, rounds)
  if (cost === null) throw new Error('there is no /proc to read CPU times from')
  return cost
}

function roundedCost({ median, low, high }: MedianInterval): RecordedCost {
  const short = (value: number): number => Number(value.toFixed(3))
  return { median: short(median), low: short(low), high: short(high) }
}

/** What is recorded for this processor with this major version of Node; null when nothing is. */
export function recordFor(cpu: string, node: string, records: CostRecords): ProcessorRecord | null {
  const majorOf = (version: string): string => version.replace(/^v/, '').split('.')[0]!
  const record = Object.hasOwn(records, cpu) ? records[cpu]! : null
  return record !== null && majorOf(record.node) === majorOf(node) ? record : null
}

interface JudgedCost {
  readonly name: string
  readonly cost: MedianInterval
  /** Null where there is no record. */
  readonly recorded: RecordedCost | null
  readonly tooDear: boolean
  readonly cheaper: boolean
}

/** Too dear is what lies beyond the tolerated cost with its whole interval. Throws when a record leaves a name out. */
export function judgeCosts(costs: MeasuredCosts, record: ProcessorRecord | null): JudgedCost[] {
  return Object.entries(costs).map(([name, cost]) => {
    if (record === null) return { name, cost, recorded: null, tooDear: false, cheaper: false }
    const recorded = record.costs[name]
    if (recorded === undefined)
      throw new Error(`nothing is recorded for ${name}: npm run bench -- gate --record`)
    return {
      name,
      cost,
      recorded,
      tooDear: cost.low > recorded.median * TOLERATED,
      cheaper: cost.high < recorded.median / TOLERATED,
    }
  })
}

const costTable = (costs: readonly JudgedCost[]): string =>
  columnTable<JudgedCost>(
    [
      ["CPU per call over the floor's", ({ name }) => name],
      ['now', ({ cost }) => costText(cost)],
      ['recorded', ({ recorded }) => (recorded === null ? '–' : costText(recorded))],
      ['at most', ({ recorded }) => (recorded === null ? '–' : (recorded.median * TOLERATED).toFixed(2))],
      ['', verdictText],
    ],
    costs,
  )

function verdictText({ recorded, tooDear, cheaper }: JudgedCost): string {
  if (recorded === null) return 'not recorded'
  if (tooDear) return 'TOO DEAR'
  return cheaper ? 'ok, record it anew' : 'ok'
}

const costText = ({ median, low, high }: RecordedCost): string =>
  `${median.toFixed(2)} [${low.toFixed(2)}..${high.toFixed(2)}]`
