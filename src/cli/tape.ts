/** `sluice tape`: how well a replayed tape resembles the recorded one, and when the calls of a trace came. */
import { readFileSync, statSync } from 'node:fs'
import { ARRIVAL_FORMATS, formatArrivals, isCounted, readArrivalsFile } from '../tape/arrivals.js'
import { compareTapes } from '../tape/fit.js'
import { LONGEST_TAPE, readTape, TapeDefect, type TapedStream } from '../tape/tape.js'
import {
  type CommandOutput,
  failCommand,
  failUsage,
  formatTable,
  type PrintOutput,
  parseCommandArgs,
  runCommand,
} from './command.js'

const USAGE = `usage: sluice tape fit RECORDED REPLAYED [--json]
       sluice tape arrivals FILE --as mooncake|azure

fit compares two tapes: times to the first token and gaps between events, in milliseconds, and how far their
distributions are apart (0 to 1). Streams that their readers held back are left out.
arrivals prints when the calls of FILE came and how long they were, as a Mooncake trace or as an Azure one; FILE is a
pace tape or either of the two, of 256 MiB (a tape 64 MiB) and 2 million calls at most. Calls whose question nobody has
counted are left out, and counted on standard error.

  --as FORMAT  mooncake (JSON lines) or azure (CSV)
  --json       the comparison as JSON
`

/** @returns the exit code: 0 when compared, 1 when a tape cannot be read, 2 when it was no command */
export function tapeCommand(args: readonly string[], print: PrintOutput): Promise<number> {
  return runCommand({ args, usage: USAGE, print }, () => {
    const options = { json: { type: 'boolean' }, as: { type: 'string' } } as const
    const { values, positionals } = parseCommandArgs('tape', args, options)
    const [word, ...files] = positionals
    if (word === 'arrivals' && files.length === 1) {
      if (values.json !== undefined) failUsage('--json is for fit: arrivals are told as --as says')
      return tellArrivals(files[0]!, values.as)
    }
    if (word !== 'fit' || files.length !== 2) failUsage('tape takes fit and two files, or arrivals and one')
    if (values.as !== undefined) failUsage('--as is for arrivals')
    return tellFit(files, values.json === true)
  })
}

function tellArrivals(file: string, as: string | undefined): CommandOutput {
  const format = ARRIVAL_FORMATS.find((one) => one === as)
  if (format === undefined) failUsage('--as must be mooncake or azure')
  const all = readWith(file, readArrivalsFile)
  const counted = all.filter(isCounted)
  const left = all.length - counted.length
  return {
    text: formatArrivals(counted, format),
    ...(left > 0 && {
      remark: `sluice: ${left} of ${all.length} calls left out: their questions are not counted\n`,
    }),
  }
}

function tellFit(files: readonly string[], isJson: boolean): CommandOutput {
  const [recorded, replayed] = files.map((file) => readWith(file, tapeOfFile))
  const fits = compareTapes(recorded!, replayed!)
  if (fits.length === 0) failCommand('there is nothing in both tapes that could be compared')
  if (isJson) return { text: `${JSON.stringify(fits, null, 2)}\n` }
  const rows = fits.map(({ kind, counts, p50, p99, distance }) => [
    ...[kind, counts.join(' / ')],
    ...[p50, p99].map((pair) => pair.map((ms) => ms.toFixed(1)).join(' / ')),
    distance.toFixed(4),
  ])
  return { text: formatTable([['', 'count', 'p50 ms', 'p99 ms', 'distance'], ...rows]) }
}

function tapeOfFile(path: string): TapedStream[] {
  if (statSync(path).size > LONGEST_TAPE) throw new TapeDefect('the tape has more than 64 MiB')
  return readTape(readFileSync(path, 'utf8'))
}

function readWith<T>(path: string, read: (path: string) => T): T {
  try {
    return read(path)
  } catch (error) {
    return failCommand(`${path}: ${error instanceof Error ? error.message : String(error)}`)
  }
}
