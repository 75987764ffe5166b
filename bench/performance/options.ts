/** The command line of `npm run bench`. */

import {
  namesOption,
  numberOption as number,
  readFlags,
  UsageError,
  wholeOption as whole,
} from '../harness/option-values.js'
import { wrkVersion } from './drive-wrk.js'
import type { GeneratorName } from './job.js'
import { QUICK_SCENARIOS } from './quick-table.js'
import { scenarios } from './scenarios.js'

export type BenchOptions = ReturnType<typeof readOptions>

/** The help text, with the lines of the lab's words. */
export const usage = (wordLines: string): string => `npm run bench -- [options]
npm run bench -- <word> [options]

Drives the built server with a load generator and compares it with a bare floor, in interleaved rounds.
Without an option or a word it prints this: all scenarios take about an hour.

The gateway's scenarios (chat, stream-16, stream-64, stream-1000, paced, latency) stand before a mock upstream; their floor is
a bare relay, and their streams are driven by a driver of our own that checks every event.
Token exchanges (exchange-rs256, exchange-es256) are held against bare jose in one thread, and chat-token,
which calls with an access token, against the same calls with a key. The messages endpoint (messages-same and
messages-translated, and with -64 streamed) is held against the chat endpoint.

  --quick              reads, chat, streams and added latency beside floor and peer, in two minutes, as one table
  --all                run all scenarios
  --scenario a,b       scenarios to run (all where only other options are given; see --list)
  --duration s         measured seconds per side and round (default 3)
  --warmup s           seconds of load before the measurement (default 1)
  --rounds n           rounds, each with floor and server in alternating order (default 12)
  --connections n      connections, instead of the scenario's own number
  --generator name     autocannon (default) or wrk, when it is installed
  --workers n          worker processes of the server (default 1)
  --peer               gateway scenarios: also run another gateway from the registry, installed on first use
  --json file          also write the JSON results to this file
  --list               list the scenarios and leave
  --help               print this text and leave

Words, each with a --help of its own:
  gate           fails when a call costs over a tenth more than was recorded
${wordLines}
Trials: node dist/bench/trials/run.js --help

Exit codes: 0 when every reply was good, 1 when any was not or the run failed, 2 for a bad option.
`

/** Twelve rounds give an interval that leaves out two at each end. */
const FULL = { duration: 3, warmup: 1, rounds: 12 }
const QUICK = { duration: 1, warmup: 0, rounds: 3 }

/** Reads the arguments after the program name. Throws `UsageError` for anything unknown or out of range. */
export function readOptions(args: readonly string[]) {
  const given = readFlags(
    args,
    'scenario duration warmup rounds connections generator workers json',
    'peer list help all quick',
  )
  if (given.all === true && given.scenario !== undefined) {
    throw new UsageError('--all and --scenario: one of them says which scenarios')
  }
  const quick = given.quick ?? false
  const usual = quick ? QUICK : FULL
  return {
    scenarios: scenarioNames(given.scenario ?? (quick ? QUICK_SCENARIOS.join(',') : undefined)),
    durationSeconds: number('duration', given.duration, usual.duration, 0.5, 600),
    warmupSeconds: number('warmup', given.warmup, usual.warmup, 0, 600),
    rounds: whole('rounds', given.rounds, usual.rounds, 1, 100),
    connections:
      given.connections === undefined ? null : whole('connections', given.connections, 1, 1, 10_000),
    generator: tool(given.generator ?? (quick && wrkVersion() !== null ? 'wrk' : undefined)),
    workers: whole('workers', given.workers, 1, 1, 64),
    /** Whether another gateway runs beside ours in the gateway's scenarios. */
    peer: given.peer ?? quick,
    /** Whether the short table is printed. */
    quick,
    jsonFile: given.json ?? null,
    list: given.list ?? false,
    help: given.help ?? false,
  }
}

function scenarioNames(text: string | undefined): string[] {
  const known = scenarios.map((scenario) => scenario.name)
  if (text === undefined) return known
  const wanted = namesOption('scenario', text, known)
  return known.filter((name) => wanted.includes(name))
}

function tool(text: string | undefined): GeneratorName {
  if (text === undefined || text === 'autocannon') return 'autocannon'
  if (text === 'wrk') return 'wrk'
  throw new UsageError(`--generator is autocannon or wrk, not '${text}'`)
}
