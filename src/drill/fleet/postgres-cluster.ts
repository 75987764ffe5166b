/** PostgreSQL clusters that drills, trials and tests have for themselves: they are killed, frozen, filled and promoted. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { accessSync, chownSync, constants, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePort } from './free-port.js'
import { processTree, signalIfAlive, signalTree } from './process-tree.js'

const run = promisify(execFile)
const START_MS = 30_000
const LOOK_AGAIN_MS = 30
const KEPT_LOG = 4_000
/** The rows of a million calls. */
const MOST_ROWS_BYTES = 256 * 1024 * 1024
/** Where the packages of the distribution put the programs, by release. */
const INSTALLED = '/usr/lib/postgresql'
const LEAST_RELEASE = 14

/** The folder of the programs of the newest PostgreSQL here; null where there is none that is new enough. */
export const POSTGRES_PROGRAMS = findPrograms()

function findPrograms(): string | null {
  try {
    const newest = readdirSync(INSTALLED)
      .map(Number)
      .filter((release) => release >= LEAST_RELEASE)
      .sort((a, b) => b - a)
    for (const release of newest) {
      const folder = `${INSTALLED}/${release}/bin`
      accessSync(`${folder}/initdb`, constants.X_OK)
      return folder
    }
    return null
  } catch {
    return null
  }
}

/** PostgreSQL refuses to run as root, so there it runs as the user that its package has made. */
export function databaseOwner(): { readonly uid?: number; readonly gid?: number } {
  if (process.getuid?.() !== 0) return {}
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((entry) => entry.startsWith('postgres:'))
  if (line === undefined) throw new Error('there is no user postgres to run PostgreSQL as')
  const [, , uid, gid] = line.split(':')
  return { uid: Number(uid), gid: Number(gid) }
}

/** One server of PostgreSQL on 127.0.0.1, its folder included. The user `sluice` may do everything, without a password. */
export class PostgresCluster {
  readonly port: number
  readonly folder: string
  readonly #settings: readonly string[]
  #process: ChildProcess | null = null
  #databases = 0

