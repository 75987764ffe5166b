import { systemClock } from '../../src/base/clock.js'
import type { PrintOutput } from '../../src/cli/command.js'
import { federationCommand } from '../../src/cli/federation.js'
import { keysCommand } from '../../src/cli/keys.js'
import { FakeClock } from '../support/timing/fake-clock.js'

/** What a command has printed, and its exit code. */
export interface CommandRun {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export async function captureRun(run: (print: PrintOutput) => Promise<number>): Promise<CommandRun> {
  const printed = { 1: '', 2: '' }
  const code = await run((fd, text) => {
    printed[fd] += text
  })
  return { code, stdout: printed[1], stderr: printed[2] }
}

const STALENESS_MS = 10_000

/** `sluice keys` on the store in a folder, or on the database that machines share. */
export function runKeys(dataDir: string, args: readonly string[], databaseUrl = ''): Promise<CommandRun> {
  const settings = { dataDir, databaseUrl, fleetStalenessMs: STALENESS_MS }
  const clock = databaseUrl === '' ? new FakeClock() : systemClock
  return captureRun((print) => keysCommand(args, async () => settings, print, clock))
}

/** `sluice federation` on the store in a folder, with a text on standard input. */
export function runFederation(dataDir: string, args: readonly string[], input = ''): Promise<CommandRun> {
  const settings = {
    dataDir,
    databaseUrl: '',
    fleetStalenessMs: STALENESS_MS,
    host: '127.0.0.1',
    port: 8080,
    publicUrl: '',
    sealingKeyFile: '',
    tlsKey: '',
    logLevel: 'error',
    hashQueueRounds: 4_000_000,
    allowLoopbackIssuers: true,
    signingKeyDays: 30,
  } as const
  return captureRun((print) =>
    federationCommand(args, async () => settings, { print, readInput: () => input }),
  )
}
