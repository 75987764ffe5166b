/** `sluice tape fit`: how well a replayed tape resembles the recorded one. */
import { readFileSync } from 'node:fs'
import { compareTapes } from '../tape/fit.js'
import { readTape, TapeDefect, type TapedStream } from '../tape/tape.js'
import {
  failCommand,
  failUsage,
  formatTable,
  type PrintOutput,
  parseCommandArgs,
  runCommand,
} from './command.js'

const USAGE = `usage: sluice tape fit RECORDED REPLAYED [--json]

Compares two tapes: times to the first token and gaps between events, in milliseconds, and how far their
distributions are apart (0 to 1). Streams that their readers held back are left out.
`

/** @returns the exit code: 0 when compared, 1 when a tape cannot be read, 2 when it was no command */
export function tapeCommand(args: readonly string[], print: PrintOutput): Promise<number> {
  return runCommand({ args, usage: USAGE, print }, () => {
    const { values, positionals } = parseCommandArgs('tape', args, { json: { type: 'boolean' } })
    const [word, ...files] = positionals
    if (word !== 'fit' || files.length !== 2) failUsage('tape takes fit and two files')
    const [recorded, replayed] = files.map(readTapeFile)
    const fits = compareTapes(recorded!, replayed!)
    if (fits.length === 0) failCommand('there is nothing in both tapes that could be compared')
    if (values.json === true) return { text: `${JSON.stringify(fits, null, 2)}\n` }
    const rows = fits.map(({ kind, counts, p50, p99, distance }) => [
      ...[kind, counts.join(' / ')],
      ...[p50, p99].map((pair) => pair.map((ms) => ms.toFixed(1)).join(' / ')),
      distance.toFixed(4),
    ])
    return { text: formatTable([['', 'count', 'p50 ms', 'p99 ms', 'distance'], ...rows]) }
  })
}

function readTapeFile(path: string): TapedStream[] {
  try {
    return readTape(readFileSync(path, 'utf8'))
  } catch (error) {
    const why = error instanceof TapeDefect || error instanceof Error ? error.message : String(error)
    return failCommand(`${path}: ${why}`)
  }
}
