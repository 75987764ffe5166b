/** Several machines on this one that share a PostgreSQL, each with its own way to it. */
import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { FaultProxy } from './fault-proxy.js'
import { FleetMachine, type MachineSettings } from './machine.js'

interface FleetSettings extends Pick<MachineSettings, 'command' | 'environment' | 'databaseUrl'> {
  /** How many machines there are. */
  readonly size: number
  /** Each machine has a folder of its own in it, and the sealing key lies beside them. */
  readonly folder: string
  /** Puts a fault proxy between each machine and the store. */
  readonly proxied?: boolean
}

/** Machines that share a store, and their ways to it. */
export class Fleet {
  readonly machines: readonly FleetMachine[]
  /** The way of each machine to the store, in their order; none unless the fleet is proxied. */
  readonly links: readonly FaultProxy[]
  readonly #settings: FleetSettings
  #storePort: string
  /** Machines that came later. */
  readonly #others: FleetMachine[] = []

  private constructor(
    settings: FleetSettings,
    machines: readonly FleetMachine[],
    links: readonly FaultProxy[],
  ) {
    this.#settings = settings
    this.#storePort = new URL(settings.databaseUrl).port
    this.machines = machines
    this.links = links
  }

  /** Makes folders, proxies and machines; starts no machine. */
  static async prepare(settings: FleetSettings): Promise<Fleet> {
    const { size, folder, proxied = false, command, databaseUrl } = settings
    const sealingKey = join(folder, 'sealing-key')
    // A fleet that comes back to its folder keeps its key.
    writeOnce(sealingKey, randomBytes(32))
    const environment = { SLUICE_SEALING_KEY_FILE: sealingKey, ...settings.environment }
    const complete = { ...settings, environment }
    const machines: FleetMachine[] = []
    const links: FaultProxy[] = []
    for (const name of machineNames(size)) {
      const own = join(folder, name)
      mkdirSync(own, { recursive: true, mode: 0o700 })
      const way = new URL(databaseUrl)
      if (proxied) {
        const link = await FaultProxy.listen([Number(way.port)])
        links.push(link)
        way.port = String(link.port)
      }
      machines.push(
        await FleetMachine.prepare({ command, environment, name, folder: own, databaseUrl: way.href }),
      )
    }
    return new Fleet(complete, machines, links)
  }

  /** Starts all machines at once. Rejects when one does not come up. */
  async start(left?: AbortSignal): Promise<void> {
    await Promise.all(this.machines.map((machine) => machine.start({}, left)))
  }

  /** One more machine, with a way to the store that does not fail, and a folder of its own; it is not started. */
  async addMachine(name: string, more: Readonly<Record<string, string>> = {}): Promise<FleetMachine> {
    const { command } = this.#settings
    const store = new URL(this.#settings.databaseUrl)
    store.port = this.#storePort
    const databaseUrl = store.href
    const folder = join(this.#settings.folder, name)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const environment = { ...this.#settings.environment, ...more }
    const machine = await FleetMachine.prepare({ command, environment, name, folder, databaseUrl })
    this.#others.push(machine)
    return machine
  }

  /** Ends all machines as an operator does: their exit codes. */
  stop(): Promise<(number | null)[]> {
    return Promise.all(this.machines.map((machine) => machine.stop()))
  }

  /** The machines at once, for an exit handler. */
  killNow(): void {
    for (const machine of [...this.machines, ...this.#others]) machine.killNow()
  }

  /** Ends everything at once, proxies included. */
  async kill(): Promise<void> {
    await Promise.all([...this.machines, ...this.#others].map((machine) => machine.kill()))
    await Promise.all(this.links.map((link) => link.close()))
  }

  /** All ways lead to another server of PostgreSQL; what is open is reset. */
  moveStore(port: number): void {
    this.#storePort = String(port)
    for (const link of this.links) {
      link.targets = [port]
      link.resetAll()
    }
  }
}

/** `machine-1` and so on. */
function machineNames(size: number): string[] {
  return Array.from({ length: size }, (_, index) => `machine-${index + 1}`)
}

function writeOnce(path: string, bytes: Buffer): void {
  try {
    writeFileSync(path, bytes, { flag: 'wx', mode: 0o600 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}
