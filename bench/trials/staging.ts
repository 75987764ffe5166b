import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CorePlan } from '../harness/machine/pinning.js'
import { ChildProcesses, exchangeMessage, startProgram } from '../harness/server/child-processes.js'
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

/** How a trial has its server started; on the server's core when it has one worker, since several would take turns there. */
interface TrialServerSettings extends Omit<ServerSettings, 'program' | 'cores'> {
  readonly port: number
}

/** Everything a run puts on the machine: processes and folders. `clear` takes all of it away again. */
export class Staging {
  readonly children = new ChildProcesses()
  readonly #folders = new Set<string>()

  /** `program`: the built server's main file. */
  constructor(
    readonly program: string,
    readonly cores: CorePlan | null,
  ) {}

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
  spawn(settings: TrialServerSettings): SluiceServer {
    const cores = settings.workers === 1 ? this.#coresOf('server') : null
    return this.children.spawnServer({ ...settings, cores, program: this.program })
  }

  /**
   * Starts a server of one worker on a free port with an empty data folder, unless `settings` say otherwise, and waits
   * until it listens. Faults: Error with the end of its log when it does not get there.
   */
  async start(settings: Partial<TrialServerSettings> = {}): Promise<SluiceServer> {
    const server = this.spawn({
      workers: 1,
      ...settings,
      port: settings.port ?? (await this.freePort()),
      dataFolder: settings.dataFolder ?? this.freshFolder(),
    })
    await server.ready
    return server
  }

  /**
   * Starts a program of the bench beside the server under trial, on one of the two cores or on any, sends it `job`
   * with the port it has to listen on, and waits until it says that it listens. It ends with the run. Faults: Error
   * when it ends before.
   */
  async startHelper(on: keyof CorePlan | null, program: URL, job: object = {}) {
    const port = await this.freePort()
    const child = startProgram(this.children, on === null ? null : this.#coresOf(on), program)
    await exchangeMessage(child, { ...job, port })
    return { port, pid: child.pid!, end: () => child.kill('SIGKILL') }
  }

  /** Kills every process of this run and removes every folder. Synchronous, so that an exit handler can call it. */
  clear(): void {
    this.children.killAll()
    for (const folder of this.#folders) rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
    this.#folders.clear()
  }

  #coresOf(side: keyof CorePlan): number[] | null {
    return this.cores === null ? null : [this.cores[side]]
  }
}
