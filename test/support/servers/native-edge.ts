/** The native server in this process, on a free port of 127.0.0.1. */
import type { Test } from 'tap'
import type { Route } from '../../../src/transport/exchange.js'
import { loadNativeServer, type NativeChoice } from '../../../src/transport/native-server.js'
import { serveUws, type UwsOptions, type UwsServer } from '../../../src/transport/uws.js'
import { type ConnectOptions, connectRaw, type Fragment, type RawConnection } from '../clients/raw-http.js'

export interface TestEdge {
  readonly port: number
  readonly server: UwsServer
  /** What `onDefect` was told. */
  readonly defects: unknown[]
}

/** The build that the setting names, as for the server itself. */
const native = await loadNativeServer((process.env.SLUICE_NATIVE ?? 'auto') as NativeChoice)

/** What the two builds do differently is told by tests with this word, and in docs/guide/behind-a-proxy.md. */
export const IS_NEWER_BUILD = native.build.name === 'newer'

/** Serves the routes until the test ends. */
export async function startEdge(t: Test, routes: readonly Route[], options: Partial<UwsOptions> = {}) {
  const edge = await serveEdge(routes, options)
  t.teardown(() => edge.server.close())
  return edge
}

/** Serves the routes until they are closed. */
export async function serveEdge(routes: readonly Route[], options: Partial<UwsOptions> = {}) {
  const defects: unknown[] = []
  const server = await serveUws(native, routes, {
    host: '127.0.0.1',
    port: 0,
    tls: null,
    strictProxy: false,
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
