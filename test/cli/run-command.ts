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

async function captureRun(run: (print: PrintOutput) => Promise<number>): Promise<CommandRun> {
  const printed = { 1: '', 2: '' }
  const code = await run((fd, text) => {
    printed[fd] += text
  })
  return { code, stdout: printed[1], stderr: printed[2] }
}

/** `sluice keys` on the store in a folder. */
export function runKeys(dataDir: string, args: readonly string[]): Promise<CommandRun> {
  return captureRun((print) => keysCommand(args, async () => ({ dataDir }), print, new FakeClock()))
}

/** `sluice federation` on the store in a folder, with a text on standard input. */
export function runFederation(dataDir: string, args: readonly string[], input = ''): Promise<CommandRun> {
  const settings = {
    dataDir,
    host: '127.0.0.1',
    port: 8080,
    publicUrl: '',
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
