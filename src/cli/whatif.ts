/** `sluice whatif`: what calls of the ledger would have come to under another configuration. */
import { readFileSync } from 'node:fs'
import { Fault } from '../base/fault.js'
import { type ReadableLedger, withLedger } from '../compose/command-ledger.js'
import { askWhatIf, readSupposedCatalog } from '../compose/what-if.js'
import { type Config, InvalidConfigError } from '../config/config.js'
import { readConfigFile } from '../config/config-file.js'
import { NO_SUPPOSED_LIMITS, type SupposedLimits } from '../gateway/what-if/limits.js'
import { AMBIGUOUS, type WhatIfReport } from '../gateway/what-if/report.js'
import { SupposedLimitsIn, toSupposedLimits } from '../gateway/what-if/supposed-limits.js'
import { REPLICATES } from '../gateway/what-if/what-if.js'
import { whatIfAnswer } from '../gateway/what-if/wire.js'
import {
  type CommandOutput,
  failCommand,
  failUsage,
  type PrintOutput,
  parseCommandArgs,
  runCommand,
} from './command.js'
import { refuseSettings } from './fleet-access.js'
import { formatWhatIf } from './whatif/whatif-report.js'

const USAGE = `usage: sluice whatif --since TIME --config FILE [options]

Plans every call of the ledger again under the prices, endpoints and routing of FILE, and tells what they would have
cost, how long they would have taken and which would have been refused, each figure with the range in which it lies
with 95 % certainty. Nobody is called. A call is exact (it stays where it was), estimated (it goes elsewhere, and calls
of that endpoint are known) or unknown (nothing is known; no figure holds it).

  --since TIME    a day, a date-time with a zone, or an age such as 90m, 24h or 7d
  --until TIME    the same; now when absent
  --config FILE   the configuration that is tried out; credentials it names need not be there
  --limits FILE   limits that are tried out: keys and organizations, as docs/guide/what-if.md shows
  --history AGE   how long before --since calls tell of endpoints; 7d when absent
  --seed N        of the draws, 1 when absent: the same seed gives the same figures
  --json          as JSON
`

const DAY_MS = 24 * 60 * 60 * 1000
const PROGRESS_MS = 2_000
const LARGEST_SEED = 2 ** 32 - 1

/** @returns the exit code: 0 when told, 1 when it cannot be, 2 when it was no command or a file is wrong */
export function whatIfCommand(
  args: readonly string[],
  settings: () => Promise<Config>,
  print: PrintOutput,
): Promise<number> {
  return runCommand({ args, usage: USAGE, print }, async (): Promise<CommandOutput> => {
    const text = { type: 'string' } as const
    const options = {
      ...{ since: text, until: text, config: text, limits: text, history: text, seed: text },
      json: { type: 'boolean' },
    } as const
    const { values } = parseCommandArgs('whatif', args, options, false)
    const { config: file, since: sinceText } = values
    if (file === undefined || sinceText === undefined) return failUsage('whatif needs --since and --config')
    const now = Date.now()
    const since = readTime('since', sinceText, now)
    const until = values.until === undefined ? now : readTime('until', values.until, now)
    if (since >= until) failUsage('--since must be before --until')
    const question = {
      ...{ since, until, replicates: REPLICATES, seed: readSeed(values.seed) },
      historySince: Math.max(0, since - readAge('history', values.history ?? '7d')),
      limits: values.limits === undefined ? NO_SUPPOSED_LIMITS : readLimits(values.limits),
      ...readCatalog(file),
      scope: { organizationId: null, only: null },
    }
    const config = await settings()
    const report = (await withLedgerOf(config, (ledger) => askWhatIf(ledger, question, progressTo(print))))!
    refuseAmbiguous(report, values.limits)
    const answer = whatIfAnswer(report, { ...question, ledgerDays: config.ledgerDays })
    return { text: values.json === true ? `${JSON.stringify(answer, null, 2)}\n` : formatWhatIf(answer) }
  })
}

/** Whose limits are meant cannot be told. */
function refuseAmbiguous({ limits }: WhatIfReport, file: string | undefined): void {
  const [entry] = limits.ambiguous
  if (entry !== undefined) failUsage(`${file}: ${entry}: ${AMBIGUOUS}`)
}

async function withLedgerOf<T>(config: Config, run: (ledger: ReadableLedger) => Promise<T>): Promise<T> {
  try {
    return await withLedger(config, run)
  } catch (error) {
    if (error instanceof InvalidConfigError) return refuseSettings(error) as never
    if (error instanceof Fault) return failCommand(error.detail ?? error.kind)
    throw error
  }
}

/** A long reading says every two seconds how far it is. */
function progressTo(print: PrintOutput): (done: number, all: number) => void {
  let told = performance.now()
  return (done, all) => {
    if (performance.now() - told < PROGRESS_MS) return
    told = performance.now()
    print(2, `${done} of about ${Math.max(done, all)} calls\n`)
  }
}

// ── Options and files ────────────────────────────────────────────────────────

const AGE = /^(\d{1,6})([mhd])$/
const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: DAY_MS }
const TIME = /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/

function readAge(name: string, text: string): number {
  const [, count, unit] = AGE.exec(text) ?? []
  if (count === undefined) return failUsage(`--${name} must be an age such as 90m, 24h or 7d`)
  return Number(count) * UNITS[unit!]!
}

function readTime(name: string, text: string, now: number): number {
  if (AGE.test(text)) return Math.max(0, now - readAge(name, text))
  const at = TIME.test(text) ? Date.parse(text) : Number.NaN
  if (at >= 0) return at
  return failUsage(`--${name} must be a day, a date-time with a zone, or an age such as 24h`)
}

function readSeed(text = '1'): number {
  const seed = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN
  return seed <= LARGEST_SEED ? seed : failUsage(`--seed must be a whole number from 0 to ${LARGEST_SEED}`)
}

function readCatalog(file: string) {
  const read = readSupposedCatalog(readText(file), true)
  if ('catalog' in read) return read
  return failUsage(read.faults.map((fault) => `${file}: ${fault}`).join('\n'))
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    return failUsage(`${file}: ${error instanceof Error ? error.message : String(error)}`)
  }
}

function readLimits(file: string): SupposedLimits {
  const { content, problem } = readConfigFile(file)
  if (problem !== null) return failUsage(`${file}: ${problem}`)
  const checked = SupposedLimitsIn.safeParse(content)
  if (checked.success) return toSupposedLimits(checked.data)
  return failUsage(
    checked.error.issues
      .map((issue) => {
        const [inner] = issue.code === 'invalid_key' ? issue.issues : []
        return `${file}: ${issue.path.join('.')}: ${inner?.message ?? issue.message}`
      })
      .join('\n'),
  )
}
