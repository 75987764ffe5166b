/** contract/decisions 14: whatever is wrong with token, policy or key, the answer is the same, byte for byte. */
import { createHmac } from 'node:crypto'
import tap, { test } from 'tap'
import { base64url, headerOf, type IssuerKey, issuerKey, tokenOf } from '../../support/data/subject-tokens.js'
import { IssuerServer } from '../../support/providers/issuer-server.js'
import { AUDIENCE, FederationServer, WORKLOAD } from '../../support/servers/federation-server.js'
import type { Json } from '../../support/servers/gateway-server.js'
import { eventually } from '../../support/timing/eventually.js'

const bench = await FederationServer.start(tap)
const { issuer, target, policy } = await bench.trusting()
const { key } = bench
const GOOD = bench.token()
const now = Math.floor(Date.now() / 1000)
const fitting = { issuer_id: issuer.id, api_key_hash: target.hash }

/** A token signed as it should be, with a part changed. */
const claims = (more: object): string => bench.token(more)
const header = (more: object): string => bench.token({}, more)
const raw = (head: unknown, body: unknown): string => tokenOf(head, body, key)
const head = headerOf(key)

/** Another signature under the same header and claims. */
function signed(signature: Uint8Array): string {
  return `${GOOD.slice(0, GOOD.lastIndexOf('.'))}.${base64url(Buffer.from(signature))}`
}

