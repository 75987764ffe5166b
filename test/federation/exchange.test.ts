import { test } from 'tap'
import { Fault } from '../../src/base/fault.js'
import { EXCHANGE_STEPS } from '../../src/federation/exchange-steps.js'
import { type ExchangeRefusal, REFUSAL_SENTENCES } from '../../src/federation/refusal.js'
import type { ApiKey } from '../../src/store/account-store.js'
import type { FederationPolicy } from '../../src/store/federation-store.js'
import type { ConditionOutcome } from '../../workers/tasks.js'
import { hashOf, idOf, keyOf, organizationOf } from '../support/data/accounts.js'
import { issuerOf, policyOf } from '../support/data/federation.js'
import {
  AUDIENCE,
  claimsOf,
  goodToken,
  headerOf,
  ISSUER,
  issuerKey,
  NOW,
  SUBJECT,
  tokenOf,
} from '../support/data/subject-tokens.js'
import { ExchangeBench, ISSUER_KEY } from '../support/servers/exchange-bench.js'

const KEY = ISSUER_KEY
const GOOD = goodToken(KEY)
const TWIN = issuerKey('ES256', KEY.kid)

void test('a token that satisfies the policy buys an access token that acts as the target key', async (t) => {
  const bench = await ExchangeBench.start()
  const minted = await bench.run(GOOD)
  t.notOk(minted instanceof Fault)
  if (minted instanceof Fault) return
  t.equal(minted.expiresIn, 600, 'never longer than the subject token')
  t.equal(await bench.tokens.keyHashOf(minted.token), hashOf(1))
  const claims = JSON.parse(Buffer.from(minted.token.split('.')[1]!, 'base64url').toString())
  t.match(claims, {
    sub: SUBJECT,
    federation_policy_id: policyOf(1).id,
    federation_issuer_id: issuerOf(1).id,
    client_id: policyOf(1).id,
    scope: 'inference',
    exp: NOW + 600,
  })
})

type Scene = (bench: ExchangeBench) => string | readonly [token: string, policyId: string]

const withPolicy =
  (more: Partial<FederationPolicy>, token = GOOD): Scene =>
  (bench) => {
    bench.policy(more)
    return token
  }
const withTargetKey =
  (more: Partial<ApiKey>): Scene =>
  (bench) => {
    bench.keys.set(hashOf(1), keyOf(1, more))
    return GOOD
  }
const withCondition =
  (outcome: ConditionOutcome): Scene =>
  (bench) => {
    bench.policy({ condition: 'c' })
    bench.condition = outcome
    return GOOD
  }

