/** The command line of `npm run bench -- compare`. */
import { namesOption, readFlags, UsageError, wholeOption } from '../../harness/option-values.js'
import { TOOLS } from '../tools/catalogue.js'
import { DEFAULT_CONTROL, DEFAULT_ORIGIN } from './lab-server.js'
import { COMPARE_SCENARIOS } from './scenarios.js'

export type CompareOptions = NonNullable<ReturnType<typeof readCompareOptions>>

export const compareUsage = `npm run bench -- compare [options]

Which load tool can be believed, and why: runs every installed tool against the server that knows what really happened.
Starts a server of its own on one core and keeps the tools to another, unless --target or --control name one that runs.

  --quick              one round and short runs, done in about six minutes; a first impression, no result
  --rounds n           rounds, every tool once in each, in random order (default 6, the least that gives an interval)
  --tools a,b          only these (default: all that are installed): ${TOOLS.map(({ name }) => name).join(', ')}
  --scenario a,b       only these (default: all; streams not with --quick, nor with --target):
                       ${COMPARE_SCENARIOS.map(({ name }) => name).join(', ')}
  --no-sweep           leave out the sweep of rising rates at the end
  --seed n             of the order and of the moment of the outage (default: from the clock; it is printed)
  --target url         a server that runs with --lab, instead of one of its own (with --control: ${DEFAULT_ORIGIN}).
                       On two cores start it with: taskset -c 0 npm start -- --lab
  --control url        its control listener (with --target: ${DEFAULT_CONTROL})

Exit codes: 0 when a report was written, 1 when not, 2 for a bad option, 130 when interrupted (what was measured by then is
reported and marked).
`

/** Reads the arguments behind the word; null asks for help. Throws `UsageError`. */
export function readCompareOptions(args: readonly string[], now = Date.now()) {
  const given = readFlags(args, 'rounds tools scenario seed target control', 'quick no-sweep help')
  if (given.help) return null
  const quick = given.quick ?? false
  const known = TOOLS.map(({ name }) => name)
  const scenarios = COMPARE_SCENARIOS.map(({ name }) => name)
  return {
    quick,
    rounds: wholeOption('rounds', given.rounds, quick ? 1 : 6, 1, 100),
    tools: given.tools === undefined ? known : namesOption('tools', given.tools, known),
    /** The caller named them, so a missing one is a mistake. */
    toolsAsked: given.tools !== undefined,
    scenarios: given.scenario === undefined ? scenarios : namesOption('scenario', given.scenario, scenarios),
    seed: wholeOption('seed', given.seed, now % 1_000_000, 0, 1_000_000_000),
    sweep: !(given['no-sweep'] ?? false),
    /** Null: one is started for the comparison. */
    running:
      given.target === undefined && given.control === undefined
        ? null
        : {
            origin: originOption('target', given.target, DEFAULT_ORIGIN),
            control: originOption('control', given.control, DEFAULT_CONTROL),
          },
  }
}

function originOption(name: string, text: string | undefined, fallback: string): string {
  if (text === undefined) return fallback
  if (URL.canParse(text) && new URL(text).protocol === 'http:') return new URL(text).origin
  throw new UsageError(`--${name} needs an address such as ${fallback}, not '${text}'`)
}
