import { randomBytes } from 'node:crypto'
import { test } from 'tap'
import { Fault } from '../../src/base/fault.js'
import { AccessTokenAuthority } from '../../src/identity/access-token.js'
import { createAuthority } from '../../src/identity/authenticate.js'
import { createSealer } from '../../src/identity/sealing-key.js'
import { SigningKeys } from '../../src/identity/signing-keys.js'
import type { AccountStore, ApiKey } from '../../src/store/account-store.js'
import { hashOf, keyOf } from '../support/data/accounts.js'
import { goodToken, issuerKey, NOW } from '../support/data/subject-tokens.js'
import { RingInMemory } from '../support/models/federation-memory.js'
import { FakeClock } from '../support/timing/fake-clock.js'

async function bench() {
  const clock = new FakeClock(NOW)
  const signingKeys = new SigningKeys({
    store: new RingInMemory(),
    sealer: createSealer(randomBytes(32)),
    clock,
  })
  await signingKeys.maintain()
  const tokens = new AccessTokenAuthority({ signingKeys, clock, baseUrl: 'http://gateway.example' })
  const keys = new Map<string, ApiKey>([[hashOf(1), keyOf(1)]])
  const accounts = { key: (hash: string) => keys.get(hash) ?? null } as unknown as AccountStore
  const rows = new Map()
  const callers = createAuthority(accounts, clock, () => rows, tokens)
  const call = async (token: string, access: 'key' | 'management' = 'key'): Promise<string> => {
    try {
      return (await callers.authorize(`Bearer ${token}`, '', 'chat', access)).keyHash
    } catch (error) {
      return error instanceof Fault ? error.kind : String(error)
    }
  }
  const grant = {
    subject: 's',
    policyId: 'p',
    issuerId: 'i',
    keyHash: hashOf(1),
    subjectExpiresAt: NOW + 900,
  }
  return { clock, keys, call, token: (await tokens.mint(grant))!.token }
}

void test('an access token acts as its key, and the state of the key counts with every request', async (t) => {
  const { keys, call, token, clock } = await bench()
  const states: readonly (readonly [Partial<ApiKey>, string])[] = [
    [{}, hashOf(1)],
    [{ disabled: true }, 'unauthenticated'],
    [{}, hashOf(1)],
    [{ expiresAt: NOW * 1000 }, 'unauthenticated'],
    [{ expiresAt: NOW * 1000 + 1 }, hashOf(1)],
    [{ deletedAt: 1 }, 'unauthenticated'],
  ]
  for (const [state, outcome] of states) {
    keys.set(hashOf(1), keyOf(1, state))
    t.equal(await call(token), outcome)
  }
  keys.clear()
  t.equal(await call(token), 'unauthenticated')
  keys.set(hashOf(1), keyOf(1))
  clock.advance(899_999)
  t.equal(await call(token), hashOf(1))
  clock.advance(1)
  t.equal(await call(token), 'unauthenticated')
})

void test('an access token never widens what its key may do', async (t) => {
  const { call, token } = await bench()
  t.equal(await call(token, 'management'), 'forbidden')
})

void test('a subject token never passes as a bearer, whoever has signed it', async (t) => {
  const { call } = await bench()
  for (const alg of ['ES256', 'RS256', 'EdDSA'])
    t.equal(await call(goodToken(issuerKey(alg, 'k'))), 'unauthenticated')
})

void test('a cut or changed token is refused, before and after the whole one was used', async (t) => {
  const { call, token } = await bench()
  for (let round = 0; round < 2; round++) {
    for (const cut of [
      token.slice(0, -1),
      token.slice(1),
      `${token}A`,
      token.slice(0, token.lastIndexOf('.')),
    ]) {
      t.equal(await call(cut), 'unauthenticated')
    }
    t.equal(await call(token), hashOf(1))
  }
})
