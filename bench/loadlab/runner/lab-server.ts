/** The server in the lab: one that already runs, or one started here on a core of its own. */
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import type { Pinning } from '../../harness/machine/pinning.js'
import { UsageError } from '../../harness/option-values.js'
import { builtServer } from '../../harness/project.js'
import { type ChildProcesses, freePort } from '../../harness/server/child-processes.js'
import { LabControl } from './control.js'

export const DEFAULT_ORIGIN = 'http://127.0.0.1:8080'
export const DEFAULT_CONTROL = 'http://127.0.0.1:8081'

export interface LabServer {
  readonly origin: string
  readonly control: LabControl
  /** Null: it was not started here. */
  readonly pids: readonly number[] | null
  readonly argv: readonly string[]
  readonly workers: number
  /** Of its gateway; null: not known. */
  readonly key: string | null
  stop(): Promise<unknown>
}

/** The server whose control listener is at `controlOrigin`. Throws when nobody answers there. */
export async function runningServer(origin: string, controlOrigin: string): Promise<LabServer> {
  const control = new LabControl(controlOrigin)
  if (!(await control.answers()))
    throw new UsageError(`--control: no lab answers at ${controlOrigin}; start the server with --lab`)
  return {
    origin,
    control,
    pids: null,
    argv: ['(already running)'],
    workers: 0,
    key: null,
    stop: async () => {},
  }
}

/**
 * Starts the built server with its lab on cores of its own; `environment` are settings besides the lab's. Throws with its
 * last words when it does not come up.
 */
export async function startLabServer(
  children: ChildProcesses,
  pinning: Pinning,
  tempFolder: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<LabServer> {
  const controlPort = await freePort()
  const server = await children.startServer({
    program: builtServer(),
    options: ['--lab'],
    workers: 1,
    dataFolder: mkdtempSync(join(tempFolder, 'lab-data-')),
    cores: pinning.serverCores,
    environment: { SLUICE_LAB: `127.0.0.1:${controlPort}`, ...environment },
  })
  const control = new LabControl(`http://127.0.0.1:${controlPort}`)
  if (!(await control.answers()))
    throw new Error('the server listens, but its control listener does not answer')
  return {
    origin: server.origin,
    control,
    pids: server.pids,
    argv: ['node', 'dist/src/main.js', 'serve', '--lab'],
    workers: 1,
    key: environment.SLUICE_API_KEY ?? null,
    stop: () => server.stop(),
  }
}
