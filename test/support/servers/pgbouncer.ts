/** A pgbouncer in transaction mode before a PostgreSQL: every statement may run on another connection of the server. */
import { type ChildProcess, spawn } from 'node:child_process'
import { accessSync, chownSync, constants, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { freePort } from '../../../src/drill/fleet/free-port.js'
import { databaseOwner } from '../../../src/drill/fleet/postgres-cluster.js'
import { type Lifetime, tempFolder } from '../data/temp-folder.js'
import { eventually } from '../timing/eventually.js'

const PROGRAM = '/usr/sbin/pgbouncer'

/** What a test says that is skipped where there is no pgbouncer; false where there is one. */
export const WITHOUT_PGBOUNCER = !isInstalled() && 'pgbouncer is not installed here'

function isInstalled(): boolean {
  try {
    accessSync(PROGRAM, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/**
 * Starts one that ends with `lifetime`.
 * @returns its port: any database of the PostgreSQL behind it, as the user `sluice`, over few connections
 */
export async function startPgbouncer(lifetime: Lifetime, postgresPort: number): Promise<number> {
  const folder = tempFolder(lifetime)
  const port = await freePort()
  const { uid, gid } = databaseOwner()
  const file = join(folder, 'pgbouncer.ini')
  writeFileSync(
    file,
    `[databases]
* = host=127.0.0.1 port=${postgresPort} user=sluice
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
max_client_conn = 2000
default_pool_size = 10
`,
  )
  if (uid !== undefined) for (const path of [folder, file]) chownSync(path, uid, gid!)
  const child = spawn(PROGRAM, ['-q', file], {
    ...databaseOwner(),
    cwd: '/',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const output of [child.stdout, child.stderr]) {
    output.on('data', (piece) => {
      said = `${said}${piece}`.slice(-4_000)
    })
  }
  lifetime.after(() => end(child))
  await eventually(async () => {
    if (child.exitCode !== null) throw new Error(`pgbouncer has ended: ${said}`)
    return await isOpen(port)
  })
  return port
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await ended
}

function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' })
    socket.once('connect', () => resolve(true))
    socket.once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}
