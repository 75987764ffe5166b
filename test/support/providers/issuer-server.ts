/** An identity provider on this machine: discovery, a key set, and whatever can go wrong with both. */
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Lifetime } from '../data/temp-folder.js'

/** What the provider does instead of answering well. */
export type IssuerFault =
  | 'silence' // takes the request and says nothing
  | 'reset'
  | 'status 500'
  | 'status 404'
  | 'redirect'
  | 'no json'
  | 'no object'
  | 'repeated member'
  | 'too large'
  | 'too large, chunked'
  | 'too many values'
  | 'compressed'
  | 'drip' // a byte now and then, for ever

export type IssuerDocument = 'discovery' | 'jwks'

export class IssuerServer {
  /** Public keys of the set, in JSON. */
  keys: readonly object[] = []
  /** What the documents say when they shall not say the truth. */
  issuerSays: string | null = null
  jwksUriSays: unknown = null
  /** What goes wrong, by document; null for nothing. */
  readonly faults: { discovery: IssuerFault | null; jwks: IssuerFault | null } = {
    discovery: null,
    jwks: null,
  }
  readonly fetches = { discovery: 0, jwks: 0, silent: 0, other: 0 }
  /** Headers of the last fetch. */
  lastHeaders: Readonly<Record<string, unknown>> = {}

  private constructor(
    private readonly server: Server,
    /** Path of the issuer, without a slash at its end. */
    readonly path: string,
  ) {}

  static async start(lifetime: Lifetime, path = ''): Promise<IssuerServer> {
    const server = createServer()
    const issuer = new IssuerServer(server, path)
    server.on('request', (request, response) => {
      issuer.lastHeaders = request.headers
      issuer.answer(request.url ?? '', response)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    // A test file ends when nothing is left to do; a provider that listens is no work.
    server.unref()
    lifetime.after(() => issuer.stop())
    return issuer
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`
  }

  get url(): string {
    return this.origin + this.path
  }

  get jwksUrl(): string {
    return `${this.url}/keys`
  }

  /** A document of the same origin that never comes. */
  get silentUrl(): string {
    return `${this.origin}/silent`
  }

  stop(): Promise<void> {
    this.server.closeAllConnections()
    return new Promise((resolve) => this.server.close(() => resolve()))
  }

  private answer(path: string, response: ServerResponse): void {
    if (path === `${this.path}/.well-known/openid-configuration`) {
      this.fetches.discovery++
      const document = { issuer: this.issuerSays ?? this.url, jwks_uri: this.jwksUriSays ?? this.jwksUrl }
      this.send(response, document, this.faults.discovery)
    } else if (path === `${this.path}/keys`) {
      this.fetches.jwks++
      this.send(response, { keys: this.keys }, this.faults.jwks)
    } else if (path === '/silent') {
      this.fetches.silent++
    } else {
      this.fetches.other++
      response.writeHead(404).end()
    }
  }

  private send(response: ServerResponse, document: object, fault: IssuerFault | null): void {
    const text = JSON.stringify(document)
    if (fault === null) {
      response.writeHead(200, { 'content-type': 'application/json' }).end(text)
      return
    }
    FAULTS[fault](response, text, this.origin)
  }
}

const LARGE = 1024 * 1024 + 1

const FAULTS: Readonly<
  Record<IssuerFault, (response: ServerResponse, text: string, origin: string) => void>
> = {
  silence: () => {},
  reset: (response) => void response.socket?.resetAndDestroy(),
  'status 500': (response) => void response.writeHead(500).end('{}'),
  'status 404': (response, text) => void response.writeHead(404).end(text),
  redirect: (response, _text, origin) =>
    void response.writeHead(302, { location: `${origin}/elsewhere` }).end(),
  'no json': (response) => void response.end('<html></html>'),
  'no object': (response) => void response.end('[]'),
  'repeated member': (response, text) => void response.end(text.replace('{', '{"a":1,"a":1,')),
  'too large': (response, text) => void response.end(text.padEnd(LARGE, ' ')),
  'too large, chunked': (response, text) => {
    response.write(text)
    response.end(' '.repeat(LARGE))
  },
  'too many values': (response, text) =>
    void response.end(text.replace('{', `{"a":${'['.repeat(10_000)}${']'.repeat(10_000)},`)),
  compressed: (response, text) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end(text),
  drip: (response) => {
    const timer = setInterval(() => response.write(' '), 5)
    response.on('close', () => clearInterval(timer))
  },
}
