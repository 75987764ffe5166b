/** A fleet with all it needs, for drills, trials and tests: a PostgreSQL, machines, models with an exact price, a payer. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Fleet } from './fleet.js'
import { FleetLoad } from './load.js'
import { PostgresCluster } from './postgres-cluster.js'

/** Of one call of the model below, in nano-dollars: whatever it says costs the same. */
export const CALL_NANOS = 10_000_000
export const EXACT_MODEL = 'drill/exact'
const DATABASE = 'sluice_drill'
const MANAGE_MS = 60_000

interface StageSettings {
  /** What starts a server. */
  readonly command: readonly string[]
  readonly size: number
  /** Settings of the machines beyond those that a fleet needs. */
  readonly environment?: Readonly<Record<string, string>>
  /** Of PostgreSQL. */
  readonly database?: readonly string[]
  /** A fault proxy of this process stands between each machine and PostgreSQL, unless it is false. */
  readonly proxied?: boolean
  /** Fires when what is started is to be given up. */
  readonly left?: AbortSignal
}

/** What a management call was answered with. */
interface ManagementAnswer {
  readonly status: number
  readonly ms: number
  // biome-ignore lint/suspicious/noExplicitAny: records of many kinds, read by those who have just made them
  readonly json: any
}

/** An organization with credits of its own. */
export interface Payer {
  readonly organizationId: string
  /** Credential that manages it. */
  readonly managementKey: string
  /** Credential of its calls, and the hash it is known by. */
  readonly key: string
  readonly keyHash: string
}

export class FleetStage {
  readonly fleet: Fleet
  readonly folder: string
  readonly managementKey: string
  /** The PostgreSQL that is written to. */
  cluster: PostgresCluster
  readonly #clusters: PostgresCluster[]

  private constructor(fleet: Fleet, folder: string, cluster: PostgresCluster, managementKey: string) {
    this.fleet = fleet
    this.folder = folder
    this.cluster = cluster
    this.#clusters = [cluster]
    this.managementKey = managementKey
  }

  /** Starts all of it. Rejects with what did not come up; then nothing is left. */
  static async open(settings: StageSettings): Promise<FleetStage> {
    const cluster = await PostgresCluster.create(['max_connections=300', ...(settings.database ?? [])])
    const folder = mkdtempSync(join(tmpdir(), 'sluice-fleet-'))
    const configuration = join(folder, 'sluice.json')
    writeFileSync(configuration, JSON.stringify({ models: { [EXACT_MODEL]: exactModel() } }))
    const managementKey = randomCredential()
    const environment = {
      SLUICE_CONFIG: configuration,
      SLUICE_API_KEY: randomCredential(),
      SLUICE_MANAGEMENT_KEY: managementKey,
      SLUICE_PUBLIC_URL: 'http://127.0.0.1:1',
      SLUICE_DATABASE_CONNECTIONS: '4',
      ...settings.environment,
    }
    const fleet = await Fleet.prepare({
      command: settings.command,
      environment,
      databaseUrl: await cluster.database(DATABASE),
      size: settings.size,
      folder,
      proxied: settings.proxied ?? true,
    })
    const stage = new FleetStage(fleet, folder, cluster, managementKey)
    process.once('exit', stage.#removeNow)
    try {
      await fleet.start(settings.left)
      return stage
    } catch (error) {
      await stage.close()
      throw error
    }
  }

  /** One management call to a machine. Status 0 when nothing came within a minute. */
  async manage(
    machine: number,
    method: string,
    path: string,
    body?: object,
    credential = this.managementKey,
  ): Promise<ManagementAnswer> {
    const begun = performance.now()
    const ms = (): number => performance.now() - begun
    try {
      const response = await fetch(`${this.fleet.machines[machine]!.url}/api/v1${path}`, {
        method,
        headers: { Authorization: `Bearer ${credential}`, 'Content-Type': 'application/json' },
        signal: AbortSignal.timeout(MANAGE_MS),
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      return { status: response.status, ms: ms(), json: text === '' ? null : JSON.parse(text) }
    } catch {
      return { status: 0, ms: ms(), json: null }
    }
  }

  /** An organization with credits for so many calls of the exact model. Rejects when it is refused. */
  async addPayer(calls: number, machine = 0): Promise<Payer> {
    const credits = (calls * CALL_NANOS) / 1e9
    const made = await this.manage(machine, 'POST', '/organizations', { name: 'drill', credits })
    if (made.status >= 300) throw new Error(`an organization was answered with ${made.status}`)
    const managementKey: string = made.json.key
    const key = await this.addKey(managementKey, machine)
    return { organizationId: made.json.data.id, managementKey, ...key }
  }

  async addKey(managementKey: string, machine = 0, more: object = {}) {
    const { status, json } = await this.manage(
      machine,
      'POST',
      '/keys',
      { name: 'drill', ...more },
      managementKey,
    )
    if (status >= 300) throw new Error(`a key was answered with ${status}`)
    return { key: json.key as string, keyHash: json.data.hash as string }
  }

  /** Calls of a payer, over all machines in turn; at most so many. */
  load({ key }: Pick<Payer, 'key'>, perSecond: number, most = Number.POSITIVE_INFINITY): FleetLoad {
    const ports = this.fleet.machines.map(({ port }) => port)
    return new FleetLoad({ ports, key, perSecond, most, model: EXACT_MODEL })
  }

  /** One statement on the shared database, past all proxies: rows as text. */
  sql(statement: string): Promise<string[][]> {
    return this.cluster.execute(statement, DATABASE)
  }

  /** Gives the cluster a standby that confirms every commit. */
  async addStandby(): Promise<PostgresCluster> {
    const standby = await this.cluster.addStandby()
    this.#clusters.push(standby)
    return standby
  }

  /** The machines find another server of PostgreSQL at the old place. */
  moveTo(cluster: PostgresCluster): void {
    this.cluster = cluster
    this.fleet.moveStore(cluster.port)
  }

  /** Ends everything at once and removes it. */
  async close(): Promise<void> {
    await this.fleet.kill()
    await Promise.all(this.#clusters.map((cluster) => cluster.remove()))
    process.off('exit', this.#removeNow)
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 })
  }

  readonly #removeNow = (): void => {
    this.fleet.killNow()
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 3 })
  }
}

/** Its price is per call, so that what is set aside is what is spent. */
function exactModel(): object {
  const prices = { prompt: '0', completion: '0', request: String(CALL_NANOS / 1e9) }
  return { endpoints: [{ provider: 'sim', prices, simulation: { tokens: { constant: 4 } } }] }
}

function randomCredential(): string {
  return `sk-drill-${randomBytes(24).toString('hex')}`
}
