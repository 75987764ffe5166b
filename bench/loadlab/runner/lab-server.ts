/** The server in the lab: one that already runs, or one started here on a core of its own. */
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { type Pinning, pinnedCommand } from '../../harness/machine/pinning.js'
import type { Children } from '../../harness/server/children.js'
import { freePort } from '../../performance/floors.js'
import { processTree } from '../../performance/process-cost.js'
import { Control } from './control.js'

export const DEFAULT_ORIGIN = 'http://127.0.0.1:8080'
export const DEFAULT_CONTROL = 'http://127.0.0.1:8081'

export interface LabServer {
  readonly origin: string
  readonly control: Control
  /** Null: it was not started here. */
  readonly pids: readonly number[] | null
  readonly argv: readonly string[]
  readonly workers: number
  /** Of its gateway; null: not known. */
  readonly key: string | null
  /** What the report should warn of. */
  readonly warnings: readonly string[]
  stop(): Promise<void>
}

/** The server that answers at `controlOrigin`, or null when nobody does. */
export async function runningServer(origin: string, controlOrigin: string): Promise<LabServer | null> {
  const control = new Control(controlOrigin)
  if (!(await control.answers())) return null
  return {
    origin,
    control,
    pids: null,
    argv: ['(already running)'],
    workers: 0,
    key: null,
    warnings: [
      'the server was already running: which cores it uses was not chosen here, so generator and server may disturb each other',
    ],
    stop: async () => {},
  }
}

const READY_LINE = /^sluice listening on (http:\/\/\S+)/m
const START_LIMIT_MS = 60_000

/**
 * Starts the built server with its lab on cores of its own; `environment` are settings besides the lab's. Throws with its
 * last words when it does not come up.
 */
export async function startLabServer(
  children: Children,
  program: string,
  pinning: Pinning,
  tempFolder: string,
  environment: Readonly<Record<string, string>> = {},
): Promise<LabServer> {
  const controlPort = await freePort()
  const argv = [process.execPath, program, 'serve', '--lab']
  const foreign = Object.entries(process.env).filter(([name]) => !/^(SLUICE_|PORT$|HOST$)/.test(name))
  const child = children.start(pinnedCommand(pinning.serverCores, argv), {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: tempFolder,
    // A Ctrl-C of the terminal is for the runner, which still has to hear what the server knows.
    detached: true,
    env: {
      ...Object.fromEntries(foreign),
      PORT: '0',
      HOST: '127.0.0.1',
      SLUICE_WORKERS: '1',
      SLUICE_POOL_THREADS: '1',
      SLUICE_DATA_DIR: mkdtempSync(join(tempFolder, 'lab-data-')),
      SLUICE_LOG_LEVEL: 'warn',
      SLUICE_LAB: `127.0.0.1:${controlPort}`,
      ...environment,
    },
  })
  const origin = await readyOrigin(child)
  const control = new Control(`http://127.0.0.1:${controlPort}`)
  if (!(await control.answers()))
    throw new Error('the server listens, but its control listener does not answer')
  return {
    origin,
    control,
    pids: processTree(child.pid!),
    argv: ['node', 'dist/src/main.js', 'serve', '--lab'],
    workers: 1,
    key: environment.SLUICE_API_KEY ?? null,
    warnings: pinning.warnings,
    stop: () => children.stop(child),
  }
}

function readyOrigin(child: ChildProcess): Promise<string> {
  let output = ''
  let log = ''
  return new Promise((resolve, reject) => {
    const fail = (reason: string) => reject(new Error(`the server ${reason}\n${log.slice(-2_000)}`.trimEnd()))
    const timer = setTimeout(() => fail('printed no ready line in time'), START_LIMIT_MS)
    child.once('exit', (code, signal) => {
      clearTimeout(timer)
      fail(`left with ${signal ?? code} before it was ready`)
    })
    child.once('error', (error) => fail(`could not be started: ${error.message}`))
    // Both pipes are read for the whole life of the server: a full pipe would block it.
    child.stderr?.on('data', (chunk) => {
      log = (log + chunk).slice(-8_000)
    })
    child.stdout?.on('data', (chunk) => {
      output = (output + chunk).slice(-8_000)
      const origin = READY_LINE.exec(output)?.[1]
      if (origin === undefined) return
      clearTimeout(timer)
      resolve(origin)
    })
  })
}
