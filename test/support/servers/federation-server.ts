/** A gateway that trusts an identity provider on this machine, and everything a workload and its admin do with both. */

import { headerOf, type IssuerKey, issuerKey, tokenOf } from '../data/subject-tokens.js'
import type { Lifetime } from '../data/temp-folder.js'
import { IssuerServer } from '../providers/issuer-server.js'
import { type GatewayServer, type Json, MANAGEMENT_KEY, startGateway } from './gateway-server.js'

export const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:token-exchange'
export const JWT_TYPE = 'urn:ietf:params:oauth:token-type:jwt'
export const ACCESS_TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:access_token'
export const WORKLOAD = 'repo:octo/app:ref:refs/heads/main'
export const AUDIENCE = 'sluice'

export interface Answered {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: Json
}

/** Fields of a form, repeats allowed. */
export type Form = readonly (readonly [name: string, value: string])[]

export class FederationServer {
  private constructor(
    readonly server: GatewayServer,
    readonly issuer: IssuerServer,
    readonly key: IssuerKey,
  ) {}

  /** Exchanges are not limited unless `env` says otherwise. */
  static async start(
    lifetime: Lifetime,
    env: Readonly<Record<string, string>> = {},
  ): Promise<FederationServer> {
    const issuer = await IssuerServer.start(lifetime)
    const key = issuerKey('ES256', 'k1')
    issuer.keys = [key.jwk]
    const settings = { SLUICE_ALLOW_LOOPBACK_ISSUERS: 'on', SLUICE_EXCHANGES_PER_MINUTE: '0', ...env }
    const server = await startGateway({ env: settings })
    lifetime.after(() => server.stop())
    return new FederationServer(server, issuer, key)
  }

  /** One management call; `''` as credential means none. */
  async manage(
    method: string,
    path: string,
    body?: unknown,
    credential: string = MANAGEMENT_KEY,
  ): Promise<Answered> {
    const headers = {
      ...(credential !== '' && { Authorization: `Bearer ${credential}` }),
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
    }
    const response = await fetch(`${this.server.apiUrl}${path}`, {
      method,
      headers,
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    return answered(response)
  }

  /** What a management call gives under `data`. Throws unless it is a success. */
  async made(method: string, path: string, body?: unknown, credential?: string): Promise<Json> {
    const { status, text, json } = await this.manage(method, path, body, credential)
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`)
    return json.data
  }

  /** A new workspace key: its hash and its text. */
  async newKey(credential?: string, more: object = {}): Promise<{ hash: string; key: string }> {
    const { json } = await this.manage('POST', '/keys', { name: 'target', ...more }, credential)
    return { hash: json.data.hash, key: json.key }
  }

  newIssuer(more: object = {}, credential?: string): Promise<Json> {
    const wish = { name: 'local', issuer_url: this.issuer.url, ...more }
    return this.made('POST', '/federation/issuers', wish, credential)
  }

  newPolicy(more: object, credential?: string): Promise<Json> {
    const wish = { audience: AUDIENCE, subject: WORKLOAD, ...more }
    return this.made('POST', '/federation/policies', wish, credential)
  }

  /** An issuer, a key and a policy that fit each other. */
  async trusting(
    more: object = {},
  ): Promise<{ issuer: Json; target: { hash: string; key: string }; policy: Json }> {
    const [issuer, target] = await Promise.all([this.newIssuer(), this.newKey()])
    const policy = await this.newPolicy({ issuer_id: issuer.id, api_key_hash: target.hash, ...more })
    return { issuer, target, policy }
  }

  /** A token of the local issuer in its best years. */
  token(more: object = {}, header: object = {}, key: IssuerKey = this.key): string {
    return tokenOf(headerOf(key, header), this.claims(more), key)
  }

  claims(more: object = {}): Record<string, unknown> {
    const now = Math.floor(Date.now() / 1000)
    return { iss: this.issuer.url, sub: WORKLOAD, aud: AUDIENCE, iat: now, exp: now + 600, ...more }
  }

  form(policyId: string, token: string = this.token()): Form {
    return [
      ['grant_type', GRANT_TYPE],
      ['subject_token', token],
      ['subject_token_type', JWT_TYPE],
      ['federation_policy_id', policyId],
    ]
  }

  exchange(policyId: string, token?: string): Promise<Answered> {
    return this.post(this.form(policyId, token))
  }

  /** Posts a form, or a body as it is. */
  async post(form: Form | string, headers: Readonly<Record<string, string>> = {}): Promise<Answered> {
    const body = typeof form === 'string' ? form : encoded(form)
    const response = await fetch(`${this.server.apiUrl}/oauth/token`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...headers },
      body,
    })
    return answered(response)
  }

  /** The access token of an exchange that works. */
  async accessToken(policyId: string, token?: string): Promise<string> {
    const { status, text, json } = await this.exchange(policyId, token)
    if (status !== 200) throw new Error(`exchange: ${status} ${text}`)
    return json.access_token
  }
}

export function encoded(form: Form): string {
  return form.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join('&')
}

async function answered(response: Response): Promise<Answered> {
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    text,
    get json() {
      return JSON.parse(text)
    },
  }
}
