/** An identity provider on this machine: a discovery document, a key set, and counts of who asked for them. */
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type IssuingKey, signToken, tokenHeader } from './issuing-key.js'

/** What the bench's tokens say about their workload unless a test wants otherwise. */
export const WORKLOAD = 'repo:octo/app:ref:refs/heads/main'
export const AUDIENCE = 'sluice'
/** Long enough for the longest run; what an exchange gives out lives for 15 minutes in any case. */
const LIFE_SECONDS = 6 * 60 * 60

interface DocumentFetches {
  readonly discovery: number
  readonly jwks: number
}

/** Paths of tenants that take a request and never answer begin so. */
const SILENT = '/silent-'
const DISCOVERY = '/.well-known/openid-configuration'
const KEYS = '/keys'

/** Serves its root and, with the same keys, every path below it as a tenant of its own. */
export class LocalIssuer {
  /** The key set as it is published now. */
  published: readonly IssuingKey[]
  /** How long every answer is held back. */
  delayMs = 0
  readonly #counts = { discovery: 0, jwks: 0 }
  readonly #server: Server

  private constructor(server: Server, keys: readonly IssuingKey[]) {
    this.#server = server
    this.published = keys
    server.on('request', (request, response) => {
      void this.#answer(request.url ?? '', response)
    })
  }

  /** Listens on a free port of 127.0.0.1. */
  static async start(keys: readonly IssuingKey[]): Promise<LocalIssuer> {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return new LocalIssuer(server, keys)
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** URL of a tenant, an issuer of its own on this origin. */
  tenantUrl(name: string, kind: 'healthy' | 'silent' = 'healthy'): string {
    return `${this.url}${kind === 'silent' ? SILENT : '/'}${name}`
  }

  /** Fetches since the start, those that get no answer included. */
  fetches(): DocumentFetches {
    return { ...this.#counts }
  }

  /** Claims of a token in its best years. */
  claims(more: object = {}): Record<string, unknown> {
    const now = Math.floor(Date.now() / 1000)
    const times = { iat: now, nbf: now, exp: now + LIFE_SECONDS }
    return { iss: this.url, sub: WORKLOAD, aud: AUDIENCE, ...times, ...more }
  }

  /** A token that says so, signed with the first key unless another is named. */
  token(more: object = {}, key: IssuingKey = this.published[0]!): string {
    return signToken(tokenHeader(key), this.claims(more), key)
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #answer(path: string, response: ServerResponse): Promise<void> {
    const document = [DISCOVERY, KEYS].find((end) => path.endsWith(end))
    if (document === undefined) {
      response.writeHead(404).end()
      return
    }
    this.#counts[document === KEYS ? 'jwks' : 'discovery']++
    if (path.startsWith(SILENT)) return
    if (this.delayMs > 0) await sleep(this.delayMs)
    const issuer = this.url + path.slice(0, -document.length)
    const body =
      document === DISCOVERY
        ? { issuer, jwks_uri: `${issuer}${KEYS}` }
        : { keys: this.published.map(({ jwk }) => jwk) }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }
}
