/**
 * The program that runs within a sandbox which may reach hosts: what comes to a port of its loopback goes to the socket
 * of the egress proxy and back. It is nothing but a bridge: the sandbox may end it or use the socket itself, and has
 * gained nothing. It takes SIGUSR1, upon which Node would open its debugger to the command.
 */
import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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

/** A folder of this process for the program and its sockets, which other users may not list. */
export function relayFolder(): { readonly folder: string; readonly programPath: string } {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-egress-'))
  const programPath = join(folder, 'relay.cjs')
  writeFileSync(programPath, SOURCE)
  chmodSync(programPath, 0o644) // whatever the server makes is its own otherwise
  return { folder, programPath }
}
