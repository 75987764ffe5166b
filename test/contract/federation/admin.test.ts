/** contract/gateway 10.4, contract/decisions 20, 26, 32 and 37 to 39: issuers, policies, tester, audit, signing keys. */
import tap, { test } from 'tap'
import { AUDIENCE, FederationServer, WORKLOAD } from '../../support/servers/federation-server.js'
import { API_KEY, type Json, MANAGEMENT_KEY } from '../../support/servers/gateway-server.js'
import { eventually } from '../../support/timing/eventually.js'

const bench = await FederationServer.start(tap)
const manage = bench.manage.bind(bench)
const NOWHERE = '01890000-0000-7000-8000-000000000000'
const NOT_FOUND = { error: { code: 404, message: 'Resource not found' } }
const theirs = (await manage('POST', '/organizations', { name: 'theirs', plan: 'business' })).json as Json
const target = await bench.newKey()
const issuer = await bench.newIssuer()
const fitting = { issuer_id: issuer.id, audience: AUDIENCE, subject: WORKLOAD, api_key_hash: target.hash }

test('an issuer is made, read, changed, listed and deleted', async (t) => {
  const made = await manage('POST', '/federation/issuers', { name: 'CI', issuer_url: 'https://ci.example/a' })
  t.equal(made.status, 201)
  const { data } = made.json
  const { id, organization_id, created_at, ...rest } = data
  t.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7/)
  t.equal(organization_id, issuer.organization_id)
  t.match(created_at, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/)
  t.strictSame(rest, { name: 'CI', issuer_url: 'https://ci.example/a', jwks_url: null, updated_at: null })
  const path = `/federation/issuers/${id}`
  t.strictSame((await manage('GET', path)).json, { data })
  const changes = { name: 'other', jwks_url: 'https://ci.example/keys?v=1' }
  const changed = await bench.made('PATCH', path, changes)
  t.strictSame({ ...changed, updated_at: null }, { ...data, ...changes })
  t.type(changed.updated_at, 'string')
  t.strictSame(await bench.made('PATCH', path, {}), changed, 'nothing asked, nothing changed')
  t.equal((await bench.made('PATCH', path, { jwks_url: null })).jwks_url, null)
  t.strictSame((await manage('DELETE', path)).json, { deleted: true })
  for (const method of ['GET', 'DELETE']) t.strictSame((await manage(method, path)).json, NOT_FOUND)
  t.equal((await manage('PATCH', path, { name: 'x' })).status, 404)
})

/** One change with the version that it is meant for. */
async function patch(path: string, body: object, ifMatch: string) {
  const answer = await fetch(`${bench.server.baseUrl}/api/v1${path}`, {
    method: 'PATCH',
    headers: {
      ...{ Authorization: `Bearer ${MANAGEMENT_KEY}`, 'Content-Type': 'application/json' },
      'If-Match': ifMatch,
    },
    body: JSON.stringify(body),
  })
  return { status: answer.status, tag: answer.headers.get('etag') ?? '', json: (await answer.json()) as Json }
}

async function tagOf(path: string): Promise<string> {
  const headers = { Authorization: `Bearer ${MANAGEMENT_KEY}` }
  return (await fetch(`${bench.server.baseUrl}/api/v1${path}`, { headers })).headers.get('etag') ?? ''
}

