/** An identity provider that nobody here wrote: `oidc-provider`, which issues JWT access tokens by RFC 9068. */
import { generateKeyPairSync } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'
import type { Lifetime } from '../data/temp-folder.js'

/** A machine of the provider, which gets its tokens by client credentials. */
export const MACHINE = { id: 'job-1', secret: 'a-secret-of-the-machine-0123456789' } as const
/** For whom its tokens are, and what they may say. */
export const RESOURCE = 'urn:example:sluice'
export const SCOPES = 'deploy read'

/** The issuer's URL; it listens on loopback as long as the test runs. */
export async function startIdentityProvider(lifetime: Lifetime): Promise<string> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  server.unref()
  lifetime.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const key = { ...privateKey.export({ format: 'jwk' }), kid: 'theirs', use: 'sig', alg: 'ES256' }
  const provider = new Provider(issuer, {
    jwks: { keys: [key] },
    clients: [
      {
        client_id: MACHINE.id,
        client_secret: MACHINE.secret,
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
        id_token_signed_response_alg: 'ES256',
      },
    ],
    scopes: SCOPES.split(' '),
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => RESOURCE,
        getResourceServerInfo: () => ({
          scope: SCOPES,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
  })
  server.on('request', provider.callback())
  return issuer
}
