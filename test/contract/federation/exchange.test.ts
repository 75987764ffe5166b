/** contract/gateway 10.1 to 10.3, contract/decisions 14, 18, 35 and 55: the token exchange over the wire. */
import { OpenRouter } from '@openrouter/sdk'
import { createLocalJWKSet, createRemoteJWKSet, jwtVerify } from 'jose'
import tap, { test } from 'tap'
import { lockableOperations } from '../../../src/app.js'
import { httpClient } from '../../support/clients/http-client.js'
import {
  ACCESS_TOKEN_TYPE,
  encoded,
  FederationServer,
  type Form,
  GRANT_TYPE,
  JWT_TYPE,
  WORKLOAD,
} from '../../support/servers/federation-server.js'
import {
  API_KEY,
  askChat,
  eventsOf,
  type Json,
  MANAGEMENT_KEY,
} from '../../support/servers/gateway-server.js'
import { eventually } from '../../support/timing/eventually.js'

const bench = await FederationServer.start(tap, { SLUICE_LOG_LEVEL: 'debug', SLUICE_LOG_CALLS: 'all' })
const { issuer, target, policy } = await bench.trusting({ condition: 'subject.startsWith("repo:octo/")' })
const { server } = bench
const GOOD = bench.form(policy.id)

test('from an issuer to a streamed answer: the workload acts as the target key', async (t) => {
  const exchanged = await bench.post(GOOD)
  t.equal(exchanged.status, 200)
  t.strictSame(Object.keys(exchanged.json).sort(), [
    'access_token',
    'expires_in',
    'issued_token_type',
    'scope',
    'token_type',
  ])
  const { access_token: token, expires_in, ...rest } = exchanged.json
  t.strictSame(rest, { issued_token_type: ACCESS_TOKEN_TYPE, token_type: 'Bearer', scope: 'inference' })
  t.ok(Number.isInteger(expires_in) && expires_in > 590 && expires_in <= 600, 'as long as the subject token')
  t.equal(exchanged.headers.get('cache-control'), 'no-store')
  t.equal(exchanged.headers.get('pragma'), 'no-cache')
  t.match(exchanged.headers.get('content-type'), /^application\/json/)

  const body = { model: 'sim/instant', stream: true, messages: [{ role: 'user', content: 'hello' }] }
  const chat = await askChat(server, body, { Authorization: `Bearer ${token}` })
  t.equal(chat.status, 200)
  const events = eventsOf(chat.text)
  t.equal(events.at(-1), '[DONE]')
  t.ok(events.some((event) => (event.choices?.[0]?.delta?.content ?? '') !== ''))

  // Lines about calls are gathered for a moment.
  const id = events[0].id
  const line = await eventually(() =>
    server
      .log()
      .split('\n')
      .find((each) => each.includes(id)),
  )
  t.equal(JSON.parse(line).key, target.hash, 'and it is the one that is charged')
  const self = await bench.manage('GET', '/key', undefined, token)
  const own = await bench.manage('GET', '/key', undefined, target.key)
  t.strictSame(self.json, own.json, 'the token is seen as the key it acts for')
})