test('a change that is meant for another version is refused and changes nothing', async (t) => {
  const policy = await bench.made('POST', '/federation/policies', fitting)
  const own = await bench.newIssuer({ name: 'versions' })
  for (const [path, one, other] of [
    [`/federation/policies/${policy.id}`, { audience: 'one' }, { audience: 'other' }],
    [`/federation/issuers/${own.id}`, { name: 'one' }, { name: 'other' }],
  ] as const) {
    const first = await tagOf(path)
    t.match(first, /^"[\w-]+"$/, 'a strong tag')
    t.equal(await tagOf(path), first, 'which stays')
    const changed = await patch(path, one, first)
    t.equal(changed.status, 200)
    t.equal(changed.tag, await tagOf(path), 'the answer has the version that it has made')
    t.not(changed.tag, first)
    const late = await patch(path, other, first)
    t.equal(late.status, 412)
    t.strictSame(late.json, {
      error: {
        code: 412,
        message: 'Precondition failed: the record is not the one that If-Match names: read it again',
      },
    })
    t.equal(await tagOf(path), changed.tag, 'nothing was changed')
    for (const none of [`W/${changed.tag}`, 'x', '""']) t.equal((await patch(path, other, none)).status, 412)
    t.equal((await patch(path, one, changed.tag)).tag, changed.tag, 'nothing asked, nothing changed')
    t.equal((await patch(path, other, `"x", ${changed.tag}`)).status, 200)
    t.equal((await patch(path, one, '*')).status, 200)
    t.equal(
      (await manage('PATCH', path, other)).status,
      200,
      'without the header whatever is there is changed',
    )
  }
  t.equal((await patch(`/federation/policies/${NOWHERE}`, {}, '*')).status, 404)
})

test('of many changes that are meant for one version one is made', async (t) => {
  const { id } = await bench.made('POST', '/federation/policies', fitting)
  const path = `/federation/policies/${id}`
  const tag = await tagOf(path)
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, n) => patch(path, { audience: `audience-${n}` }, tag)),
  )
  t.equal(answers.filter(({ status }) => status === 200).length, 1)
  t.equal(answers.filter(({ status }) => status === 412).length, 11)
})

test('the keys of an issuer are looked for at once, and told with why there are none', async (t) => {
  const own = await bench.newIssuer({ name: 'checked' })
  const path = `/federation/issuers/${own.id}/check`
  const found = await manage('POST', path)
  t.equal(found.status, 200)
  t.equal(found.headers.get('cache-control'), 'no-store')
  const { data } = found.json
  t.match(data, { ok: true, reason: null, keys: [{ kid: 'k1', alg: 'ES256' }], total_keys: 1 })
  t.match(data.jwks_url, bench.issuer.url)
  t.ok(data.checked_ago_s < 30)
  const gone = await bench.newIssuer({ name: 'gone', issuer_url: `${bench.issuer.url}/gone` })
  const missing = (await manage('POST', `/federation/issuers/${gone.id}/check`)).json.data
  t.match(missing, { ok: false, jwks_url: null, keys: [], total_keys: 0 })
  t.match(missing.reason, /^discovery: /)
  t.strictSame((await manage('POST', path, undefined, theirs.key)).json, NOT_FOUND)
  t.equal((await manage('POST', path, undefined, API_KEY)).status, 403)
})

test('lists are pages with the number of all', async (t) => {
  const ids: string[] = []
  const { key } = (await manage('POST', '/organizations', { name: 'lists', plan: 'business' })).json
  for (let n = 0; n < 5; n++) ids.push((await bench.newIssuer({ name: `n${n}` }, key)).id)
  const page = async (query: string): Promise<Json> =>
    (await manage('GET', `/federation/issuers${query}`, undefined, key)).json
  const idsOf = ({ data }: Json): string[] => data.map(({ id }: Json) => id)
  t.strictSame(idsOf(await page('')), ids, 'oldest first')
  const second = await page('?offset=1&limit=2')
  t.strictSame(idsOf(second), ids.slice(1, 3))
  t.equal(second.total_count, 5)
  t.strictSame(await page('?offset=9'), { data: [], total_count: 5 })
  for (const query of ['?limit=0', '?limit=101', '?offset=-1', '?limit=x']) {
    t.match((await page(query)).error.message, /: (limit|offset): must be/, query)
  }
})

