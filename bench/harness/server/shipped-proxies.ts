/** The shipped proxies in front of a server, with the shipped configurations: only addresses and folders are others. */
import { readFileSync, writeFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { programRuns } from '../machine/pinning.js'
import { PROJECT_FOLDER } from '../project.js'
import type { ChildProcesses } from './child-processes.js'

interface Shipped {
  readonly file: string
  /** Prints its version; where it does not the program is not here. */
  readonly version: string
  /** What stands in the file, and what replaces it. */
  changes(server: number, port: number, folder: string): Readonly<Record<string, string>>
  command(config: string, folder: string): readonly string[]
}

const UPSTREAM = '127.0.0.1:8080'
const WORK_FOLDERS = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']

const PROXIES = {
  nginx: {
    file: 'nginx.conf',
    version: '-v',
    changes: (server, port, folder) => ({
      [UPSTREAM]: `127.0.0.1:${server}`,
      'listen 127.0.0.1:8443': `listen 127.0.0.1:${port}`,
      'http {': `http { ${WORK_FOLDERS.map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')}`,
    }),
    command: (config, folder) => [
      ...['nginx', '-p', folder, '-c', config, '-e', join(folder, 'errors')],
      ...['-g', `daemon off; pid ${join(folder, 'pid')};`],
    ],
  },
  haproxy: {
    file: 'haproxy.cfg',
    version: '-v',
    changes: (server, port) => ({
      [UPSTREAM]: `127.0.0.1:${server}`,
      'bind 127.0.0.1:8444': `bind 127.0.0.1:${port}`,
    }),
    command: (config) => ['haproxy', '-db', '-f', config],
  },
} as const satisfies Record<string, Shipped>

export type ProxyName = keyof typeof PROXIES

const READY_LIMIT_MS = 10_000
const STEP_MS = 50

export function isInstalled(name: ProxyName): boolean {
  return programRuns(name, PROXIES[name].version)
}

/** Where a proxy runs. */
interface ProxyPlace {
  readonly children: ChildProcesses
  freePort(): Promise<number>
  /** Makes a new empty folder. */
  freshFolder(): string
}

/** Starts a proxy in front of the server and waits until it listens. Faults: Error when it does not get there. */
export async function startProxy(name: ProxyName, server: number, place: ProxyPlace) {
  const { file, changes, command }: Shipped = PROXIES[name]
  const port = await place.freePort()
  const folder = place.freshFolder()
  let text = readFileSync(join(PROJECT_FOLDER, 'examples/machine', file), 'utf8')
  for (const [shipped, own] of Object.entries(changes(server, port, folder))) {
    if (!text.includes(shipped)) throw new Error(`${file} does not say "${shipped}" any more`)
    text = text.replaceAll(shipped, own)
  }
  const config = join(folder, file)
  writeFileSync(config, text)
  const child = place.children.start(command(config, folder), { stdio: 'ignore' })
  for (const limit = performance.now() + READY_LIMIT_MS; !(await listens(port)); await sleep(STEP_MS)) {
    if (child.exitCode !== null || performance.now() > limit) throw new Error(`${name} does not start`)
  }
  return { port, stop: () => place.children.stop(child) }
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ host: '127.0.0.1', port })
    socket.once('connect', () => resolve(true))
    socket.once('error', () => resolve(false))
    socket.once('close', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}
