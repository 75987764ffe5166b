/** A gateway with an organization whose people come from a directory and sign in with an identity provider. */
import { BrowserCalls } from '../clients/browser-calls.js'
import type { Lifetime } from '../data/temp-folder.js'
import { CLIENT, type PeopleProvider, startPeopleProvider } from '../providers/people-provider.js'
import { patchBody, userBody } from '../schemas/scim-bodies.js'
import { type GatewayServer, type Json, MANAGEMENT_KEY, startGateway } from './gateway-server.js'

interface Organization {
  readonly id: string
  readonly key: string
}

/** A directory of an organization, with its token. */
interface Directory {
  readonly id: string
  readonly token: string
}

export class SignInBench {
  private constructor(
    readonly server: GatewayServer,
    readonly people: PeopleProvider,
  ) {}

  /** Sign-ins are not limited unless `env` says otherwise. */
  static async start(lifetime: Lifetime, env: Readonly<Record<string, string>> = {}): Promise<SignInBench> {
    const settings = { SLUICE_ALLOW_LOOPBACK_ISSUERS: 'on', SLUICE_EXCHANGES_PER_MINUTE: '0', ...env }
    const server = await startGateway({ env: settings })
    lifetime.after(() => server.stop())
    const people = await startPeopleProvider(lifetime)
    return new SignInBench(server, people)
  }

  async manage(
    method: string,
    path: string,
    body: unknown,
    key: string,
  ): Promise<{ status: number; json: Json }> {
    const response = await fetch(this.server.apiUrl + path, {
      method,
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, json: text === '' ? null : JSON.parse(text) }
  }

  /** What a call makes. Throws unless it is a success. */
  private async made(method: string, path: string, body: unknown, key: string): Promise<Json> {
    const { status, json } = await this.manage(method, path, body, key)
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(json)}`)
    return json
  }

  async newOrganization(): Promise<Organization> {
    const { data, key } = await this.made('POST', '/organizations', { name: 'acme' }, MANAGEMENT_KEY)
    return { id: data.id, key }
  }

  async newDirectory({ key }: Organization): Promise<Directory> {
    const { data } = await this.made('POST', '/scim-connections', { name: 'directory' }, key)
    const made = await this.made('POST', `/scim-connections/${data.id}/tokens`, {}, key)
    return { id: data.id, token: made.token }
  }

  /** A person, whose id is told. */
  async addPerson({ token }: Directory, userName: string, externalId: string): Promise<string> {
    const body = userBody({ userName, externalId, active: true })
    return (await this.made('POST', '/scim/v2/Users', body, token)).id
  }

  async setActive({ token }: Directory, id: string, active: boolean): Promise<void> {
    const body = patchBody({ op: 'replace', path: 'active', value: active })
    await this.made('PATCH', `/scim/v2/Users/${id}`, body, token)
  }

  async deletePerson({ token }: Directory, id: string): Promise<void> {
    await this.made('DELETE', `/scim/v2/Users/${id}`, undefined, token)
  }

  /** A sign-in provider for the people of a directory, whom `people` knows; its id. */
  async newProvider(
    { key }: Organization,
    directory: Directory | null,
    more: object = {},
    people = this.people,
  ): Promise<string> {
    const wish = {
      name: 'people',
      issuer: people.issuer,
      client_id: CLIENT.id,
      client_secret: CLIENT.secret,
      connection_id: directory?.id ?? null,
      ...more,
    }
    const { data } = await this.made('POST', '/sign-in-providers', wish, key)
    if (data.issuer === people.issuer) people.redirectUris.add(data.redirect_uri)
    return data.id
  }

  browser(): BrowserCalls {
    return new BrowserCalls(this.server.baseUrl)
  }

  /** Begins in a browser: where it is sent. */
  async begin(browser: BrowserCalls, provider: string, query = ''): Promise<URL> {
    const response = await browser.open(`/api/v1/sign-in/${provider}${query}`)
    if (response.status !== 302) throw new Error(`begin: ${response.status} ${await response.text()}`)
    return new URL(response.headers.get('location')!)
  }

  /** Comes back to where the provider has sent the browser. */
  finish(browser: BrowserCalls, back: URL): Promise<Response> {
    return browser.open(back.pathname + back.search, 'cross-site')
  }

  /** The whole way of one who has this subject at the provider. */
  async signIn(
    browser: BrowserCalls,
    provider: string,
    account: string | null,
    query = '',
  ): Promise<Response> {
    const there = await this.begin(browser, provider, query)
    this.people.account = account
    return this.finish(browser, await this.people.visit(there.href))
  }
}
