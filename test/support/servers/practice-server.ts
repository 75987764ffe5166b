/** Starts the built server the way users do: a real process on a free port, with a store of its own. */
import { fileURLToPath } from 'node:url'
import tap, { type Test } from 'tap'
import { ServerProcess } from '../../../src/base/server-process.js'
import { type HttpClient, httpClient } from '../clients/http-client.js'
import { makeFolder, removeFolder } from '../data/temp-folder.js'
import { FLEET_DATABASE_URL } from './fleet-database.js'
import { startFleetServer } from './fleet-server.js'
import { withEnvironment } from './server-process.js'

export interface PracticeServerOptions {
  /** Settings beyond those every test needs (a free port, two workers, a data folder, warnings only). */
  readonly env?: Readonly<Record<string, string>>
  /** Folder of the store. It is kept; without one a fresh folder is made, and removed by `stop`. */
  readonly dataDir?: string
  /** Lines of severity `error` in the log do not fail `stop`: the test provokes them. */
  readonly mayLogErrors?: boolean
}

export interface PracticeServer {
  readonly baseUrl: string
  readonly port: number
  readonly dataDir: string
  /** Process id of the supervisor. */
  readonly pid: number
  /** Everything written to standard error so far. */
  log(): string
  signal(name: NodeJS.Signals): void
  /** Resolves when the supervisor has ended: its exit code, or null when a signal ended it. */
  ended(): Promise<number | null>
  /** SIGTERM, then waits for exit code 0. Rejects on any other or a late end, and when the log holds an error. */
  stop(): Promise<void>
}

const MAIN = fileURLToPath(new URL('../../../src/main.js', import.meta.url))
const READY_DEADLINE_MS = 30_000
const EXIT_DEADLINE_MS = 30_000
/** Numeric severity of pino's `error`. */
const ERROR_LEVEL = 50

/**
 * Starts a server and waits until it says that it listens. Rejects with its log when it does not. When the runner was
 * asked for a fleet the server is three machines behind one port.
 */
export async function startPracticeServer(options: PracticeServerOptions = {}): Promise<PracticeServer> {
  if (FLEET_DATABASE_URL !== '') {
    const command = [process.execPath, MAIN, 'serve']
    return startFleetServer(command, { ...COMMON, ...options.env }, options, failOnErrors)
  }
  const dataDir = options.dataDir ?? makeFolder()
  const command = withEnvironment(settings(dataDir, options.env ?? {}), [process.execPath, MAIN, 'serve'])
  const server = new ServerProcess(command, { cwd: process.cwd() })
  endsWithThisProcess(server)
  const exited = server.closed.then(({ code }) => code)
  const { url, port } = await server.untilListening(READY_DEADLINE_MS).catch((error: unknown) => {
    throw new Error(`the server ${(error as Error).message}`)
  })
  // A server that runs must not keep the test process alive: the runner ends a file when nothing is left to do.
  server.holdEventLoop(false)
  const log = (): string => server.stderr
  return {
    baseUrl: url,
    port,
    dataDir,
    pid: server.pid,
    log,
    signal: (name) => server.signal(name),
    ended: () => {
      server.holdEventLoop(true)
      return exited
    },
    stop: async () => {
      server.holdEventLoop(true)
      await server.stop(EXIT_DEADLINE_MS)
      const code = await exited
      if (options.dataDir === undefined) removeFolder(dataDir)
      if (code !== 0) throw new Error(`the server ended with ${code}:\n${log()}`)
      if (options.mayLogErrors !== true) failOnErrors(log())
    },
  }
}

/** A server and a client of it with at most `sockets` connections; both end with `test`, or with the test file. */
export async function practiceServer(
  options: PracticeServerOptions = {},
  sockets?: number,
  test: Pick<Test, 'teardown'> = tap,
): Promise<{ readonly server: PracticeServer; readonly client: HttpClient }> {
  const server = await startPracticeServer(options)
  const client = httpClient(server.baseUrl, sockets)
  test.teardown(async () => {
    client.close()
    await server.stop()
  })
  return { server, client }
}

/** What every test needs, and what this one says. */
function settings(dataDir: string, extra: Readonly<Record<string, string>>): Record<string, string> {
  return { PORT: '0', ...COMMON, SLUICE_DATA_DIR: dataDir, ...extra }
}

const COMMON = {
  SLUICE_WORKERS: '2',
  SLUICE_POOL_THREADS: '1',
  SLUICE_LOG_LEVEL: 'warn',
}

/** The server does not outlive the test, however the test ends. */
function endsWithThisProcess(server: ServerProcess): void {
  const kill = (): void => server.signal('SIGKILL')
  process.once('exit', kill)
  void server.closed.then(() => process.removeListener('exit', kill))
}

function failOnErrors(log: string): void {
  const errors = log.split('\n').filter((line) => line !== '' && severity(line) >= ERROR_LEVEL)
  if (errors.length > 0) throw new Error(`the server logged errors:\n${errors.join('\n')}`)
}

/** A line that is no JSON comes from Node itself, or from native code: a crash. */
function severity(line: string): number {
  try {
    return Number((JSON.parse(line) as { level?: unknown }).level ?? Number.POSITIVE_INFINITY)
  } catch {
    return Number.POSITIVE_INFINITY
  }
}
