/** A stand-in for an identity provider on loopback: discovery, a key set, and tokens for whatever workload is named. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'

const ALGORITHM = 'ES256'
const KEY_ID = 'demo'

/** What tokens are made for. */
export const AUDIENCE = 'sluice-demo'

export type IdentityProvider = Awaited<ReturnType<typeof startIdentityProvider>>

export async function startIdentityProvider() {
  const { privateKey, publicKey } = await generateKeyPair(ALGORITHM)
  const jwk = { ...(await exportJWK(publicKey)), kid: KEY_ID, alg: ALGORITHM, use: 'sig' }
  let issuer = ''
  const server = createServer(({ url }, response) => {
    const answers: Readonly<Record<string, object>> = {
      '/.well-known/openid-configuration': { issuer, jwks_uri: `${issuer}/keys` },
      '/keys': { keys: [jwk] },
    }
    const answer = answers[url ?? '']
    response.writeHead(answer === undefined ? 404 : 200, { 'Content-Type': 'application/json' })
    response.end(JSON.stringify(answer ?? {}))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    issuer,
    /** A token of five minutes. */
    token: (subject: string): Promise<string> =>
      new SignJWT({ scopes: ['inference'] })
        .setProtectedHeader({ alg: ALGORITHM, kid: KEY_ID })
        .setIssuer(issuer)
        .setSubject(subject)
        .setAudience(AUDIENCE)
        .setIssuedAt()
        .setExpirationTime('5m')
        .sign(privateKey),
    close: async (): Promise<void> => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
