/** An identity provider of people that nobody here wrote: `oidc-provider`, where whoever comes is signed in at once. */
import { generateKeyPairSync } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'
import type { Lifetime } from '../data/temp-folder.js'

/** Our client there. */
export const CLIENT = { id: 'sluice', secret: 'canary-client-secret-0123456789abcdef' } as const

export interface PeopleProvider {
  readonly issuer: string
  /** Who comes next: the subject. Null is refused as one without access to the client. */
  account: string | null
  /** Where it sends people back to. */
  readonly redirectUris: Set<string>
  /** The whole way of a browser there, from where we have sent it to the address it is sent back to. */
  visit(url: string): Promise<URL>
}

interface PeopleProviderOptions {
  readonly algorithm?: 'ES256' | 'RS256'
  /** `localhost` is another site than `127.0.0.1` to a browser. */
  readonly host?: '127.0.0.1' | 'localhost'
}

export async function startPeopleProvider(
  lifetime: Lifetime,
  { algorithm = 'ES256', host = '127.0.0.1' }: PeopleProviderOptions = {},
): Promise<PeopleProvider> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  server.unref()
  lifetime.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const issuer = `http://${host}:${(server.address() as AddressInfo).port}`
  const provider = new Provider(issuer, {
    jwks: { keys: [signingJwk(algorithm)] },
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        redirect_uris: ['https://nobody.example/'],
        id_token_signed_response_alg: algorithm,
      },
    ],
    cookies: { keys: ['a key of the cookies of the provider'] },
    claims: { openid: ['sub', 'oid', 'email'] },
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    findAccount: (_: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id, oid: `object-${id}`, email: `${id}@example.com` }),
    }),
  })
  const redirectUris = new Set<string>()
  provider.Client.prototype.redirectUriAllowed = (uri: string) => redirectUris.has(uri)
  const people: PeopleProvider = {
    issuer,
    account: 'ann',
    redirectUris,
    visit: (url) => visit(url, issuer),
  }
  const serve = provider.callback()
  server.on('request', (request, response) => {
    if (request.url?.startsWith('/interaction/') === true) void interact(provider, people, request, response)
    else serve(request, response)
  })
  return people
}

function signingJwk(algorithm: 'ES256' | 'RS256'): object {
  const { privateKey } =
    algorithm === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : generateKeyPairSync('rsa', { modulusLength: 2048 })
  return { ...privateKey.export({ format: 'jwk' }), kid: 'theirs', use: 'sig', alg: algorithm }
}

/** Signs in and consents without a question. */
async function interact(
  provider: Provider,
  { account }: PeopleProvider,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { prompt, params, session } = await provider.interactionDetails(request, response)
  const answer = async (): Promise<object> => {
    if (account === null) return { error: 'access_denied', error_description: 'canary words of the provider' }
    if (prompt.name === 'login') return { login: { accountId: account } }
    const grant = new provider.Grant({ accountId: session!.accountId, clientId: params.client_id })
    grant.addOIDCScope(params.scope)
    return { consent: { grantId: await grant.save() } }
  }
  await provider.interactionFinished(request, response, await answer())
}

const MOST_HOPS = 10

async function visit(url: string, issuer: string): Promise<URL> {
  const cookies = new Map<string, string>()
  let at = new URL(url)
  for (let hop = 0; hop < MOST_HOPS; hop++) {
    if (at.origin !== issuer) return at
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(at, { redirect: 'manual', headers: { cookie } })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (value === '') cookies.delete(name)
      else cookies.set(name, value)
    }
    const location = response.headers.get('location')
    if (location === null) throw new Error(`the provider says ${response.status} ${await response.text()}`)
    at = new URL(location, at)
  }
  throw new Error('the provider redirects without end')
}
