import type { PrintOutput } from '../../src/cli/command.js'
import type { FederationCommandSettings } from '../../src/compose/commands.js'

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

/** Settings of `sluice federation` for the store in a folder. */
export function federationSettings(dataDir: string): FederationCommandSettings {
  return {
    dataDir,
    host: '127.0.0.1',
    port: 8080,
    publicUrl: '',
    tlsKey: '',
    logLevel: 'error',
    hashQueueRounds: 4_000_000,
    allowLoopbackIssuers: true,
    signingKeyDays: 30,
  }
}
