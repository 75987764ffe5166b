/** The built server with a connection of an identity provider, as an organization would set it up. */
import type { Lifetime } from '../data/temp-folder.js'
import { type GatewayServer, type Json, MANAGEMENT_KEY, startGateway } from './gateway-server.js'

export interface DirectoryServer {
  readonly server: GatewayServer
  /** Where the identity provider is told to go; without a slash at the end. */
  readonly scimUrl: string
  /** Of the connection. */
  readonly token: string
  readonly connectionId: string
  /** A management operation that has to succeed: what it answers. */
  manage(method: string, path: string, body?: unknown): Promise<Json>
  /** What the identity provider asks of its connection. */
  provision(method: string, path: string, body?: unknown): Promise<{ status: number; json: Json }>
}

export const SCIM_PATH = '/api/v1/scim/v2'

/** Starts a server that ends with the test; `env` are settings of it. */
export async function startDirectory(
  t: Lifetime,
  env: Readonly<Record<string, string>> = {},
): Promise<DirectoryServer> {
  const server = await startGateway({ env })
  t.after(() => server.stop())
  const scimUrl = `${server.baseUrl}${SCIM_PATH}`
  const ask = async (url: string, credential: string, method: string, body: unknown) => {
    const answer = await fetch(url, {
      method,
      headers: { Authorization: `Bearer ${credential}`, 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await answer.text()
    return { status: answer.status, json: text === '' ? null : JSON.parse(text) }
  }
  const manage: DirectoryServer['manage'] = async (method, path, body) => {
    const { status, json } = await ask(server.apiUrl + path, MANAGEMENT_KEY, method, body)
    if (status >= 300)
      throw new Error(`${method} ${path} was answered with ${status} ${JSON.stringify(json)}`)
    return json
  }
  const connection = await manage('POST', '/scim-connections', { name: 'of the test' })
  const connectionId: string = connection.data.id
  const { token } = await manage('POST', `/scim-connections/${connectionId}/tokens`, {})
  return {
    server,
    scimUrl,
    token,
    connectionId,
    manage,
    provision: (method, path, body) => ask(scimUrl + path, token, method, body),
  }
}