test('jose verifies the token against the published keys', async (t) => {
  const token = await bench.accessToken(policy.id)
  const published = await bench.manage('GET', '/oauth/jwks', undefined, '')
  t.equal(published.status, 200)
  t.match(published.headers.get('cache-control'), /^public, max-age=\d+$/)
  t.ok(published.json.keys.length >= 2, 'the key that signs and the next one')
  for (const key of published.json.keys) {
    t.strictSame(Object.keys(key).sort(), ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'])
  }
  const { payload, protectedHeader } = await jwtVerify(token, createLocalJWKSet(published.json), {
    issuer: server.baseUrl,
    audience: server.apiUrl,
    typ: 'at+jwt',
    algorithms: ['ES256'],
    requiredClaims: ['sub', 'exp', 'iat', 'jti', 'client_id'],
  })
  t.equal(protectedHeader.alg, 'ES256')
  t.match(payload, {
    sub: WORKLOAD,
    client_id: policy.id,
    federation_policy_id: policy.id,
    federation_issuer_id: issuer.id,
    scope: 'inference',
  })
})

test('the public SDK exchanges and lists keys without a change', async (t) => {
  for (const apiKey of [undefined, 'sk-of-somebody-else']) {
    const client = new OpenRouter({
      serverURL: server.apiUrl,
      ...(apiKey !== undefined && { apiKey }),
      retryConfig: { strategy: 'none' },
    })
    const answer = await client.oAuth.createOauthToken({
      tokenExchangeRequest: {
        grantType: GRANT_TYPE,
        subjectToken: bench.token(),
        subjectTokenType: JWT_TYPE,
        federationPolicyId: policy.id,
        requestedTokenType: ACCESS_TOKEN_TYPE,
        scope: 'inference',
      },
    })
    t.equal(answer.tokenType, 'Bearer')
    t.equal((await bench.manage('GET', '/key', undefined, answer.accessToken)).status, 200)
    const { keys } = await client.oAuth.listOauthJwks()
    t.ok(keys.every(({ kty, alg }) => kty === 'EC' && alg === 'ES256'))
    const refused = client.oAuth.createOauthToken({
      tokenExchangeRequest: {
        grantType: GRANT_TYPE,
        subjectToken: bench.token({ aud: 'elsewhere' }),
        subjectTokenType: JWT_TYPE,
        federationPolicyId: policy.id,
      },
    })
    await t.rejects(refused, { name: 'OAuthErrorResponse', error: 'invalid_grant' })
  }
})

/** The good form with a field changed, or taken away. */
function but(name: string, value: string | null): Form {
  const others = GOOD.filter(([each]) => each !== name)
  return value === null ? others : [...others, [name, value]]
}

const twice = (name: string): Form => [...GOOD, GOOD.find(([each]) => each === name)!]

/** Each: what is sent, the error, and the status where it is not 400. */
const ERRORS: readonly (readonly [about: string, form: Form | string, error: string])[] = [
  ['no grant_type', but('grant_type', null), 'invalid_request'],
  ['an empty grant_type', but('grant_type', ''), 'invalid_request'],
  ['another grant_type', but('grant_type', 'client_credentials'), 'unsupported_grant_type'],
  ['a grant_type in other letters', but('grant_type', GRANT_TYPE.toUpperCase()), 'unsupported_grant_type'],
  ['another grant_type and nothing else', [['grant_type', 'password']], 'unsupported_grant_type'],
  ['no subject_token', but('subject_token', null), 'invalid_request'],
  ['an empty subject_token', but('subject_token', ''), 'invalid_request'],
  ['two parts', but('subject_token', 'YQ.YQ'), 'invalid_request'],
  ['five parts', but('subject_token', 'YQ.YQ.YQ.YQ.YQ'), 'invalid_request'],
  ['an empty part', but('subject_token', 'YQ..YQ'), 'invalid_request'],
  ['parts of another alphabet', but('subject_token', 'YQ.Y+.YQ'), 'invalid_request'],
  ['a line end behind it', but('subject_token', `${bench.token()}\n`), 'invalid_request'],
  [
    'a subject_token of 16,385 characters',
    but('subject_token', 'YQ.YQ.'.padEnd(16_385, 'A')),
    'invalid_request',
  ],
  [
    'a subject_token of 16,384 characters',
    but('subject_token', 'YQ.YQ.'.padEnd(16_384, 'A')),
    'invalid_grant',
  ],
  ['no subject_token_type', but('subject_token_type', null), 'invalid_request'],
  ['another subject_token_type', but('subject_token_type', ACCESS_TOKEN_TYPE), 'invalid_request'],
  ['no policy', but('federation_policy_id', null), 'invalid_request'],
  ['an empty policy', but('federation_policy_id', ''), 'invalid_request'],
  ['a policy that is no UUID', but('federation_policy_id', `${policy.id}0`), 'invalid_request'],
  ['another requested_token_type', but('requested_token_type', JWT_TYPE), 'invalid_request'],
  ['another scope', but('scope', 'admin'), 'invalid_scope'],
  ['more scopes', but('scope', 'inference admin'), 'invalid_scope'],
  ['the scope in other letters', but('scope', 'Inference'), 'invalid_scope'],
  [
    'a bad requested_token_type before a bad scope',
    [...but('requested_token_type', 'x'), ['scope', 'x']],
    'invalid_request',
  ],
  ['a bad scope before a bad token', [...but('subject_token', 'YQ.YQ.YQ'), ['scope', 'x']], 'invalid_scope'],
  ...GOOD.map(([name]) => [`${name} twice`, twice(name), 'invalid_request'] as const),
  ['scope twice', [...GOOD, ['scope', 'inference'], ['scope', 'inference']], 'invalid_request'],
  ['scope twice, once empty', [...GOOD, ['scope', 'inference'], ['scope', '']], 'invalid_request'],
  ['a field twice by another spelling', `${encoded(GOOD)}&%67rant_type=x`, 'invalid_request'],
  ['nothing', '', 'invalid_request'],
  ['a percent sign that encodes nothing', `${encoded(GOOD)}&x=%zz`, 'invalid_request'],
  ['a percent sign at the end', `${encoded(GOOD)}&x=%`, 'invalid_request'],
  ['encoded bytes that are no UTF-8', `${encoded(GOOD)}&x=%ff`, 'invalid_request'],
  ['JSON', JSON.stringify(Object.fromEntries(GOOD)), 'invalid_request'],
]

/** What the description of a malformed request goes on with, by what is wrong. */
const NAMED: Readonly<Record<string, string>> = {
  'no grant_type': 'grant_type: is required',
  'an empty grant_type': 'grant_type: is required',
  'no subject_token': 'subject_token: is required',
  'an empty subject_token': 'subject_token: is required',
  'no subject_token_type': 'subject_token_type: is required',
  'another subject_token_type': `subject_token_type: must be ${JWT_TYPE}`,
  'no policy': 'federation_policy_id: is required',
  'an empty policy': 'federation_policy_id: is required',
  'a policy that is no UUID': 'federation_policy_id: must be a UUID',
  'another requested_token_type': `requested_token_type: must be ${ACCESS_TOKEN_TYPE}`,
  'a bad requested_token_type before a bad scope': `requested_token_type: must be ${ACCESS_TOKEN_TYPE}`,
  ...Object.fromEntries(GOOD.map(([name]) => [`${name} twice`, `${name}: must come once`])),
  'scope twice': 'scope: must come once',
  'scope twice, once empty': 'scope: must come once',
  'a field twice by another spelling': 'grant_type: must come once',
  nothing: 'grant_type: is required',
  'a percent sign that encodes nothing': 'body: must be well encoded',
  'a percent sign at the end': 'body: must be well encoded',
  'encoded bytes that are no UTF-8': 'body: must be well encoded',
  JSON: 'grant_type: is required',
}
const NO_TOKEN =
  'subject_token: must be a JWT of at most 16384 characters, three parts of base64url with dots between them'

const DESCRIPTIONS: Readonly<Record<string, string>> = {
  invalid_grant: 'The subject token was not accepted',
  invalid_scope: 'The requested scope is not available',
  unsupported_grant_type: 'The grant type is not supported',
}

test('each row of the error table, with every key that clients insist on', async (t) => {
  for (const [about, form, error] of ERRORS) {
    const { status, json, headers } = await bench.post(form)
    t.equal(status, 400, about)
    const malformed = `The request is malformed: ${NAMED[about] ?? NO_TOKEN}`
    t.strictSame(json, { error, error_description: DESCRIPTIONS[error] ?? malformed }, about)
    t.equal(headers.get('cache-control'), 'no-store', about)
    t.equal(headers.get('pragma'), 'no-cache', about)
    t.match(headers.get('content-type'), /^application\/json/, about)
  }
})

test('only a form in UTF-8 is a form', async (t) => {
  const body = encoded(GOOD)
  const type = 'application/x-www-form-urlencoded'
  for (const [contentType, status] of [
    [type, 200],
    [`${type}; charset=UTF-8`, 200],
    [`${type};charset="utf-8"`, 200],
    [type.toUpperCase(), 200],
    [`${type}; charset=iso-8859-1`, 400],
    ['application/json', 400],
    ['text/plain', 400],
    ['multipart/form-data; boundary=x', 400],
    [`${type}x`, 400],
  ] as const) {
    t.equal((await bench.post(body, { 'Content-Type': contentType })).status, status, contentType)
  }
})

test('what an exchange has no use for is not looked at', async (t) => {
  const extras: Form = [
    ['audience', 'https://example.org'],
    ['audience', 'not a URI'],
    ['resource', ''],
    ['resource', '#'],
    ['client_id', 'x'],
    ['client_secret', 'y'],
    ['unknown', '1'],
    ['unknown', '2'],
    ['requested_token_type', ''],
    ['scope', ''],
  ]
  t.equal((await bench.post([...GOOD, ...extras])).status, 200)
  t.equal((await bench.post(`&&${encoded(GOOD)}&&x&=y`)).status, 200)
  t.equal((await bench.exchange(policy.id.toUpperCase())).status, 200, 'a UUID has no case')
})

test('a bearer is ignored, whatever it is, by the exchange and by the key set', async (t) => {
  for (const credential of [API_KEY, MANAGEMENT_KEY, 'sk-unknown', 'a b c']) {
    const headers = { Authorization: `Bearer ${credential}`, 'x-api-key': 'nonsense' }
    t.equal((await bench.post(GOOD, headers)).status, 200)
    t.equal((await fetch(`${server.apiUrl}/oauth/jwks`, { headers })).status, 200)
  }
})

test('no configuration can ask for a credential where there cannot be one', (t) => {
  const lockable = lockableOperations()
  t.ok(lockable.has('list_federation_issuers'))
  t.notOk(lockable.has('create_oauth_token'))
  t.notOk(lockable.has('list_oauth_jwks'))
  t.end()
})

test('a body of 32,768 bytes is too large, one of 32,767 is not', async (t) => {
  const body = encoded(GOOD)
  const padded = (size: number): string => `${body}&x=${'a'.repeat(size - body.length - 3)}`
  t.equal((await bench.post(padded(32_767))).status, 200)
  for (const size of [32_768, 100_000]) {
    const { status, json, headers } = await bench.post(padded(size))
    t.equal(status, 413)
    t.strictSame(json, { error: 'invalid_request', error_description: 'The request is too large' })
    t.equal(headers.get('cache-control'), 'no-store')
  }
})

test('an unknown coding is refused, other methods too, in the words of this endpoint', async (t) => {
  const client = httpClient(server.baseUrl)
  t.after(() => client.close())
  const path = '/api/v1/oauth/token'
  const headers = {
    'Content-Type': 'application/x-www-form-urlencoded',
    'Transfer-Encoding': 'gzip, chunked',
  }
  const coded = await client.send({ method: 'POST', path, headers })
  t.equal(coded.status, 400)
  const read = await client.get(path)
  t.equal(read.status, 405)
  t.equal(read.headers.allow, 'POST')
  const malformed = (more: string) => ({
    error: 'invalid_request',
    error_description: `The request is malformed${more}`,
  })
  t.strictSame(coded.json, malformed(''))
  t.strictSame(read.json, malformed(': use POST'))
})

for (const allowChunked of ['off', 'on'])
  test(`the same edges hold for chunked bodies, in pieces of any size: allow_chunked ${allowChunked}`, async (t) => {
    const behindProxy = await FederationServer.start(t, { SLUICE_ALLOW_CHUNKED: allowChunked })
    const { policy } = await behindProxy.trusting()
    const chunked = async (text: string, size: number): Promise<[number, string | undefined]> => {
      const pieces = async function* () {
        for (let at = 0; at < text.length; at += size) yield Buffer.from(text.slice(at, at + size))
      }
      const response = await fetch(`${behindProxy.server.apiUrl}/oauth/token`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
        body: pieces(),
        duplex: 'half',
      } as RequestInit)
      return [response.status, ((await response.json()) as { error?: string }).error]
    }
    const body = encoded(behindProxy.form(policy.id))
    const padded = (size: number): string => `${body}&x=${'a'.repeat(size - body.length - 3)}`
    const long = (size: number): string => encoded(behindProxy.form(policy.id, 'YQ.YQ.'.padEnd(size, 'A')))
    for (const size of [7, 1_000, 40_000]) {
      t.strictSame(await chunked(body, size), [200, undefined], `pieces of ${size}`)
      t.strictSame(await chunked(padded(32_767), size), [200, undefined])
      t.strictSame(await chunked(padded(32_768), size), [413, 'invalid_request'])
      t.strictSame(await chunked(long(16_384), size), [400, 'invalid_grant'])
      t.strictSame(await chunked(long(16_385), size), [400, 'invalid_request'])
    }
  })

