/** The built server with directories: connections of organizations, and clients that speak with their tokens. */
import tap from 'tap'
import { type HttpReply, httpClient } from '../clients/http-client.js'
import { groupBody, userBody } from '../schemas/scim-bodies.js'
import { type Json, MANAGEMENT_KEY, startGateway } from './gateway-server.js'

export const SCIM = '/api/v1/scim/v2'
export const CONNECTIONS = '/api/v1/scim-connections'

interface ScimCall {
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as `application/scim+json`; texts as they are. */
  readonly body?: unknown
}

/** One connection of an identity provider. */
export interface Directory {
  readonly id: string
  readonly token: string
  /** Path below the service's own. */
  ask(method: string, path: string, call?: ScimCall): Promise<HttpReply>
  /** Path below the connection's own, as the management of its organization. */
  manage(method: string, path?: string, body?: unknown): Promise<HttpReply>
  /** Creates a user; its resource. */
  user(fields: object): Promise<Json>
  /** Creates a group of these members; its resource. */
  group(displayName: string, members?: readonly string[]): Promise<Json>
}

export interface ScimServer {
  readonly baseUrl: string
  readonly dataDir: string
  log(): string
  /** As a key, or as nobody for `''`. */
  call(
    key: string,
    method: string,
    path: string,
    body?: unknown,
    headers?: ScimCall['headers'],
  ): Promise<HttpReply>
  /** A connection of its own, with a token: what one test does tells nothing to others, and each has its own rate. */
  directory(managementKey?: string): Promise<Directory>
  /** Another organization's management key. */
  organization(): Promise<string>
}

/** Starts a server that ends with the test file. */
export async function scimServer(env: Readonly<Record<string, string>> = {}): Promise<ScimServer> {
  const server = await startGateway({ env })
  const client = httpClient(server.baseUrl, 8)
  tap.teardown(async () => {
    client.close()
    await server.stop()
  })
  const call: ScimServer['call'] = (key, method, path, body, headers = {}) => {
    const bearer = key === '' ? {} : { Authorization: `Bearer ${key}` }
    const type = path.startsWith(SCIM) ? 'application/scim+json' : 'application/json'
    const typed = body === undefined ? {} : { 'Content-Type': type }
    const sent = typeof body === 'string' || body === undefined ? body : JSON.stringify(body)
    const all = { ...bearer, ...typed, ...headers }
    return client.send({ method, path, headers: all, ...(sent !== undefined && { body: sent }) })
  }
  const directory = async (managementKey = MANAGEMENT_KEY): Promise<Directory> => {
    const manage = (method: string, path: string, body?: unknown): Promise<HttpReply> =>
      call(managementKey, method, `${CONNECTIONS}${path}`, body)
    const { id } = (await manage('POST', '', { name: 'a directory' })).json.data
    const { token } = (await manage('POST', `/${id}/tokens`, {})).json
    const ask: Directory['ask'] = (method, path, { headers, body } = {}) =>
      call(token, method, SCIM + path, body, headers)
    const made = async (path: string, body: object): Promise<Json> => {
      const reply = await ask('POST', path, { body })
      if (reply.status !== 201) throw new Error(`POST ${path}: ${reply.status} ${reply.text}`)
      return reply.json
    }
    return {
      id,
      token,
      ask,
      manage: (method, path = '', body) => manage(method, `/${id}${path}`, body),
      user: (fields) => made('/Users', userBody(fields)),
      group: (displayName, members = []) =>
        made('/Groups', groupBody({ displayName, members: members.map((value) => ({ value })) })),
    }
  }
  const organization = async (): Promise<string> =>
    (await call(MANAGEMENT_KEY, 'POST', '/api/v1/organizations', { name: 'another' })).json.key
  const { baseUrl, dataDir, log } = server
  return { baseUrl, dataDir, log, call, directory, organization }
}
