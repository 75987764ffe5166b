/** Sessions and sign-in providers of tests. */
import type { Session, SignInProvider } from '../../../src/store/session-store.js'
import { BEGAN, hashOf, idOf } from './accounts.js'

export const SESSION_MS = 8 * 60 * 60 * 1000

/** The nth session of a test: a member's, made n milliseconds after all began. */
export function sessionOf(n: number, more: Partial<Session> = {}): Session {
  return {
    hash: hashOf(`session ${n}`),
    organizationId: idOf(1),
    keyHash: null,
    memberId: idOf(500),
    providerId: idOf(4_001),
    address: '192.0.2.1',
    createdAt: BEGAN + n,
    expiresAt: BEGAN + n + SESSION_MS,
    ...more,
  }
}

export function providerOf(n: number, more: Partial<SignInProvider> = {}): SignInProvider {
  return {
    id: idOf(4_000 + n),
    organizationId: idOf(1),
    name: `provider ${n}`,
    connectionId: null,
    issuer: 'https://id.example.com',
    clientId: 'sluice',
    sealedSecret: null,
    subjectClaim: 'sub',
    scopes: ['openid'],
    createdAt: BEGAN,
    updatedAt: null,
    ...more,
  }
}