test('a URL that cannot be an issuer’s is refused with the name of its field', async (t) => {
  const bad: readonly (readonly [field: string, url: string, sentence: string])[] = [
    ['issuer_url', 'http://ci.example', 'must use https'],
    ['issuer_url', 'ftp://ci.example', 'must be an absolute https URL'],
    ['issuer_url', 'ci.example', 'must be an absolute https URL'],
    ['issuer_url', 'https://user@ci.example', 'must name no user'],
    ['issuer_url', 'https://ci.example/?a=b', 'must have no query'],
    ['issuer_url', 'https://ci.example/#a', 'must have no fragment'],
    ['issuer_url', 'https://10.0.0.1', 'must not name a private or special address'],
    ['issuer_url', 'https://[fd00::1]', 'must not name a private or special address'],
    ['issuer_url', 'https://169.254.169.254', 'must not name a private or special address'],
    ['jwks_url', 'http://ci.example/keys', 'must use https'],
    ['jwks_url', 'https://ci.example/keys#a', 'must have no fragment'],
  ]
  for (const [field, url, sentence] of bad) {
    const wish = { name: 'x', issuer_url: 'https://ci.example', [field]: url }
    for (const [method, path] of [
      ['POST', '/federation/issuers'],
      ['PATCH', `/federation/issuers/${issuer.id}`],
    ] as const) {
      const { status, json } = await manage(method, path, wish)
      t.equal(status, 400, url)
      t.equal(json.error.message, `Invalid request parameters: ${field}: ${sentence}`, `${method} ${url}`)
    }
  }
  t.strictSame(await bench.made('GET', `/federation/issuers/${issuer.id}`), issuer)
})

test('a policy is made, read, changed, listed and deleted', async (t) => {
  const made = await manage('POST', '/federation/policies', fitting)
  t.equal(made.status, 201)
  const { data } = made.json
  const { id, created_at: _, ...rest } = data
  t.strictSame(rest, {
    organization_id: issuer.organization_id,
    ...fitting,
    condition: null,
    enabled: true,
    claim_checks: {},
    updated_at: null,
  })
  const path = `/federation/policies/${id}`
  t.strictSame((await manage('GET', path)).json, { data })
  const change = async (changes: object): Promise<Json> => {
    const { updated_at, ...record } = await bench.made('PATCH', path, changes)
    t.type(updated_at, 'string')
    return record
  }
  const { updated_at: __, ...before } = data
  t.strictSame(await change({ condition: 'subject == "a"' }), { ...before, condition: 'subject == "a"' })
  t.strictSame(await change({ subject: null }), { ...before, subject: null, condition: 'subject == "a"' })
  t.strictSame(await change({ subject: 'b', condition: null }), { ...before, subject: 'b' })
  t.strictSame(await change({ enabled: false }), { ...before, subject: 'b', enabled: false })
  t.strictSame(await change({ subject: WORKLOAD, enabled: true }), before)
  const all = (await manage('GET', '/federation/policies')).json
  t.ok(all.data.some((each: Json) => each.id === id))
  t.equal(all.total_count, all.data.length)
  t.strictSame((await manage('DELETE', path)).json, { deleted: true })
  t.strictSame((await manage('GET', path)).json, NOT_FOUND)
})

test('claim checks are there once each, and go without each other', async (t) => {
  const policy = await bench.newPolicy(fitting)
  const path = `/federation/policies/${policy.id}`
  const checks = async (claim_checks: object): Promise<Json> =>
    (await bench.made('PATCH', path, { claim_checks })).claim_checks
  t.strictSame(await checks({ scopes: 'deploy' }), { scopes: 'deploy' })
  t.strictSame(await checks({ token_type: 'JWT' }), { scopes: 'deploy', token_type: 'JWT' })
  t.strictSame(await checks({ scopes: 'build' }), { scopes: 'build', token_type: 'JWT' })
  t.strictSame(await checks({}), { scopes: 'build', token_type: 'JWT' })
  t.strictSame(await checks({ scopes: null }), { token_type: 'JWT' })
  t.strictSame(await checks({ token_type: null }), {})
})

