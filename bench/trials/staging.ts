import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ChildProcesses } from '../harness/server/child-processes.js'
import type { ServerSettings, SluiceServer } from '../harness/server/sluice-server.js'

// Below the kernel's ephemeral range (32768 and up): while a server is down, no client of ours may be given
// its port as a source port, which would even let a connect reach itself.
const FIRST_PORT = 20_000
const PORTS = 10_000

function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
}

/** How a trial has its server started. */
interface TrialServerSettings extends Omit<ServerSettings, 'program' | 'cores'> {
  readonly port: number
  /** The only core its processes may use. */
  readonly core?: number | null
}

/** Everything a run puts on the machine: servers and folders. `clear` takes all of it away again. */
export class Staging {
  readonly children = new ChildProcesses()
  readonly #folders = new Set<string>()

  /** `program`: the built server's main file. */
  constructor(readonly program: string) {}

  /** A new empty folder in the system's temporary folder. */
  freshFolder(): string {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-trial-'))
    this.#folders.add(folder)
    return folder
  }

  /** A port that nobody listens on now. Faults: Error when a hundred tries found none. */
  async freePort(): Promise<number> {
    for (let attempt = 0; attempt < 100; attempt++) {
      const port = FIRST_PORT + Math.floor(Math.random() * PORTS)
      if (await isPortFree(port)) return port
    }
    throw new Error('no free port found')
  }

  /** Spawns a server and returns at once; `ready` on the result tells when it listens. */
  spawn({ core = null, ...settings }: TrialServerSettings): SluiceServer {
    const cores = core === null ? null : [core]
    return this.children.spawnServer({ ...settings, cores, program: this.program })
  }

  /**
   * Starts a server on a free port with an empty data folder (unless `settings` names them) and waits until it listens.
   * Faults: Error with the end of its log when it does not get there.
   */
  async start(
    settings: Partial<TrialServerSettings> & Pick<TrialServerSettings, 'workers' | 'poolThreads'>,
  ): Promise<SluiceServer> {
    const server = this.spawn({
      ...settings,
      port: settings.port ?? (await this.freePort()),
      dataFolder: settings.dataFolder ?? this.freshFolder(),
    })
    await server.ready
    return server
  }

  /** Kills every process of this run and removes every folder. Synchronous, so that an exit handler can call it. */
  clear(): void {
    this.children.killAll()
    for (const folder of this.#folders) rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
    this.#folders.clear()
  }
}
