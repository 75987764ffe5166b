/** Tokens and policies for every cause of `invalid_grant` that the wire can meet, one for each. */
import { randomUUID } from 'node:crypto'
import type { ExchangeRefusal } from '../../../src/federation/refusal.js'
import { newIssuingKey, signToken, tokenHeader } from './issuing-key.js'
import { LocalIssuer, WORKLOAD } from './local-issuer.js'
import type { AdminClient, FederationTrust } from './trust.js'

export interface RefusalCase {
  readonly cause: ExchangeRefusal
  readonly policyId: string
  /** The subject token for a try that is made now. */
  token(): string
  /** Who can read the audit row of it; null when no organization can: it belongs to none. */
  readonly auditor: AdminClient | null
}

/** Causes that no request can bring about: other checks come first, or no operation makes such a record. */
export const NOT_ON_THE_WIRE: readonly ExchangeRefusal[] = [
  'token-too-long',
  'token-malformed',
  'policy-open',
  'key-not-found',
  'key-kind',
]

const KEY_LIFE_MS = 2_000
const FAR_SECONDS = 3_600
const TOO_LONG = 'x'.repeat(513)

/** Prepares a server: an issuer with keys of every kind, and a policy for each state one can be in. */
export async function refusalCases(admin: AdminClient) {
  const keys = issuerKeys()
  const issuer = await LocalIssuer.start(Object.values(keys))
  const trust = await admin.trustIssuer(issuer)
  const readyAt = Date.now() + KEY_LIFE_MS + 500
  const bad = (cause: ExchangeRefusal, token: () => string, policyId = trust.policyId): RefusalCase => ({
    cause,
    policyId,
    token,
    auditor: cause === 'policy-unknown' ? null : admin,
  })
  const good = always(issuer.token())
  const states = await refusingPolicies(admin, trust)
  return {
    /** What every case is one step away from, and an exchange accepts. */
    good: { policyId: trust.policyId, token: good },
    cases: [
      bad('policy-unknown', good, randomUUID()),
      ...states.map(([cause, policyId]) => bad(cause, good, policyId)),
      { ...bad('plan-too-small', good), ...(await organizationWithoutPlan(admin, issuer)) },
      ...badTokens(issuer, keys).map(([cause, token]) => bad(cause, token)),
    ],
    /** Unix time in milliseconds from which on all of them are what they say. */
    readyAt,
    stop: () => issuer.stop(),
  }
}

type IssuerKeys = ReturnType<typeof issuerKeys>

const issuerKeys = () => ({
  first: newIssuingKey('ES256', 'first'),
  rsa: newIssuingKey('RS256', 'rsa'),
  twin: newIssuingKey('ES256', 'twin'),
  otherTwin: newIssuingKey('ES256', 'twin'),
})

const always = (token: string) => () => token

/** Policies that refuse every token, the good one included. */
async function refusingPolicies(
  admin: AdminClient,
  { issuerId, keyHash }: FederationTrust,
): Promise<[ExchangeRefusal, string][]> {
  const policy = (more: object, hash = keyHash, ofIssuer = issuerId): Promise<string> =>
    admin.newPolicy({ issuerId: ofIssuer, keyHash: hash }, { subject: WORKLOAD, ...more })
  const ofKey = async (more: object = {}): Promise<[policyId: string, keyHash: string]> => {
    const { keyHash: hash } = await admin.newKey(more)
    return [await policy({}, hash), hash]
  }
  const [deleted, deletedKey] = await ofKey()
  await admin.requireSuccess('DELETE', `/keys/${deletedKey}`)
  const [disabled, disabledKey] = await ofKey()
  await admin.requireSuccess('PATCH', `/keys/${disabledKey}`, { disabled: true })
  const [expired] = await ofKey({ expires_at: new Date(Date.now() + KEY_LIFE_MS).toISOString() })
  return [
    ['policy-paused', await policy({ enabled: false })],
    ['issuer-unknown', await policyOfDeletedIssuer(admin, keyHash)],
    ['subject-mismatch', await policy({ subject: `${WORKLOAD}s` })],
    ['audience-mismatch', await policy({ audience: 'Sluice' })],
    ['scopes-check', await policy({ claim_checks: { scopes: 'deploy' } })],
    ['token-type-check', await policy({ claim_checks: { token_type: 'workload' } })],
    ['condition-false', await policy({ condition: 'subject.startsWith("Repo:")' })],
    ['condition-failed', await policy({ condition: 'audience[9] == "sluice"' })],
    ['key-deleted', deleted],
    ['key-disabled', disabled],
    ['key-expired', expired],
  ]
}