/** What makes a policy impossible, and the beginning of what is told. */
const BAD_POLICIES: readonly (readonly [change: object, message: string])[] = [
  [{ issuer_id: undefined }, 'issuer_id: is required'],
  [{ issuer_id: NOWHERE }, 'issuer_id: must be an issuer of the organization'],
  [{ issuer_id: 7 }, 'issuer_id: must be a string'],
  [{ audience: undefined }, 'audience: is required'],
  [{ audience: '' }, 'audience: must have at least 1 character'],
  [{ audience: 'a'.repeat(513) }, 'audience: must have at most 512 characters'],
  [{ subject: '' }, 'subject: must have at least 1 character'],
  [{ subject: 'a'.repeat(513) }, 'subject: must have at most 512 characters'],
  [{ subject: null }, 'subject: must be set when there is no condition'],
  [{ subject: undefined }, 'subject: must be set when there is no condition'],
  [{ api_key_hash: undefined }, 'api_key_hash: is required'],
  [{ api_key_hash: 'a'.repeat(64) }, 'api_key_hash: must be a key of the organization'],
  [{ claim_checks: { scopes: '' } }, 'claim_checks.scopes: must have at least 1 character'],
  [{ claim_checks: { token_type: 1 } }, 'claim_checks.token_type: must be a string'],
  [{ claim_checks: { sub: 'x' } }, 'claim_checks.sub: is no member of this object'],
  [{ claim_checks: [] }, 'claim_checks: must be an object'],
  [{ subject_prefix: 'repo:' }, 'subject_prefix: is no member of this object'],
  [{ enabled: 'yes' }, 'enabled: must be a boolean'],
  [{ condition: '' }, 'condition: must have at least 1 character'],
  [{ condition: 'a'.repeat(2001) }, 'condition: must have at most 2000 characters'],
  [{ condition: 'subject ==' }, 'condition: '],
  [{ condition: 'subject' }, 'condition: '],
  [{ condition: 'issuer == "x"' }, 'condition: '],
  [{ condition: 'subject.matches("a")' }, 'condition: '],
  [{ condition: 'scopes.exists(a, scopes.exists(b, a == b))' }, 'condition: '],
  [{ condition: '"scope" in subject' }, 'condition: '],
]

test('what cannot be a policy is refused with the name of the field, new or changed', async (t) => {
  const policy = await bench.newPolicy(fitting)
  const path = `/federation/policies/${policy.id}`
  for (const [change, message] of BAD_POLICIES) {
    const made = await manage('POST', '/federation/policies', { ...fitting, ...change })
    t.equal(made.status, 400, message)
    t.ok(
      made.json.error.message.startsWith(`Invalid request parameters: ${message}`),
      `${made.json.error.message} | ${message}`,
    )
    if (Object.values(change).includes(undefined)) continue
    const changed = await manage('PATCH', path, change)
    t.equal(changed.status, 400, message)
    t.equal(changed.json.error.message, made.json.error.message)
  }
  t.strictSame(await bench.made('GET', path), policy, 'and nothing has changed')
})

test('a condition tells what is wrong with it and where', async (t) => {
  const { json } = await manage('POST', '/federation/policies', {
    ...fitting,
    condition: 'true && issuer == "x"',
  })
  t.match(json.error.message, /: condition: .*issuer.* \(at character 9\)$/)
})

test('only a workspace key that is not deleted can be a target', async (t) => {
  const personal = await bench.newKey(undefined, { creator_user_id: 'u1' })
  const deleted = await bench.newKey()
  await manage('DELETE', `/keys/${deleted.hash}`)
  const foreign = await bench.newKey(theirs.key)
  const management = (await bench.made('GET', '/key')).label
  t.type(management, 'string')
  for (const [hash, message] of [
    [personal.hash, 'api_key_hash: must be a workspace key'],
    [deleted.hash, 'api_key_hash: must be a key of the organization'],
    [foreign.hash, 'api_key_hash: must be a key of the organization'],
  ] as const) {
    const { status, json } = await manage('POST', '/federation/policies', { ...fitting, api_key_hash: hash })
    t.strictSame(
      { status, json },
      { status: 400, json: { error: { code: 400, message: `Invalid request parameters: ${message}` } } },
    )
  }
})

