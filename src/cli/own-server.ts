/** A server of a command's own: the built server as a child, with a folder that does not outlive it. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { builtProgram } from '../base/built-files.js'
import { type ProcessExit, ServerNotReady, ServerProcess } from '../base/server-process.js'

const MAIN = builtProgram('src/main.js')
const READY_MS = 30_000
/** An end is not waited for any longer. */
const STOP_MS = 5_000
const LOG_TAIL = 2_000

interface OwnServerOptions {
  /** Word for folder and keys. */
  readonly name: string
  /** Content of the configuration file. */
  readonly settings: object
  /** Further variables. */
  readonly env: Readonly<Record<string, string>>
  readonly left: AbortSignal
}

export interface OwnServer {
  readonly url: string
  /** A workspace key. */
  readonly key: string
  /** The operator's. */
  readonly managementKey: string
  /** Settled when it has ended, whoever ended it. */
  readonly exited: Promise<ProcessExit>
  /** Ends it and removes its folder. */
  readonly stop: () => Promise<void>
}

/**
 * Starts a server with this configuration on loopback, on a free port unless `env` says otherwise, with random
 * credentials. Rejects with a sentence when it does not listen in time, or when `left` fires before; then nothing of
 * it is left.
 */
export async function startOwnServer({ name, settings, env, left }: OwnServerOptions): Promise<OwnServer> {
  const folder = mkdtempSync(join(tmpdir(), `sluice-${name}-`))
  const file = join(folder, 'sluice.json')
  writeFileSync(file, JSON.stringify(settings))
  const [key, managementKey] = [randomCredential(name), randomCredential(name)]
  // The whole environment: nothing of the operator's own server may get into this one.
  const whole = {
    HOST: '127.0.0.1',
    PORT: '0',
    SLUICE_POOL_THREADS: '1',
    SLUICE_DATA_DIR: folder,
    SLUICE_LOG_LEVEL: 'error',
    SLUICE_DRAIN_DEADLINE_MS: '1000',
    SLUICE_CONFIG: file,
    SLUICE_API_KEY: key,
    SLUICE_MANAGEMENT_KEY: managementKey,
    ...env,
  }
  const server = new ServerProcess([process.execPath, MAIN, 'serve'], {
    ...{ cwd: folder, env: whole, keptChars: LOG_TAIL },
  })
  const stop = cleanupOf(server, folder)
  try {
    const { url } = await server.untilListening(READY_MS, left)
    return { url, key, managementKey, exited: server.exited, stop }
  } catch (error) {
    await stop()
    throw error instanceof ServerNotReady ? new Error(`the server of the ${name} ${error.message}`) : error
  }
}

function randomCredential(name: string): string {
  return `sk-${name}-${randomBytes(24).toString('hex')}`
}

/** What ends the server and removes the folder; should this process exit before, that is done on the way out. */
function cleanupOf(server: ServerProcess, folder: string): () => Promise<void> {
  const clear = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  const atExit = (): void => {
    server.signal('SIGKILL')
    clear()
  }
  process.once('exit', atExit)
  return async () => {
    await server.stop(STOP_MS)
    await server.closed
    process.off('exit', atExit)
    clear()
  }
}
