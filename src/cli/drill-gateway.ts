/** A gateway of the drill's own: the built server as a child, with a folder that does not outlive it. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { builtProgram } from '../base/built-files.js'
import { ServerNotReady, ServerProcess } from '../base/server-process.js'
import type { GatewayAddress } from '../drill/gateway-client.js'

const MAIN = builtProgram('src/main.js')
const READY_MS = 30_000
/** An end is not waited for any longer. */
const STOP_MS = 5_000
const LOG_TAIL = 2_000

/**
 * Starts a server with this configuration, on a free port and with random credentials. Rejects with a sentence
 * when it does not listen in time, or when `left` fires before; then nothing of it is left.
 * @returns its address, and `stop`, which ends the server and removes its folder
 */
export async function startDrillGateway(settings: object, left: AbortSignal) {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-drill-'))
  const file = join(folder, 'sluice.json')
  writeFileSync(file, JSON.stringify(settings))
  const key = randomCredential()
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
    SLUICE_MANAGEMENT_KEY: randomCredential(),
  }
  const options = { cwd: folder, env, keptChars: LOG_TAIL }
  const server = new ServerProcess([process.execPath, MAIN, 'serve'], options)
  const stop = cleanupOfGateway(server, folder)
  try {
    const address: GatewayAddress = { url: (await server.untilListening(READY_MS, left)).url, key }
    return { address, stop }
  } catch (error) {
    await stop()
    throw error instanceof ServerNotReady ? new Error(`the gateway of the drill ${error.message}`) : error
  }
}

function randomCredential(): string {
  return `sk-drill-${randomBytes(24).toString('hex')}`
}

/** What ends the server and removes the folder; should this process exit before, that is done on the way out. */
function cleanupOfGateway(server: ServerProcess, folder: string): () => Promise<void> {
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