test('two changes that are good alone do not make a bad policy together', async (t) => {
  for (let round = 0; round < 10; round++) {
    const { id } = await bench.newPolicy({ ...fitting, condition: 'true' })
    const path = `/federation/policies/${id}`
    const statuses = await Promise.all(
      [{ subject: null }, { condition: null }].map(
        async (change) => (await manage('PATCH', path, change)).status,
      ),
    )
    t.strictSame(statuses.sort(), [200, 400])
    const { subject, condition } = await bench.made('GET', path)
    t.ok(subject !== null || condition !== null)
  }
})

test('a policy whose issuer is gone can still be paused', async (t) => {
  const gone = await bench.newIssuer()
  const { id } = await bench.newPolicy({ ...fitting, issuer_id: gone.id })
  await manage('DELETE', `/federation/issuers/${gone.id}`)
  t.equal((await bench.made('PATCH', `/federation/policies/${id}`, { enabled: false })).enabled, false)
})

test('ordinary keys manage nothing, and nobody finds what is another organization’s', async (t) => {
  const policy = await bench.newPolicy(fitting)
  const operations: readonly (readonly [string, string, object?])[] = [
    ['GET', '/federation/issuers'],
    ['POST', '/federation/issuers', { name: 'x', issuer_url: 'https://ci.example' }],
    ['GET', `/federation/issuers/${issuer.id}`],
    ['PATCH', `/federation/issuers/${issuer.id}`, { name: 'taken' }],
    ['DELETE', `/federation/issuers/${issuer.id}`],
    ['GET', '/federation/policies'],
    ['POST', '/federation/policies', fitting],
    ['GET', `/federation/policies/${policy.id}`],
    ['PATCH', `/federation/policies/${policy.id}`, { enabled: false }],
    ['DELETE', `/federation/policies/${policy.id}`],
    ['POST', `/federation/policies/${policy.id}/test`, { subject_token: 'x' }],
    ['GET', '/federation/audit'],
    ['POST', '/federation/signing-keys/rotate'],
    ['DELETE', '/federation/signing-keys/any'],
  ]
  const forbidden = { error: { code: 403, message: 'Only management keys can perform this operation' } }
  for (const [method, path, body] of operations) {
    t.strictSame((await manage(method, path, body, API_KEY)).json, forbidden, `${method} ${path}`)
    t.equal((await manage(method, path, body, '')).status, 401)
    if (!path.includes(issuer.id) && !path.includes(policy.id)) continue
    const { status, json } = await manage(method, path, body, theirs.key)
    t.strictSame({ status, json }, { status: 404, json: NOT_FOUND }, `${method} ${path}`)
  }
  const foreign = await manage('POST', '/federation/policies', fitting, theirs.key)
  t.equal(
    foreign.json.error.message,
    'Invalid request parameters: issuer_id: must be an issuer of the organization',
  )
  for (const path of ['/federation/issuers', '/federation/policies', '/federation/audit']) {
    const { json } = await manage('GET', path, undefined, theirs.key)
    t.strictSame(json, { data: [], total_count: 0 }, path)
  }
  t.strictSame(await bench.made('GET', `/federation/policies/${policy.id}`), policy)
  t.strictSame(await bench.made('GET', `/federation/issuers/${issuer.id}`), issuer)
})

test('an id that can be none is not found', async (t) => {
  for (const id of ['x', '%ff', '..%2f', 'a'.repeat(5000), NOWHERE]) {
    for (const kind of ['issuers', 'policies']) {
      t.equal((await manage('GET', `/federation/${kind}/${id}`)).status, 404)
      t.equal((await manage('DELETE', `/federation/${kind}/${id}`)).status, 404)
    }
    t.equal((await manage('POST', `/federation/policies/${id}/test`, { subject_token: 'x' })).status, 404)
  }
})

