/** The native server in this process, on a free port of 127.0.0.1. */
import type { Test } from 'tap'
import type { Route } from '../../../src/transport/exchange.js'
import type { UwsOptions, UwsServer } from '../../../src/transport/uws.js'
import { type ConnectOptions, connectRaw, type Fragment, type RawConnection } from '../clients/raw-http.js'

export interface TestEdge {
  readonly port: number
  readonly server: UwsServer
  /** What `onDefect` was told. */
  readonly defects: unknown[]
}

/** Header block limit of the tests, the same as the worker's (src/process/worker.ts). */
export const HEADER_BYTES = 16 * 1024

/** Serves the routes until the test ends. */
export async function startEdge(t: Test, routes: readonly Route[], options: Partial<UwsOptions> = {}) {
  const edge = await serveEdge(routes, options)
  t.teardown(() => edge.server.close())
  return edge
}

/**
 * Serves the routes until they are closed. The module is imported late, because the native code reads its limit for
 * header blocks while it is loaded.
 */
export async function serveEdge(routes: readonly Route[], options: Partial<UwsOptions> = {}) {
  process.env.UWS_HTTP_MAX_HEADERS_SIZE = String(HEADER_BYTES)
  const { serveUws } = await import('../../../src/transport/uws.js')
  const defects: unknown[] = []
  const server = await serveUws(routes, {
    host: '127.0.0.1',
    port: 0,
    tls: null,
    allowChunked: false,
    trusted: () => false,
    onDefect: (error) => defects.push(error),
    ...options,
  })
  return { port: server.port, server, defects }
}

/** Opens a connection that ends with the test at the latest, and sends the fragments that are given. */
export async function connected(t: Test, port: number, ...fragments: readonly Fragment[]) {
  const connection = await connectedWith(t, port, {})
  if (fragments.length > 0) await connection.send(...fragments)
  return connection
}

/** The same for a caller that reads nothing before it resumes. */
export async function pausedReader(t: Test, port: number, ...fragments: readonly Fragment[]) {
  const connection = await connected(t, port)
  connection.pause()
  await connection.send(...fragments)
  return connection
}

/** The same with options, and without a word. */
export async function connectedWith(t: Test, port: number, options: ConnectOptions): Promise<RawConnection> {
  const connection = await connectRaw(port, options)
  t.teardown(() => connection.destroy())
  return connection
}