test('an access token opens what an ordinary key opens, and no more', async (t) => {
  const token = await bench.accessToken(policy.id)
  for (const path of ['/models', '/key']) {
    t.equal((await bench.manage('GET', path, undefined, token)).status, 200, path)
  }
  for (const path of ['/keys', '/federation/issuers', '/federation/policies', '/federation/audit']) {
    const { status, json } = await bench.manage('GET', path, undefined, token)
    t.strictSame(
      { status, json },
      {
        status: 403,
        json: { error: { code: 403, message: 'Only management keys can perform this operation' } },
      },
      path,
    )
  }
  const asXApiKey = await fetch(`${server.apiUrl}/key`, { headers: { 'x-api-key': token } })
  t.equal(asXApiKey.status, 200)
  const tampered = `${token.slice(0, -2)}${token.endsWith('AA') ? 'BB' : 'AA'}`
  t.equal((await bench.manage('GET', '/key', undefined, tampered)).status, 401)
})

test('neither kind of token passes for the other', async (t) => {
  t.equal((await bench.manage('GET', '/key', undefined, bench.token())).status, 401)
  const own = await bench.exchange(policy.id, await bench.accessToken(policy.id))
  t.equal(own.status, 400)
  t.equal(own.json.error, 'invalid_grant')
})