function hmacToken(): string {
  const text = `${base64url({ alg: 'HS256', typ: 'JWT', kid: key.kid })}.${base64url(bench.claims())}`
  const secret = JSON.stringify(key.jwk)
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`
}

/** r and s of an ES256 signature as ASN.1. */
function der(plain: Buffer): Buffer {
  const integer = (bytes: Buffer): Buffer => Buffer.concat([Buffer.of(2, 33, 0), bytes])
  const both = Buffer.concat([integer(plain.subarray(0, 32)), integer(plain.subarray(32))])
  return Buffer.concat([Buffer.of(0x30, both.length), both])
}

async function issuerWith(keys: readonly IssuerKey[]): Promise<{ url: string; policyId: string }> {
  const other = await IssuerServer.start(tap)
  other.keys = keys.map(({ jwk }) => jwk)
  const { id } = await bench.newIssuer({ issuer_url: other.url })
  const made = await bench.newPolicy({ ...fitting, issuer_id: id })
  return { url: other.url, policyId: made.id }
}

async function policyWith(more: object): Promise<string> {
  return (await bench.newPolicy({ ...fitting, ...more })).id
}

async function policyOfKey(change: (hash: string) => Promise<unknown>, more: object = {}): Promise<string> {
  const { hash } = await bench.newKey(undefined, more)
  const id = await policyWith({ api_key_hash: hash })
  await change(hash)
  return id
}

const twin = issuerKey('ES256', key.kid)
const rsa1024 = issuerKey('RS256', 'weak', 1024)
const rsa = issuerKey('RS256', key.kid)
const signature = Buffer.from(GOOD.split('.')[2]!, 'base64url')

const paused = await policyWith({ enabled: false })
const gone = await policyWith({})
await bench.manage('DELETE', `/federation/policies/${gone}`)
const orphan = await bench.newIssuer()
const orphaned = await policyWith({ issuer_id: orphan.id })
await bench.manage('DELETE', `/federation/issuers/${orphan.id}`)
// The same URL once more does not revive what the deleted one had (contract/decisions 38).
await bench.newIssuer()
const ambiguous = await issuerWith([key, twin])
const nameless = await issuerWith([key, issuerKey('ES256', 'k2')])
const weak = await issuerWith([rsa1024])
const small: Json = await bench.manage('POST', '/organizations', { name: 'small', plan: 'team' })
const smallIssuer = await bench.newIssuer({}, small.json.key)
const smallKey = await bench.newKey(small.json.key)
const inSmall = await bench.newPolicy(
  { issuer_id: smallIssuer.id, api_key_hash: smallKey.hash },
  small.json.key,
)

/** Each: what is wrong, the token, the policy where it is not the good one. */
const CAUSES: readonly (readonly [about: string, token: string, policyId?: string])[] = [
  ['no such policy', GOOD, '01890000-0000-7000-8000-000000000000'],
  ['a paused policy', GOOD, paused],
  ['a deleted policy', GOOD, gone],
  ['a deleted issuer', GOOD, orphaned],
  ['a plan without federation', GOOD, inSmall.id],
  ['a part that is not canonical base64url', `${GOOD.slice(0, -1)}-`],
  ['no JSON in the header', raw('{', bench.claims())],
  ['a list as header', raw([], bench.claims())],
  ['a member of the header twice', raw(JSON.stringify(head).replace('{', '{"alg":"ES256",'), bench.claims())],
  ['no JSON in the claims', raw(head, '{')],
  ['a claim twice', raw(head, JSON.stringify(bench.claims()).replace('{', '{"sub":"x",'))],
  ['a byte order mark', raw(head, `\ufeff${JSON.stringify(bench.claims())}`)],
  ['no alg', raw({ kid: key.kid }, bench.claims())],
  ['alg none', raw({ alg: 'none', kid: key.kid }, bench.claims())],
  ['HS256 with the public key', hmacToken()],
  ['crit', header({ crit: ['x'], x: 1 })],
  ['b64', header({ b64: false })],
  ['typ that is no text', header({ typ: 1 })],
  ['typ of a proof', header({ typ: 'dpop' })],
  ['typ of a security event', header({ typ: 'secevent+jwt' })],
  ['typ of an encrypted token', header({ typ: 'JWE' })],
  ['kid that is no text', header({ kid: 7 })],
  ['no iss', claims({ iss: undefined })],
  ['iss as a list', claims({ iss: [bench.issuer.url] })],
  ['iss with a slash more', claims({ iss: `${bench.issuer.url}/` })],
  ['no sub', claims({ sub: undefined })],
  ['an empty sub', claims({ sub: '' })],
  ['sub as a list', claims({ sub: [WORKLOAD] })],
  ['no aud', claims({ aud: undefined })],
  ['an empty aud', claims({ aud: [] })],
  ['aud as a number', claims({ aud: 1 })],
  ['no exp', claims({ exp: undefined })],
  ['exp as text', claims({ exp: String(now + 600) })],
  ['exp a second ago', claims({ exp: now - 1 })],
  ['nbf as text', claims({ nbf: '1' })],
  ['nbf beyond the leeway', claims({ nbf: now + 300 })],
  ['iat as text', claims({ iat: '1' })],
  ['iat beyond the leeway', claims({ iat: now + 300 })],
  ['scopes as a text', claims({ scopes: 'a b' })],
  ['scopes with a number', claims({ scopes: ['a', 1] })],
  ['17 scopes', claims({ scopes: Array(17).fill('a') })],
  ['a scope of 513 characters', claims({ scopes: ['a'.repeat(513)] })],
  ['sub of 513 characters', claims({ sub: 'a'.repeat(513) })],
  ['an aud of 513 characters', claims({ aud: [AUDIENCE, 'a'.repeat(513)] })],
  ['an unknown kid', header({ kid: 'other' })],
  ['the kid of a key of another algorithm', bench.token({}, {}, rsa)],
  ['a kid that two keys have', claims({ iss: ambiguous.url }), ambiguous.policyId],
  [
    'no kid where two keys fit',
    raw({ alg: 'ES256' }, bench.claims({ iss: nameless.url })),
    nameless.policyId,
  ],
  ['RSA of 1,024 bits', bench.token({ iss: weak.url }, {}, rsa1024), weak.policyId],
  ['the signature of another key', bench.token({}, {}, twin)],
  ['an embedded key', tokenOf({ ...head, jwk: twin.jwk }, bench.claims(), twin)],
  ['a signature of zeros', signed(Buffer.alloc(64))],
  ['a signature with r zero', signed(Buffer.concat([Buffer.alloc(32), signature.subarray(32)]))],
  ['a signature as DER', signed(der(signature))],
  ['a signature cut short', signed(signature.subarray(0, 63))],
  [
    'claims of another token',
    [...GOOD.split('.').slice(0, 1), ...claims({ jti: 'x' }).split('.').slice(1, 2), GOOD.split('.')[2]].join(
      '.',
    ),
  ],
  ['a subject in other letters', claims({ sub: WORKLOAD.toUpperCase() })],
  ['a subject that only begins so', claims({ sub: `${WORKLOAD}2` })],
  ['another audience', claims({ aud: [`${AUDIENCE}/`, 'other'] })],
  ['the audience in other letters', claims({ aud: AUDIENCE.toUpperCase() })],
  ['a claim check on scopes, none there', GOOD, await policyWith({ claim_checks: { scopes: 'deploy' } })],
  [
    'a claim check on scopes, scope does not count beside them',
    claims({ scope: 'deploy', scopes: ['read'] }),
    await policyWith({ claim_checks: { scopes: 'deploy' } }),
  ],
  [
    'a claim check on scopes, a part of a word of scope',
    claims({ scope: 'deploy:all redeploy' }),
    await policyWith({ claim_checks: { scopes: 'deploy' } }),
  ],
  [
    'a condition that forbids a scope, more words of scope than are looked at',
    claims({ scope: `blocked ${'a '.repeat(16)}` }),
    await policyWith({ condition: '!("blocked" in scopes)' }),
  ],
  [
    'a claim check on token_type, typ does not count',
    header({ typ: 'JWT' }),
    await policyWith({ claim_checks: { token_type: 'JWT' } }),
  ],
  [
    'a claim check on token_type, a list there',
    claims({ token_type: ['a'] }),
    await policyWith({ claim_checks: { token_type: 'a' } }),
  ],
  ['a condition that is false', GOOD, await policyWith({ condition: 'subject == "x"' })],
  ['a condition that errs', GOOD, await policyWith({ condition: 'scopes[0] == "x"' })],
  ['a deleted key', GOOD, await policyOfKey((hash) => bench.manage('DELETE', `/keys/${hash}`))],
  [
    'a disabled key',
    GOOD,
    await policyOfKey((hash) => bench.manage('PATCH', `/keys/${hash}`, { disabled: true })),
  ],
  ['an expired key', GOOD, await policyOfKey(async () => {}, { expires_at: '2020-01-01T00:00:00Z' })],
]

/** Policies that are unknown or deleted belong to nobody, and one of the causes is in another organization. */
const ELSEWHERE = 3

/** Everything of an answer that could tell one cause from another. */
function visible(headers: Headers): [string, string][] {
  return [...headers].filter(([name]) => name !== 'date' && name !== 'x-request-id')
}

test('the good token works, so that each refusal is for its own cause', async (t) => {
  t.equal((await bench.exchange(policy.id)).status, 200)
})

test('all causes of invalid_grant look the same', async (t) => {
  t.ok(CAUSES.length >= 60, `${CAUSES.length} causes`)
  let first: { text: string; headers: [string, string][] } | null = null
  for (const [about, token, policyId = policy.id] of CAUSES) {
    const { status, text, headers } = await bench.exchange(policyId, token)
    t.equal(status, 400, about)
    const seen = { text, headers: visible(headers) }
    first ??= seen
    t.strictSame(seen, first, about)
  }
  t.equal(first?.text, '{"error":"invalid_grant","error_description":"The subject token was not accepted"}')
})

test('the audit tells them apart, and holds no token', async (t) => {
  // Each worker gathers its rows for a moment.
  const { json, text } = await eventually(async () => {
    const page = await bench.manage('GET', '/federation/audit?trail=refused&limit=100')
    return page.json.total_count >= CAUSES.length - ELSEWHERE ? page : null
  })
  const reasons = new Set(json.data.map(({ reason }: Json) => reason))
  t.ok(reasons.size > 30, `${reasons.size} reasons`)
  for (const reason of ['policy-paused', 'issuer-unknown', 'signature-invalid', 'expired', 'key-disabled']) {
    t.ok(reasons.has(reason), reason)
  }
  for (const [, token] of CAUSES) t.notOk(text.includes(token.slice(-40)))
  t.equal(bench.server.log().includes(GOOD.slice(-40)), false)
})