test('the tester shows each step of a token, good or bad, and issues nothing', async (t) => {
  const policy = await bench.newPolicy({ ...fitting, condition: '"deploy" in scopes' })
  const path = `/federation/policies/${policy.id}/test`
  const examined = async (subject_token: string): Promise<Json> => {
    const answer = await manage('POST', path, { subject_token })
    t.equal(answer.status, 200)
    t.equal(answer.headers.get('cache-control'), 'no-store')
    return answer.json.data
  }
  const good = await examined(bench.token({ scopes: ['deploy'] }))
  t.equal(good.passed, true)
  t.ok(good.steps.every(({ outcome }: Json) => outcome === 'passed'))
  t.match(good.claims, { iss: bench.issuer.url, sub: WORKLOAD, aud: [AUDIENCE], scopes: ['deploy'] })
  t.match(good, { condition: { value: 'true' }, would_pass_if: [] })

  const bad = await examined(bench.token({ aud: 'elsewhere', exp: 1 }))
  t.equal(bad.passed, false)
  const failed = bad.steps.filter(({ outcome }: Json) => outcome === 'failed')
  t.strictSame(
    failed.map(({ step, refusal }: Json) => [step, refusal]),
    [
      ['expiry', 'expired'],
      ['audience', 'audience-mismatch'],
      ['condition', 'condition-false'],
    ],
  )
  t.ok(failed.every(({ reason }: Json) => reason.length > 10))
  t.match(failed, [
    { saw: { exp: 1 }, wanted: { exp_after: Number } },
    { saw: { aud: ['elsewhere'] }, wanted: { aud: AUDIENCE } },
    { saw: { scopes: [], subject: WORKLOAD }, wanted: { condition: '"deploy" in scopes' } },
  ])
  t.match(bad.condition, {
    ...{ text: '"deploy" in scopes', kind: 'membership', type: 'bool', value: 'false', error: null },
    children: [{ kind: 'literal' }, { text: 'scopes', kind: 'name', type: 'list(string)', value: '[]' }],
  })
  t.same(bad.would_pass_if, ['`scopes` contains "deploy"'])
  const nothing = await examined('no token at all')
  t.match(nothing, { claims: null, condition: null, would_pass_if: [] })
  t.equal(nothing.steps.find(({ step }: Json) => step === 'signature').outcome, 'skipped')
  const missing = await manage('POST', path, {})
  t.equal(missing.json.error.message, 'Invalid request parameters: subject_token: is required')
})

test('a condition is checked without a policy, and the fault says where', async (t) => {
  const checked = async (condition: string): Promise<Json> =>
    (await manage('POST', '/federation/conditions/check', { condition })).json.data
  t.same(await checked('"deploy" in scopes'), { ok: true, fault: null })
  t.same(await checked('true && nobody == "a"'), {
    ok: false,
    fault: { reason: 'unknown name: nobody', position: 8 },
  })
  const long = await manage('POST', '/federation/conditions/check', { condition: 'a'.repeat(2001) })
  t.equal(long.status, 400)
})

test('every change leaves a row that says who did what', async (t) => {
  const { data, key } = (await manage('POST', '/organizations', { name: 'audited', plan: 'business' })).json
  const own = await bench.newIssuer({}, key)
  const { hash } = await bench.newKey(key)
  const policy = await bench.newPolicy({ issuer_id: own.id, api_key_hash: hash }, key)
  const path = `/federation/policies/${policy.id}`
  for (const change of [{ audience: 'b' }, { enabled: false }, { enabled: false }, { enabled: true }]) {
    await bench.made('PATCH', path, change, key)
  }
  await bench.made('PATCH', `/federation/issuers/${own.id}`, { name: 'renamed' }, key)
  await bench.exchange(policy.id, bench.token({ aud: 'b' }))
  await bench.exchange(policy.id)
  await manage('DELETE', path, undefined, key)
  await manage('DELETE', `/federation/issuers/${own.id}`, undefined, key)
  // Exchanges are gathered for a moment, by each worker.
  const { json } = await eventually(async () => {
    const page = await manage('GET', '/federation/audit', undefined, key)
    return page.json.total_count >= 10 ? page : null
  })
  const changes = json.data.filter(({ trail }: Json) => trail === 'changes')
  t.strictSame(changes.map(({ action }: Json) => action).reverse(), [
    'issuer.create',
    'policy.create',
    'policy.update',
    'policy.pause',
    'policy.enable',
    'issuer.update',
    'policy.delete',
    'issuer.delete',
  ])
  t.ok(changes.every((row: Json) => /^[0-9a-f]{64}$/.test(row.actor) && row.address === '127.0.0.1'))
  t.ok(changes.every((row: Json) => row.issuer_id === own.id && /^req-/.test(row.request_id)))
  const trail = async (name: string): Promise<Json> =>
    (await manage('GET', `/federation/audit?trail=${name}`, undefined, key)).json.data
  const about = { policy_id: policy.id, issuer_id: own.id, api_key_hash: hash, actor: WORKLOAD }
  t.match(await trail('issued'), [{ ...about, outcome: 'issued', reason: null, action: 'exchange' }])
  t.match(await trail('refused'), [{ ...about, outcome: 'invalid-grant', reason: 'audience-mismatch' }])
  t.equal((await trail('changes')).length, 8)
  t.type(data.id, 'string')
})