/** One scene for each refusal; `satisfies` makes sure that none is forgotten. */
const SCENES = {
  'policy-unknown': () => [GOOD, idOf(9_999)],
  'policy-paused': withPolicy({ enabled: false }),
  'policy-open': withPolicy({ subject: null }),
  'issuer-unknown': (bench) => {
    bench.issuers.clear()
    return GOOD
  },
  'plan-too-small': (bench) => {
    bench.organizations.set(idOf(1), organizationOf(1, { plan: 'team' }))
    return GOOD
  },
  'token-too-long': () => GOOD.padEnd(16_385, 'A'),
  'token-malformed': () => 'a.b',
  'token-encoding': () => `${GOOD.slice(0, -1)}-`,
  'header-malformed': () => tokenOf('{', claimsOf(), KEY),
  'claims-malformed': () => tokenOf(headerOf(KEY), '{', KEY),
  'alg-missing': () => tokenOf({}, claimsOf(), KEY),
  'alg-unsupported': () => tokenOf({ alg: 'none' }, claimsOf(), KEY),
  'crit-present': () => tokenOf(headerOf(KEY, { crit: ['x'] }), claimsOf(), KEY),
  'typ-invalid': () => tokenOf(headerOf(KEY, { typ: 1 }), claimsOf(), KEY),
  'typ-other-purpose': () => tokenOf(headerOf(KEY, { typ: 'dpop' }), claimsOf(), KEY),
  'kid-invalid': () => tokenOf(headerOf(KEY, { kid: 1 }), claimsOf(), KEY),
  'iss-invalid': () => goodToken(KEY, { iss: [ISSUER] }),
  'sub-invalid': () => goodToken(KEY, { sub: [SUBJECT] }),
  'aud-invalid': () => goodToken(KEY, { aud: [] }),
  'exp-invalid': () => goodToken(KEY, { exp: String(NOW + 600) }),
  'nbf-invalid': () => goodToken(KEY, { nbf: '1' }),
  'iat-invalid': () => goodToken(KEY, { iat: '1' }),
  'scopes-invalid': () => goodToken(KEY, { scopes: 'a b' }),
  'token-of-ours': () => goodToken(KEY, { iss: 'https://gateway.example' }),
  'iss-mismatch': () => goodToken(KEY, { iss: `${ISSUER}/` }),
  'key-unknown': () => tokenOf(headerOf(KEY, { kid: 'other' }), claimsOf(), KEY),
  'key-algorithm': () => {
    const other = issuerKey('RS256', KEY.kid)
    return goodToken(other)
  },
  'key-ambiguous': (bench) => {
    bench.web.publish(`${ISSUER}/keys`, [KEY.jwk, TWIN.jwk])
    return GOOD
  },
  'kid-missing': (bench) => {
    bench.web.publish(`${ISSUER}/keys`, [KEY.jwk, { ...TWIN.jwk, kid: 'b' }])
    return tokenOf({ alg: 'ES256' }, claimsOf(), KEY)
  },
  'signature-invalid': () => tokenOf(headerOf(KEY), claimsOf(), TWIN),
  expired: () => goodToken(KEY, { exp: NOW }),
  'token-too-short-lived': (bench) => {
    bench.clock.advance(200)
    return goodToken(KEY, { exp: NOW + 0.5 })
  },
  'not-yet-valid': () => goodToken(KEY, { nbf: NOW + 61 }),
  'issued-in-future': () => goodToken(KEY, { iat: NOW + 61 }),
  'sub-too-long': () => goodToken(KEY, { sub: 'a'.repeat(513) }),
  'aud-too-long': () => goodToken(KEY, { aud: [AUDIENCE, 'a'.repeat(513)] }),
  'scopes-too-many': () => goodToken(KEY, { scopes: Array(17).fill('a') }),
  'scopes-too-long': () => goodToken(KEY, { scopes: ['a'.repeat(513)] }),
  'subject-mismatch': () => goodToken(KEY, { sub: SUBJECT.toUpperCase() }),
  'audience-mismatch': () => goodToken(KEY, { aud: [`${AUDIENCE}/`, 'other'] }),
  'scopes-check': withPolicy(
    { claimChecks: { scopes: 'deploy', tokenType: null } },
    goodToken(KEY, { scopes: ['Deploy', 'deploy:all'], scope: 'deploy' }),
  ),
  'token-type-check': withPolicy({ claimChecks: { scopes: null, tokenType: 'JWT' } }, goodToken(KEY)),
  'condition-false': withCondition({ met: false, failure: null }),
  'condition-failed': withCondition({ met: false, failure: 'the condition ran late' }),
  'key-not-found': withTargetKey({ organizationId: idOf(2) }),
  'key-kind': withTargetKey({ kind: 'personal' }),
  'key-deleted': withTargetKey({ deletedAt: 1 }),
  'key-disabled': withTargetKey({ disabled: true }),
  'key-expired': withTargetKey({ expiresAt: NOW * 1000 }),
} satisfies Record<ExchangeRefusal, Scene>

