/**
 * Three machines on one PostgreSQL behind one port, in the place of one machine with an embedded store: what
 * `startPracticeServer` gives when the runner was asked for `--fleet`. Connections reach the machines in turn.
 */
import { FaultProxy } from '../../../src/drill/fleet/fault-proxy.js'
import { Fleet } from '../../../src/drill/fleet/fleet.js'
import { makeFolder, removeFolder } from '../data/temp-folder.js'
import { createDatabase, dropDatabase, MACHINES } from './fleet-database.js'

/** The database that belongs to a folder: a server that starts again in it finds its records. */
const databases = new Map<string, string>()

/** The same promises as `startPracticeServer`; signals go to all machines, and the log is that of all. */
export async function startFleetServer(
  command: readonly string[],
  environment: Readonly<Record<string, string>>,
  options: { readonly dataDir?: string; readonly mayLogErrors?: boolean },
  failOnErrors: (log: string) => void,
) {
  const dataDir = options.dataDir ?? makeFolder()
  const database = databases.get(dataDir) ?? (await createDatabase())
  databases.set(dataDir, database)
  const front = await FaultProxy.listen()
  const url = `http://127.0.0.1:${front.port}`
  const settings = {
    PATH: process.env.PATH ?? '',
    SLUICE_PUBLIC_URL: url,
    ...environment,
    SLUICE_WORKERS: '1',
    // Three machines on two cores: a connection each does, and one for what comes at once.
    SLUICE_DATABASE_CONNECTIONS: '4',
  }
  const fleet = await Fleet.prepare({
    command,
    environment: settings,
    databaseUrl: database,
    size: MACHINES,
    folder: dataDir,
  })
  const killNow = (): void => fleet.killNow()
  process.once('exit', killNow)
  try {
    await fleet.start()
  } catch (error) {
    killNow()
    await front.close()
    throw new Error(`a machine of the fleet ${(error as Error).message}`)
  }
  front.targets = fleet.machines.map(({ port }) => port)
  const servers = fleet.machines.map(({ server }) => server)
  const hold = (alive: boolean): void => {
    for (const server of servers) server.holdEventLoop(alive)
    front.hold(alive)
  }
  hold(false)
  const exited = Promise.all(servers.map(({ closed }) => closed)).then((exits) => {
    process.off('exit', killNow)
    return exits.find(({ code }) => code !== 0)?.code ?? exits[0]!.code
  })
  const log = (): string => fleet.machines.map((machine) => machine.log).join('')
  return {
    baseUrl: url,
    port: front.port,
    dataDir,
    pid: servers[0]!.pid,
    log,
    signal: (name: NodeJS.Signals): void => {
      for (const server of servers) server.signal(name)
    },
    ended: (): Promise<number | null> => {
      hold(true)
      return exited
    },
    stop: async (): Promise<void> => {
      hold(true)
      const codes = await fleet.stop()
      await front.close()
      if (options.dataDir === undefined) {
        removeFolder(dataDir)
        await dropDatabase(database)
      }
      if (codes.some((code) => code !== 0)) throw new Error(`the machines ended with ${codes}:\n${log()}`)
      if (options.mayLogErrors !== true) failOnErrors(log())
    },
  }
}