test('the audit comes in pages, and a trail that is none is refused', async (t) => {
  const all = (await manage('GET', '/federation/audit?limit=100')).json
  const second = (await manage('GET', '/federation/audit?limit=2&offset=1')).json
  t.strictSame(second.data, all.data.slice(1, 3))
  t.equal(second.total_count, all.total_count)
  const bad = await manage('GET', '/federation/audit?trail=everything')
  t.equal(
    bad.json.error.message,
    'Invalid request parameters: trail: must be one of changes, issued, refused',
  )
  const deep = await manage('GET', '/federation/audit?offset=1001')
  t.equal(deep.json.error.message, 'Invalid request parameters: offset: must be at most 1000 without a trail')
  t.equal((await manage('GET', '/federation/audit?offset=1001&trail=changes')).status, 200)
})

test('the operator rotates the signing keys: new tokens bear the new one, old ones stay good', async (t) => {
  const policy = await bench.newPolicy(fitting)
  const old = await bench.accessToken(policy.id)
  const { kid } = await bench.made('POST', '/federation/signing-keys/rotate')
  const fresh = await bench.accessToken(policy.id)
  const kidOf = (token: string): string =>
    JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString()).kid
  t.equal(kidOf(fresh), kid)
  t.not(kidOf(old), kid)
  const published = (await manage('GET', '/oauth/jwks')).json.keys.map((each: Json) => each.kid)
  for (const token of [old, fresh]) {
    t.ok(published.includes(kidOf(token)))
    t.equal((await manage('GET', '/key', undefined, token)).status, 200)
  }
  const other = await manage('POST', '/federation/signing-keys/rotate', undefined, theirs.key)
  t.strictSame(other.json, { error: { code: 403, message: 'Only the operator can perform this operation' } })
})

test('the operator drops a signing key: its tokens are refused at once, others are not', async (t) => {
  const policy = await bench.newPolicy(fitting)
  const old = await bench.accessToken(policy.id)
  const kept = await bench.made('POST', '/federation/signing-keys/rotate')
  const fresh = await bench.accessToken(policy.id)
  const status = async (token: string): Promise<number> =>
    (await manage('GET', '/key', undefined, token)).status
  t.strictSame([await status(old), await status(fresh)], [200, 200])
  const stolen = JSON.parse(Buffer.from(old.split('.')[0]!, 'base64url').toString()).kid
  const other = await manage('DELETE', `/federation/signing-keys/${stolen}`, undefined, theirs.key)
  t.strictSame(other.json, { error: { code: 403, message: 'Only the operator can perform this operation' } })
  t.strictSame(await bench.made('DELETE', `/federation/signing-keys/${stolen}`), { kid: kept.kid })
  await eventually(async () => (await status(old)) === 401)
  t.equal(await status(fresh), 200)
  const published = (await manage('GET', '/oauth/jwks')).json.keys.map((each: Json) => each.kid)
  t.notOk(published.includes(stolen))
  const again = await manage('DELETE', `/federation/signing-keys/${stolen}`)
  t.strictSame([again.status, again.json], [404, NOT_FOUND])
  const { data } = (await manage('GET', '/federation/audit?trail=changes&limit=1')).json
  t.match(data[0], { action: 'signing-key.drop', reason: `kid ${stolen}`, outcome: 'done' })
})