for (const [refusal, scene] of Object.entries(SCENES) as [ExchangeRefusal, Scene][]) {
  void test(`${refusal}: ${REFUSAL_SENTENCES[refusal]}`, async (t) => {
    const bench = await ExchangeBench.start()
    const played = scene(bench)
    const [token, policyId] = typeof played === 'string' ? [played] : played
    const fault = await bench.run(token, policyId)
    t.ok(fault instanceof Fault)
    if (!(fault instanceof Fault)) return
    const { kind, note, metadata, retryAfter, issues } = fault
    t.strictSame(
      { kind, note, metadata, retryAfter, issues },
      { kind: 'invalid-grant', note: undefined, metadata: undefined, retryAfter: undefined, issues: [] },
    )
    t.match(bench.audit.at(-1), { outcome: 'invalid-grant', reason: refusal, trail: 'refused' })
    const { passed, steps } = await bench.examine(token, policyId)
    t.equal(passed, false)
    const failed = steps.find(({ outcome }) => outcome === 'failed')!
    t.equal(failed.refusal, refusal, 'the tester says the same')
    const early = EXCHANGE_STEPS.indexOf(failed.step) < EXCHANGE_STEPS.indexOf('signature')
    t.strictSame(bench.equalized, early ? [token] : [], 'one verification, of the token or of a random one')
  })
}

void test('there are at least forty causes of invalid_grant', async (t) => {
  t.ok(Object.keys(SCENES).length >= 40)
})

void test('no sentence about a refusal holds a quote that a dialect could not write, or words of a token', async (t) => {
  for (const sentence of Object.values(REFUSAL_SENTENCES)) t.match(sentence, /^[\x20-\x7e]+$/)
})

void test('keys of other kinds, checks that hold, and subjects left open', async (t) => {
  const bench = await ExchangeBench.start()
  bench.policy({ claimChecks: { scopes: 'deploy', tokenType: 'id' } })
  t.equal(await bench.refusal(goodToken(KEY, { scopes: ['a', 'deploy'], token_type: 'id' })), null)
  t.equal(await bench.refusal(goodToken(KEY, { scopes: ['deploy'], token_type: ['id'] })), 'token-type-check')
  t.equal(await bench.refusal(goodToken(KEY, { scopes: ['deploy'] })), 'token-type-check')
  t.equal(await bench.refusal(goodToken(KEY, { token_type: 'id' })), 'scopes-check')
  bench.policy({ subject: null, condition: 'true' })
  t.equal(await bench.refusal(goodToken(KEY, { sub: 'anybody', aud: ['x', AUDIENCE] })), null)
  bench.organizations.set(idOf(1), organizationOf(1, { plan: 'enterprise' }))
  t.equal(await bench.refusal(GOOD), null)
})

void test('a condition sees four variables, empty where a claim is absent, and only tokens that passed all else', async (t) => {
  const bench = await ExchangeBench.start()
  bench.policy({ condition: 'c', claimChecks: { scopes: null, tokenType: null } })
  await bench.run(GOOD)
  await bench.run(goodToken(KEY, { aud: ['x', AUDIENCE], scopes: ['s'], token_type: 't', secret: 1 }))
  t.strictSame(bench.judged, [
    { text: 'c', claims: { subject: SUBJECT, audience: [AUDIENCE], scopes: [], token_type: '' } },
    { text: 'c', claims: { subject: SUBJECT, audience: ['x', AUDIENCE], scopes: ['s'], token_type: 't' } },
  ])
  for (const more of [
    { exp: NOW },
    { sub: 'x' },
    { aud: 'x' },
    { nbf: NOW + 90 },
    { sub: 'a'.repeat(600) },
  ]) {
    await bench.run(goodToken(KEY, more))
  }
  await bench.run(tokenOf(headerOf(KEY), claimsOf(), TWIN))
  t.equal(bench.judged.length, 2)
})

void test('what cannot be decided now is unavailable, not a refusal', async (t) => {
  const bench = await ExchangeBench.start()
  bench.policy({ condition: 'c' })
  bench.condition = new Fault('unavailable', { retryAfter: 1 })
  t.equal(await bench.refusal(GOOD), 'unavailable')
  t.match(bench.audit.at(-1), { outcome: 'unavailable', reason: null, trail: 'refused' })
  const down = await ExchangeBench.start()
  down.web.fail(`${ISSUER}/keys`, 'no answer in time')
  const fault = await down.run(GOOD)
  t.match(fault, { kind: 'unavailable', retryAfter: 30 })
  const { passed, steps } = await down.examine(GOOD)
  t.equal(passed, false)
  t.match(
    steps.find(({ step }) => step === 'issuer-keys'),
    { outcome: 'failed', refusal: null, reason: 'keys of the issuer: key set: no answer in time' },
  )
})

