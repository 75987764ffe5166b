/** Our server under test: started as a user starts it, from the built files, on a free port. */
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { processTree } from '../../performance/process-cost.js'
import { pinnedCommand } from '../machine/pinning.js'
import type { Children } from './children.js'

export interface SluiceSettings {
  /** Path of the built command line program. */
  readonly program: string
  readonly workers: number
  readonly seedItems: number
  readonly cores: readonly number[] | null
  /** A fresh data folder is made inside this one. */
  readonly tempFolder: string
  /** Settings of ours besides those. */
  readonly environment?: Readonly<Record<string, string>>
}

/** A running server that can be loaded. */
export interface Target {
  readonly origin: string
  readonly pids: readonly number[]
  /** True once it has left without being asked. */
  gone(): boolean
  stop(): Promise<void>
}

/** Seeding 100,000 durable items is the longest start there is. */
const START_TIMEOUT_MS = 120_000
const READY_LINE = /^sluice listening on (http:\/\/[^\s]+)/m

/** Starts the server and waits for its ready line. Throws with its last log lines when it does not come up. */
export async function startSluice(children: Children, settings: SluiceSettings): Promise<Target> {
  const command = pinnedCommand(settings.cores, [process.execPath, settings.program, 'serve'])
  const child = children.start(command, {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: settings.tempFolder,
    env: serverEnvironment(settings),
  })
  const origin = await readyOrigin(child)
  return {
    origin,
    pids: processTree(child.pid!),
    gone: () => child.exitCode !== null || child.signalCode !== null,
    stop: () => children.stop(child),
  }
}

/** The environment minus every setting of ours that a shell may carry: a bench must not depend on it. */
function serverEnvironment(settings: SluiceSettings): NodeJS.ProcessEnv {
  const foreign = Object.entries(process.env).filter(([name]) => !/^(SLUICE_|PORT$|HOST$)/.test(name))
  return {
    ...Object.fromEntries(foreign),
    PORT: '0',
    HOST: '127.0.0.1',
    SLUICE_WORKERS: String(settings.workers),
    SLUICE_POOL_THREADS: '1',
    SLUICE_DATA_DIR: mkdtempSync(join(settings.tempFolder, 'data-')),
    SLUICE_SEED_ITEMS: String(settings.seedItems),
    SLUICE_LOG_LEVEL: 'warn',
    ...settings.environment,
  }
}

function readyOrigin(child: ChildProcess): Promise<string> {
  let output = ''
  let log = ''
  return new Promise((resolve, reject) => {
    const fail = (reason: string) => reject(new Error(`the server ${reason}\n${log.slice(-2_000)}`.trimEnd()))
    const timer = setTimeout(() => fail('printed no ready line in time'), START_TIMEOUT_MS)
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
