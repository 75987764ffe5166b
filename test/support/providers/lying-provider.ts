/** An OpenID provider on this machine that says what a test wants: good at first, then with one thing wrong. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { headerOf, type IssuerKey, issuerKey, tokenOf } from '../data/subject-tokens.js'
import type { Lifetime } from '../data/temp-folder.js'

type Answer = (response: ServerResponse) => void

export class LyingProvider {
  readonly key: IssuerKey = issuerKey('ES256', 'k1')
  /** Of the key set. */
  keys: readonly object[] = [this.key.jwk]
  /** Members of the discovery document beside, or instead of, the good ones. */
  document: object = {}
  /** The ID token for claims in their best years; null for none. */
  idToken: (claims: Record<string, unknown>) => string | null = (claims) =>
    tokenOf(headerOf(this.key), claims, this.key)
  /** What a path is answered with instead of well. */
  readonly instead = new Map<string, Answer>()
  /** Requests by path. */
  readonly asked: string[] = []
  /** Of the last request for tokens. */
  lastForm = new URLSearchParams()
  lastAuthorization = ''
  /** What the browser was sent with. */
  nonce = ''

  private constructor(private readonly server: Server) {}

  static async start(lifetime: Lifetime): Promise<LyingProvider> {
    const server = createServer()
    const provider = new LyingProvider(server)
    server.on('request', (request, response) => void provider.serve(request, response))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    server.unref()
    lifetime.after(() => {
      server.closeAllConnections()
      server.close()
    })
    return provider
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  /** The query with which it sends a browser back that came with this one. */
  back(asked: URLSearchParams): string {
    this.nonce = asked.get('nonce') ?? ''
    return new URLSearchParams({ code: 'a-code', state: asked.get('state') ?? '' }).toString()
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? ''
    this.asked.push(path)
    let body = ''
    for await (const piece of request) body += String(piece)
    const other = this.instead.get(path)
    if (other !== undefined) return other(response)
    if (path === '/.well-known/openid-configuration') this.send(response, this.discovery())
    else if (path === '/keys') this.send(response, { keys: this.keys })
    else if (path === '/token') {
      this.lastForm = new URLSearchParams(body)
      this.lastAuthorization = request.headers.authorization ?? ''
      const token = this.idToken(this.claims())
      const tokens = { access_token: 'canary-access-token', token_type: 'Bearer', expires_in: 60 }
      this.send(response, { ...tokens, ...(token !== null && { id_token: token }) })
    } else response.writeHead(404).end()
  }

  private discovery(): object {
    return {
      issuer: this.url,
      authorization_endpoint: `${this.url}/authorize`,
      token_endpoint: `${this.url}/token`,
      jwks_uri: `${this.url}/keys`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['ES256', 'RS256', 'ES384', 'none'],
      code_challenge_methods_supported: ['S256'],
      ...this.document,
    }
  }

  private claims(): Record<string, unknown> {
    const now = Math.floor(Date.now() / 1000)
    return { iss: this.url, sub: 'ann', aud: 'sluice', iat: now, exp: now + 300, nonce: this.nonce }
  }

  private send(response: ServerResponse, document: object): void {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(document))
  }
}