void test('only tokens of the right issuer make us fetch, and nothing they say shapes the fetch', async (t) => {
  const bench = await ExchangeBench.start()
  const pointers = {
    jku: 'https://evil.example/k',
    x5u: 'https://evil.example/c',
    jwk: TWIN.jwk,
    kid: '../../x',
  }
  await bench.run(goodToken(KEY, { iss: 'https://evil.example' }))
  await bench.run('a.b.c')
  await bench.run(GOOD, idOf(9_999))
  t.strictSame(bench.web.log, [])
  await bench.run(tokenOf(headerOf(KEY, pointers), claimsOf(), TWIN))
  t.strictSame(bench.web.log, [`${ISSUER}/keys`])
})

void test('pausing, deleting and a smaller plan stop exchanges and leave issued tokens alone', async (t) => {
  const bench = await ExchangeBench.start()
  const minted = await bench.run(GOOD)
  if (minted instanceof Fault) throw minted
  bench.policy({ enabled: false })
  t.equal(await bench.refusal(GOOD), 'policy-paused')
  bench.policy({ enabled: true })
  t.equal(await bench.refusal(GOOD), null)
  bench.issuers.clear()
  t.equal(await bench.refusal(GOOD), 'issuer-unknown')
  bench.issuers.set(issuerOf(2).id, issuerOf(2))
  t.equal(await bench.refusal(GOOD), 'issuer-unknown', 'the same URL saved again revives nothing')
  bench.policies.clear()
  t.equal(await bench.refusal(GOOD), 'policy-unknown')
  t.equal(await bench.tokens.keyHashOf(minted.token), hashOf(1))
})

void test('four organizations, three issuers and three policies each: only the named policy gives a token', async (t) => {
  const bench = await ExchangeBench.start()
  const tokens: { readonly org: number; readonly issuer: number; readonly text: string }[] = []
  const policies: {
    readonly org: number
    readonly issuer: number
    readonly id: string
    readonly key: string
  }[] = []
  for (let org = 1; org <= 4; org++) {
    for (let i = 1; i <= 3; i++) {
      const n = org * 10 + i
      const key = issuerKey('ES256', 'the same kid')
      const issuerUrl = `https://issuer-${i}.example`
      const jwksUrl = `https://issuer-${i}.example/${org}`
      const issuer = issuerOf(n, { organizationId: idOf(org), issuerUrl, jwksUrl })
      bench.web.publish(jwksUrl, [key.jwk])
      tokens.push({ org, issuer: i, text: goodToken(key, { iss: issuerUrl }) })
      for (let p = 1; p <= 3; p++) {
        const target = keyOf(`${n} ${p}`, { organizationId: idOf(org) })
        const policy = policyOf(n * 10 + p, {
          organizationId: idOf(org),
          issuerId: issuer.id,
          apiKeyHash: target.hash,
          // Third policies ask for another subject.
          subject: p === 3 ? 'somebody else' : SUBJECT,
        })
        bench.add(organizationOf(org, { plan: 'business' }), issuer, policy, target)
        if (p !== 3) policies.push({ org, issuer: i, id: policy.id, key: target.hash })
        else t.equal(await bench.refusal(tokens.at(-1)!.text, policy.id), 'subject-mismatch')
      }
    }
  }
  for (const token of tokens) {
    for (const policy of policies) {
      const minted = await bench.run(token.text, policy.id)
      const fits = token.org === policy.org && token.issuer === policy.issuer
      t.equal(!(minted instanceof Fault), fits)
      if (!(minted instanceof Fault)) t.equal(await bench.tokens.keyHashOf(minted.token), policy.key)
    }
  }
})

void test('a policy whose issuer or key belongs to another organization gives nothing', async (t) => {
  const bench = await ExchangeBench.start()
  bench.issuers.set(issuerOf(1).id, issuerOf(1, { organizationId: idOf(2) }))
  t.equal(await bench.refusal(GOOD), 'issuer-unknown')
  t.strictSame(bench.web.log, [])
})