  protected constructor(port: number, settings: readonly string[]) {
    this.folder = mkdtempSync(join(tmpdir(), 'sluice-postgres-'))
    this.port = port
    this.#settings = settings
    const { uid, gid } = databaseOwner()
    if (uid !== undefined) chownSync(this.folder, uid, gid!)
    process.once('exit', this.#removeNow)
  }

  /**
   * Starts a new cluster. `settings` as in `max_connections=50`. Its data is as durable as a process that is killed needs,
   * not as a machine that loses power does, unless `fsync=on` is asked for. Rejects with what the programs said; then
   * nothing is left.
   */
  static async create(settings: readonly string[] = []): Promise<PostgresCluster> {
    const cluster = new PostgresCluster(await freePort(), settings)
    await cluster.initialize()
    return cluster
  }

  /** Process id of the server's first process. */
  get pid(): number {
    return this.#process!.pid!
  }

  /** Starts it, also after `kill` or `stop`. Rejects with the end of its log. */
  async start(): Promise<void> {
    const settings = ['fsync=off', 'listen_addresses=127.0.0.1', ...this.#settings]
    const where = ['-D', `${this.folder}/data`, '-p', String(this.port), '-k', this.folder]
    const server = spawn(
      `${POSTGRES_PROGRAMS}/postgres`,
      [...where, ...settings.flatMap((setting) => ['-c', setting])],
      { ...databaseOwner(), cwd: '/', stdio: ['ignore', 'ignore', 'pipe'] },
    )
    let said = ''
    server.stderr.on('data', (piece) => {
      said = `${said}${piece}`.slice(-KEPT_LOG)
    })
    this.#process = server
    for (const end = performance.now() + START_MS; !(await this.#answers()); await sleep(LOOK_AGAIN_MS)) {
      if (server.exitCode !== null) throw new Error(`PostgreSQL has ended: ${said}`)
      if (performance.now() > end) throw new Error(`PostgreSQL does not answer: ${said}`)
    }
  }

  /** A new, empty database: its URL. */
  async database(name = `sluice_${++this.#databases}`): Promise<string> {
    await this.execute(`CREATE DATABASE ${name}`)
    return this.url(name)
  }

  url(database = 'postgres'): string {
    return `postgres://sluice@127.0.0.1:${this.port}/${database}`
  }

  /** Runs one statement by `psql`: the rows as text. Rejects with what the server said. */
  async execute(statement: string, database = 'postgres'): Promise<string[][]> {
    const { stdout } = await run(
      `${POSTGRES_PROGRAMS}/psql`,
      ['-XAtq', '-F', '\t', '-v', 'ON_ERROR_STOP=1', '-c', statement, this.url(database)],
      { cwd: '/', timeout: START_MS, maxBuffer: MOST_ROWS_BYTES },
    )
    const lines = stdout.split('\n')
    return lines.slice(0, -1).map((line) => line.split('\t'))
  }

  /**
   * A standby of this one, which from then on confirms a commit only when the standby has it on disk. Each of the two
   * ends by itself.
   */
  async addStandby(): Promise<PostgresCluster> {
    const standby = new PostgresCluster(await freePort(), this.#settings)
    const from = ['-h', '127.0.0.1', '-p', String(this.port), '-U', 'sluice', '--no-sync']
    const what = ['-D', `${standby.folder}/data`, '-R', '-X', 'stream', '-c', 'fast']
    await run(`${POSTGRES_PROGRAMS}/pg_basebackup`, [...from, ...what], { ...databaseOwner(), cwd: '/' })
    await standby.start()
    await this.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
    await this.execute('SELECT pg_reload_conf()')
    return standby
  }

  /** Makes a standby the one that is written to. */
  async promote(): Promise<void> {
    await this.execute('SELECT pg_promote(true, 30)')
  }

  /** Ends it as an operator does: connections are cut, everything is written down. */
  async stop(): Promise<void> {
    await this.#end('SIGINT')
  }

  /** Ends all its processes at once, as a machine does that loses power. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL')
  }

  /** All its processes stand still: it accepts, and never answers. */
  freeze(): void {
    signalTree(this.pid, 'SIGSTOP')
  }

  thaw(): void {
    signalTree(this.pid, 'SIGCONT')
  }

  /** Ends it and removes its folder. */
  async remove(): Promise<void> {
    process.off('exit', this.#removeNow)
    await this.kill()
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 })
  }

  protected async initialize(): Promise<void> {
    const initdb = ['-D', `${this.folder}/data`, '-U', 'sluice', '-A', 'trust', '-E', 'UTF8', '--no-sync']
    try {
      await run(`${POSTGRES_PROGRAMS}/initdb`, [...initdb, '--locale=C'], { ...databaseOwner(), cwd: '/' })
      await this.start()
    } catch (error) {
      await this.remove()
      throw error
    }
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const server = this.#process
    if (server === null || server.exitCode !== null || server.signalCode !== null) return
    const ended = new Promise((resolve) => server.once('exit', resolve))
    // None is begun between the look at them and their end.
    if (signal === 'SIGKILL') this.freeze()
    const processes = processTree(this.pid)
    if (signal === 'SIGKILL') signalTree(this.pid, signal)
    else server.kill(signal)
    await ended
    // A cluster does not start while a process of its former life still holds its memory.
    const isGone = (): boolean => !processes.some((pid) => signalIfAlive(pid, 0))
    for (const end = performance.now() + START_MS; !isGone(); await sleep(LOOK_AGAIN_MS)) {
      if (performance.now() > end) throw new Error('PostgreSQL does not end')
    }
  }

  /** Nothing is left when this process ends before. */
  readonly #removeNow = (): void => {
    const { pid } = this.#process ?? {}
    if (pid !== undefined) signalTree(pid, 'SIGKILL')
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 })
  }

  async #answers(): Promise<boolean> {
    const asked = run(`${POSTGRES_PROGRAMS}/pg_isready`, ['-q', '-h', '127.0.0.1', '-p', String(this.port)])
    return asked.then(
      () => true,
      () => false,
    )
  }
}
