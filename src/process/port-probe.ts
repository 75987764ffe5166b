import { createServer } from 'node:net'
import { parseHostPort } from '../base/host-port.js'
import type { Config } from '../config/config.js'

/** Proves it of the API's address, whose port it resolves with, and of that of the console where it has one. */
export async function probePorts({
  host,
  port,
  consoleListen,
}: Pick<Config, 'host' | 'port' | 'consoleListen'>): Promise<number> {
  const found = await probePort(host, port)
  const own = parseHostPort(consoleListen)
  if (own !== null) await probePort(own.host, own.port)
  return found
}

/**
 * Proves that nobody holds the address, and finds a free port for 0. Workers bind with SO_REUSEPORT, which a
 * second server could do as well and then silently take half of the connections; this bind cannot share.
 * Resolves with the port; rejects with a sentence.
 */
export function probePort(host: string, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.on('error', (error: NodeJS.ErrnoException) =>
      reject(new Error(describeBindError(error, host, port))),
    )
    server.listen({ host, port, exclusive: true }, () => {
      const address = server.address()
      const found = typeof address === 'object' && address !== null ? address.port : port
      server.close(() => resolve(found))
    })
  })
}

function describeBindError(error: NodeJS.ErrnoException, host: string, port: number): string {
  if (error.code === 'EADDRINUSE') return `port ${port} on ${host} is already in use`
  if (error.code === 'EACCES') return `port ${port} on ${host} may not be bound by this user`
  return `cannot listen on ${host}:${port}: ${error.message}`
}
