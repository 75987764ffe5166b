/** A gateway of the drill's own: the built server as a child, with a folder that does not outlive it. */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { GatewayAddress } from '../drill/gateway-caller.js'

const MAIN = fileURLToPath(new URL('../main.js', import.meta.url))
const READY = /^sluice listening on (http:\/\/\S+) /m
const READY_MS = 30_000
/** An end is not waited for any longer. */
const END_MS = 5_000
const LOG_TAIL = 2_000

export interface DrillGateway {
  readonly address: GatewayAddress
  /** Ends the server and removes its folder. */
  end(): Promise<void>
}

/**
 * Starts a server with this configuration, on a free port and with credentials nobody knows. Rejects with a sentence
 * when it does not listen in time, or when `left` fires before; then nothing of it is left.
 */
export async function startDrillGateway(settings: object, left: AbortSignal): Promise<DrillGateway> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-drill-'))
  const file = join(folder, 'sluice.json')
  writeFileSync(file, JSON.stringify(settings))
  const key = randomKey()
  // The whole environment: nothing of the operator's own server may get into this one.
  const env = {
    HOST: '127.0.0.1',
    PORT: '0',
    SLUICE_WORKERS: '1',
    SLUICE_POOL_THREADS: '1',
    SLUICE_DATA_DIR: folder,
    SLUICE_LOG_LEVEL: 'error',
    SLUICE_METRICS: 'off',
    SLUICE_DRAIN_DEADLINE_MS: '1000',
    SLUICE_CONFIG: file,
    SLUICE_API_KEY: key,
    SLUICE_MANAGEMENT_KEY: randomKey(),
  }
  const child = spawn(process.execPath, [MAIN, 'serve'], {
    cwd: folder,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const end = ending(child, folder)
  try {
    return { address: { url: await listening(child, left), key }, end }
  } catch (error) {
    await end()
    throw error
  }
}

function randomKey(): string {
  return `sk-drill-${randomBytes(24).toString('hex')}`
}

/** What ends the child and removes the folder; should this process exit before, that is done on the way out. */
function ending(child: ChildProcess, folder: string): () => Promise<void> {
  const clear = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  const atExit = (): void => {
    child.kill('SIGKILL')
    clear()
  }
  process.once('exit', atExit)
  const closed = new Promise<void>((resolve) => {
    child.once('error', () => resolve())
    child.once('close', () => resolve())
  })
  return async () => {
    child.kill('SIGTERM')
    const hard = setTimeout(() => child.kill('SIGKILL'), END_MS)
    await closed
    clearTimeout(hard)
    process.off('exit', atExit)
    clear()
  }
}

/** The URL of the line that says it listens. */
function listening(child: ChildProcess, left: AbortSignal): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = ''
    let log = ''
    const failed = (why: string): void =>
      reject(new Error(`the gateway of the drill ${why}${log === '' ? '' : `: ${log}`}`))
    const timer = setTimeout(() => failed(`did not listen within ${READY_MS / 1000} s`), READY_MS)
    const stop = (): void => failed('was not waited for')
    left.addEventListener('abort', stop)
    if (left.aborted) stop()
    const done = (): void => {
      clearTimeout(timer)
      left.removeEventListener('abort', stop)
    }
    child.once('error', (error) => {
      done()
      failed(`could not be started: ${error.message}`)
    })
    child.once('close', (code) => {
      done()
      failed(`ended with ${code}`)
    })
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      log = (log + text).slice(-LOG_TAIL)
    })
    child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-LOG_TAIL)
      const url = READY.exec(said)?.[1]
      if (url === undefined) return
      done()
      resolve(url)
    })
  })
}
