/**
 * Runs a command with the shipped nginx between it and the server, for tools that the native server refuses, and prints
 * what the command prints. Both are then the generator: they share its core, and nginx ends with the command.
 *
 * Usage: node behind-nginx.js <server's port> <command> [arguments, in which {port} is nginx's port]
 */
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { openWorkplace } from '../../harness/project.js'
import { freePort } from '../../harness/server/child-processes.js'
import { startProxy } from '../../harness/server/shipped-proxies.js'

const [serverPort = '', ...command] = process.argv.slice(2)
const { tempFolder, children } = openWorkplace('nginx')
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

const freshFolder = () => mkdtempSync(join(tempFolder, 'proxy-'))
const proxy = await startProxy('nginx', Number(serverPort), { children, freePort, freshFolder })
const argv = command.map((argument) => argument.replace('{port}', String(proxy.port)))
const [code] = await once(children.start(argv, { stdio: ['ignore', 'inherit', 'inherit'] }), 'close')
await proxy.stop()
process.exitCode = code ?? 1