async function policyOfDeletedIssuer(admin: AdminClient, keyHash: string): Promise<string> {
  const wish = { name: 'deleted', issuer_url: 'https://issuer.example' }
  const { data } = await admin.requireSuccess('POST', '/federation/issuers', wish)
  const policyId = await admin.newPolicy({ issuerId: data.id, keyHash }, { subject: WORKLOAD })
  await admin.requireSuccess('DELETE', `/federation/issuers/${data.id}`)
  return policyId
}

/** Another organization that trusts the same issuer and has lost its plan. */
async function organizationWithoutPlan(
  admin: AdminClient,
  issuer: LocalIssuer,
): Promise<Pick<RefusalCase, 'policyId' | 'auditor'>> {
  const wish = { name: 'another', plan: 'business' }
  const { data, key } = await admin.requireSuccess('POST', '/organizations', wish)
  const auditor = admin.withCredential(key)
  const { policyId } = await auditor.trustIssuer(issuer)
  await admin.requireSuccess('PATCH', `/organizations/${data.id}`, { plan: 'free' })
  return { policyId, auditor }
}

/** Tokens that the good policy refuses. */
function badTokens(issuer: LocalIssuer, keys: IssuerKeys): [ExchangeRefusal, () => string][] {
  const { first, rsa, twin } = keys
  const now = Math.floor(Date.now() / 1000)
  const header = tokenHeader(first)
  const claims = issuer.claims()
  const withHeader = (more: object | string): (() => string) =>
    always(signToken(typeof more === 'string' ? more : { ...header, ...more }, claims, first))
  const withClaims = (more: object | string): (() => string) =>
    always(signToken(header, typeof more === 'string' ? more : { ...claims, ...more }, first))
  return [
    ['token-encoding', always(withLooseBits(issuer.token()))],
    ['header-malformed', withHeader(JSON.stringify(header).replace('{', '{"kid":"first",'))],
    ['claims-malformed', withClaims(JSON.stringify(claims).replace('{', '{"sub":"another",'))],
    ['alg-missing', withHeader({ alg: undefined })],
    ['alg-unsupported', withHeader({ alg: 'HS256' })],
    ['crit-present', withHeader({ crit: ['exp'] })],
    ['typ-invalid', withHeader({ typ: 7 })],
    ['typ-other-purpose', withHeader({ typ: 'dpop' })],
    ['kid-invalid', withHeader({ kid: 7 })],
    ['iss-invalid', withClaims({ iss: [issuer.url] })],
    ['sub-invalid', withClaims({ sub: [WORKLOAD] })],
    ['aud-invalid', withClaims({ aud: [] })],
    ['exp-invalid', withClaims({ exp: String(now + FAR_SECONDS) })],
    ['nbf-invalid', withClaims({ nbf: String(now) })],
    ['iat-invalid', withClaims({ iat: String(now) })],
    ['scopes-invalid', withClaims({ scopes: 'deploy' })],
    ['iss-mismatch', withClaims({ iss: `${issuer.url}/` })],
    ['key-unknown', always(issuer.token({}, { ...first, kid: 'unknown' }))],
    ['key-algorithm', always(issuer.token({}, { ...first, kid: rsa.kid }))],
    ['key-ambiguous', always(issuer.token({}, twin))],
    ['kid-missing', withHeader({ kid: undefined })],
    ['signature-invalid', always(issuer.token({}, { ...twin, kid: first.kid }))],
    ['expired', withClaims({ exp: now - 1 })],
    ['not-yet-valid', withClaims({ nbf: now + FAR_SECONDS })],
    ['issued-in-future', withClaims({ iat: now + FAR_SECONDS })],
    ['sub-too-long', withClaims({ sub: TOO_LONG })],
    ['aud-too-long', withClaims({ aud: ['sluice', TOO_LONG] })],
    ['scopes-too-many', withClaims({ scopes: Array(17).fill('deploy') })],
    ['scopes-too-long', withClaims({ scopes: ['deploy', TOO_LONG] })],
    // Expires within the second in which it is made.
    ['token-too-short-lived', () => issuer.token({ exp: Math.floor(Date.now() / 1000) + 0.999_999 }, first)],
  ]
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'

/** The same bytes in another text: the last character of a signature has bits that do not count. */
function withLooseBits(token: string): string {
  const last = ALPHABET.indexOf(token.at(-1)!)
  return token.slice(0, -1) + ALPHABET[last + 1]
}
