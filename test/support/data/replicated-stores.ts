/** Machines of a fleet as far as their managed records go: a replica each over one database. */
import { systemClock } from '../../../src/base/clock.js'
import { type Database, openDatabase } from '../../../src/store/postgres/database.js'
import { migrate } from '../../../src/store/postgres/migrate.js'
import { openReplicatedStore, type ReplicatedStore } from '../../../src/store/replicated/open.js'
import { makeFolder, removeFolder } from './temp-folder.js'

export interface ReplicaMachine extends ReplicatedStore {
  readonly name: string
  readonly dataDir: string
  readonly database: Database
  close(): Promise<void>
}

export function openTestDatabase(url: string, name = 'test'): Database {
  return openDatabase({ url, connections: 4, clock: systemClock, name })
}

/** Barriers bring every machine of the group up to date, as if its supervisor had confirmed. */
export class ReplicaGroup {
  readonly url: string
  machines: ReplicaMachine[] = []
  /** Versions that barriers were asked for. */
  readonly passed: number[] = []
  readonly #folders: string[] = []

  constructor(url: string) {
    this.url = url
  }

  /** Opens a machine whose replica is loaded; a folder of its own unless it is named. */
  async add(dataDir = this.newFolder()): Promise<ReplicaMachine> {
    const machine = this.open(dataDir)
    await machine.records.catchUp()
    this.machines.push(machine)
    return machine
  }

  newFolder(): string {
    const folder = makeFolder()
    this.#folders.push(folder)
    return folder
  }

  /** Opens one that is not in the group: no barrier waits for it. */
  open(dataDir: string): ReplicaMachine {
    const name = `m${this.machines.length + 1}`
    const database = openTestDatabase(this.url, name)
    const barrier = {
      pass: async (version: number) => {
        await this.#pass(version)
        return []
      },
    }
    const store = openReplicatedStore({ dataDir, database, machine: name, barrier, clock: systemClock })
    const close = async (): Promise<void> => {
      await store.close()
      await database.close()
    }
    return { ...store, name, dataDir, database, close }
  }

  async migrate(): Promise<void> {
    const database = openTestDatabase(this.url)
    await migrate(database)
    await database.close()
  }

  /** Opens machines whose replicas were loaded before. */
  openAll(folders: readonly string[]): void {
    this.machines = folders.map((folder) => this.open(folder))
  }

  async closeAll(): Promise<void> {
    await Promise.all(this.machines.map((machine) => machine.close()))
    this.machines = []
  }

  async end(): Promise<void> {
    await this.closeAll()
    for (const folder of this.#folders) removeFolder(folder)
  }

  async #pass(version: number): Promise<void> {
    this.passed.push(version)
    await Promise.all(this.machines.map(({ records }) => records.catchUp()))
  }
}