void test('the tester goes on past what fails, and tells each step', async (t) => {
  const bench = await ExchangeBench.start()
  bench.policy({ condition: 'c', enabled: false, audience: 'other' })
  const report = await bench.examine(goodToken(KEY, { exp: NOW - 100 }))
  t.strictSame(
    report.steps.map(({ step }) => step),
    EXCHANGE_STEPS,
  )
  const by = Object.fromEntries(report.steps.map(({ step, outcome }) => [step, outcome]))
  t.strictSame(by, {
    ...Object.fromEntries(EXCHANGE_STEPS.map((step) => [step, 'passed'])),
    enabled: 'failed',
    expiry: 'failed',
    audience: 'failed',
  })
  t.equal(report.claims?.subject, SUBJECT)
  t.strictSame(bench.audit, [], 'a test is no exchange')
})

void test('the tester passes what the exchange would take, and skips what a policy does not ask', async (t) => {
  const bench = await ExchangeBench.start()
  const { passed, steps } = await bench.examine(GOOD)
  t.equal(passed, true)
  t.strictSame(
    steps.filter(({ outcome }) => outcome !== 'passed').map(({ step, outcome }) => [step, outcome]),
    [['condition', 'skipped']],
  )
  const none = await bench.examine('nonsense', idOf(9_999))
  t.equal(none.claims, null)
  t.strictSame(
    none.steps.filter(({ outcome }) => outcome === 'failed').map(({ step }) => step),
    ['policy', 'token'],
  )
})

void test('every exchange leaves one row: who, policy, issuer, key, outcome and reason, and never the token', async (t) => {
  const bench = await ExchangeBench.start()
  await bench.run(GOOD)
  await bench.run(tokenOf(headerOf(KEY), claimsOf({ sub: 'forged' }), TWIN))
  await bench.run(GOOD, 'not even an id')
  t.match(bench.audit, [
    {
      trail: 'issued',
      action: 'exchange',
      organizationId: idOf(1),
      actor: SUBJECT,
      policyId: policyOf(1).id,
      issuerId: issuerOf(1).id,
      keyHash: hashOf(1),
      outcome: 'issued',
      reason: null,
      requestId: 'req-7',
      address: '192.0.2.7',
      at: NOW * 1000,
    },
    { trail: 'refused', organizationId: idOf(1), actor: null, reason: 'signature-invalid' },
    {
      trail: 'refused',
      organizationId: '',
      actor: null,
      policyId: null,
      issuerId: null,
      reason: 'policy-unknown',
    },
  ])
  t.equal(bench.audit.length, 3)
  const rows = JSON.stringify(bench.audit)
  for (const part of GOOD.split('.')) t.notOk(rows.includes(part))
  t.notOk(rows.includes('forged') || rows.includes('not even'))
})

void test('an access token of this gateway is no subject token, even where the gateway is saved as an issuer', async (t) => {
  const bench = await ExchangeBench.start()
  const minted = await bench.run(GOOD)
  if (minted instanceof Fault) throw minted
  const { token } = minted
  const own = bench.signingKeys.jwks().keys
  const saved = { issuerUrl: 'https://gateway.example', jwksUrl: 'https://gateway.example/keys' }
  bench.issuers.set(idOf(1), issuerOf(1, saved))
  bench.web.publish(saved.jwksUrl, own)
  bench.policy({ audience: 'https://gateway.example/api/v1' })
  t.match(await bench.run(token), { kind: 'invalid-grant' })
  t.match(bench.audit.at(-1), { reason: 'token-of-ours' })
  // The address of the gateway may have changed since; the name of the key is still ours.
  const [head = ''] = token.split('.')
  t.equal(bench.tokens.seemsIssuedHere('https://former.example', JSON.parse(atob(head)).kid), true)
  t.equal(bench.tokens.seemsIssuedHere('https://former.example', 'first'), false)
  t.equal(bench.tokens.seemsIssuedHere('https://former.example', null), false)
})
