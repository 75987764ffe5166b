/**
 * The program that runs within a sandbox which may reach hosts: what comes to a port of its loopback goes to the socket
 * of the egress proxy and back. It is nothing but a bridge: the sandbox may end it or use the socket itself, and has
 * gained nothing. It takes SIGUSR1, upon which Node would open its debugger to the command.
 */
import { constants } from 'node:fs'
import { chmod, chown, copyFile, mkdtemp, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { PROXY_PORT } from './bubblewrap.js'

const SOURCE = `
process.on('SIGUSR1', () => {})
const { createServer, connect } = require('node:net')
createServer({ allowHalfOpen: true }, (inner) => {
  const outer = connect({ path: '/opt/egress/socket', allowHalfOpen: true })
  inner.on('error', () => outer.destroy())
  outer.on('error', () => inner.destroy())
  inner.pipe(outer).pipe(inner)
}).listen(${PROXY_PORT}, '127.0.0.1', () => console.log('ready'))
`

/** Where the bridge of this process stands, and the program that runs it. */
export interface RelayFolder {
  readonly folder: string
  readonly node: string
  readonly programPath: string
}

/**
 * A folder of this process for the bridge and its sockets, which other users may not list.
 *
 * @param uid whom sandboxes run as, if that is somebody else: they cannot reach a Node that stands in a private folder,
 *   as those of version managers do, so it is brought here
 */
export async function makeRelayFolder(uid: number | null): Promise<RelayFolder> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-egress-'))
  const programPath = join(folder, 'relay.cjs')
  await writeFile(programPath, SOURCE)
  await chmod(programPath, 0o644) // whatever the server makes is its own otherwise
  if (uid === null) return { folder, node: process.execPath, programPath }
  await chown(folder, uid, uid)
  if (await isOpenToAll(process.execPath)) return { folder, node: process.execPath, programPath }
  const node = join(folder, 'node')
  await copyFile(process.execPath, node, constants.COPYFILE_FICLONE)
  await chmod(node, 0o755)
  return { folder, node, programPath }
}

/** Whether every user may run the program: its own permissions, and those of all folders above it. */
async function isOpenToAll(path: string): Promise<boolean> {
  const own = await stat(path)
  if ((own.mode & 0o005) !== 0o005) return false
  for (let above = dirname(path); ; above = dirname(above)) {
    if (((await stat(above)).mode & 0o001) === 0) return false
    if (above === dirname(above)) return true
  }
}
