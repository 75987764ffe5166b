/** The command line of the trials. */
import { readFlags, UsageError } from '../harness/option-values.js'
import { CATALOGUE } from './catalogue.js'
import type { Trial } from './trial.js'

/** What the command line asks for. */
export type TrialsCommand =
  | { readonly kind: 'help' }
  | { readonly kind: 'list' }
  | {
      readonly kind: 'run'
      readonly trials: readonly Trial[]
      /** Null: each trial's own number. */
      readonly rounds: number | null
      readonly json: string | null
      /** The server to drive; null: the one that was built together with this program. */
      readonly server: string | null
    }

export const HELP = `node dist/bench/trials/run.js [options]

Drives the built server through robustness trials over real sockets.

  --trial a,b    only these trials (default: all; --list names them)
  --rounds n     rounds of each trial, 1 to 1000 (default: each trial's own)
  --json file    also write the figures to this file
  --server file  drive this server's main.js instead of the one built with this program
  --list         name the trials and leave
  --help         print this and leave

Exit code: 0 every bar met, 1 a bar missed or a trial broken, 2 bad options.
`

function chosenTrials(names: string | undefined): readonly Trial[] {
  if (names === undefined) return CATALOGUE
  return names.split(',').map((name) => {
    const trial = CATALOGUE.find((one) => one.name === name.trim())
    if (!trial) throw new UsageError(`unknown trial: ${JSON.stringify(name)}`)
    return trial
  })
}

function parseRounds(text: string | undefined): number | null {
  if (text === undefined) return null
  if (/^[1-9]\d{0,3}$/.test(text) && Number(text) <= 1_000) return Number(text)
  throw new UsageError(`--rounds has to be a whole number from 1 to 1000, not ${JSON.stringify(text)}`)
}

/** Reads the command line. Throws `UsageError`. */
export function readOptions(args: readonly string[]): TrialsCommand {
  const given = readFlags(args, 'trial rounds json server', 'list help')
  if (given.help) return { kind: 'help' }
  if (given.list) return { kind: 'list' }
  const { trial, rounds, json = null, server = null } = given
  return { kind: 'run', trials: chosenTrials(trial), rounds: parseRounds(rounds), json, server }
}