test('an issuer that cannot be asked is 503 with the seconds to wait', async (t) => {
  // One worker: another might not have asked for the keys of the first issuer yet.
  const bench = await FederationServer.start(t, { SLUICE_WORKERS: '1' })
  const { target, policy } = await bench.trusting()
  await bench.accessToken(policy.id)
  bench.issuer.faults.jwks = 'status 500'
  const fresh = await bench.newIssuer({ name: 'the same, with keys of its own' })
  const other = await bench.newPolicy({ issuer_id: fresh.id, api_key_hash: target.hash })
  const { status, json, headers } = await bench.exchange(other.id)
  t.equal(status, 503)
  t.strictSame(json, {
    error: 'temporarily_unavailable',
    error_description: 'The service is temporarily unavailable',
  })
  t.match(headers.get('retry-after'), /^([1-9]|[12]\d|30)$/)
  t.equal(headers.get('cache-control'), 'no-store')
  t.equal((await bench.exchange(policy.id)).status, 200, 'the other issuer of that URL has its keys')
})

test('the metadata of the authorization server lead a client to the endpoint and its keys', async (t) => {
  const { origin } = new URL(server.apiUrl)
  const answer = await fetch(`${origin}/.well-known/oauth-authorization-server`, {
    headers: { Authorization: 'Bearer of somebody else' },
  })
  t.equal(answer.status, 200)
  t.match(answer.headers.get('content-type'), /^application\/json/)
  const metadata = (await answer.json()) as Json
  t.strictSame(metadata, {
    issuer: metadata.issuer,
    token_endpoint: `${metadata.issuer}/api/v1/oauth/token`,
    jwks_uri: `${metadata.issuer}/api/v1/oauth/jwks`,
    grant_types_supported: [GRANT_TYPE],
    token_endpoint_auth_methods_supported: ['none'],
    scopes_supported: ['inference'],
    response_types_supported: [],
    service_documentation: `${metadata.issuer}/docs`,
  })
  const form = new URLSearchParams(encoded(GOOD))
  const exchanged = await fetch(metadata.token_endpoint, { method: 'POST', body: form })
  const { access_token: token } = (await exchanged.json()) as Json
  const { payload } = await jwtVerify(token, createRemoteJWKSet(new URL(metadata.jwks_uri)), {
    issuer: metadata.issuer,
  })
  t.equal(payload.scope, 'inference')
})
