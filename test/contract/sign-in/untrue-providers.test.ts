/** What an identity provider says is checked before it counts, and nothing it does makes a session of what is wrong. */
import type { ServerResponse } from 'node:http'
import tap, { type Test, test } from 'tap'
import { base64url, headerOf, issuerKey, tokenOf } from '../../support/data/subject-tokens.js'
import { LyingProvider } from '../../support/providers/lying-provider.js'
import type { Json } from '../../support/servers/gateway-server.js'
import { SignInBench } from '../../support/servers/sign-in-bench.js'
import { eventually } from '../../support/timing/eventually.js'

const bench = await SignInBench.start(tap)
const organization = await bench.newOrganization()
const directory = await bench.newDirectory(organization)
await bench.addPerson(directory, 'ann', 'ann')
/** Two of each machine, of which a fleet has three. */
const WORKERS = 6
const SESSION_COOKIE = '__Host-sluice-session'

/** A new provider that tells the truth yet. */
async function liar(lifetime: Test, more: object = {}): Promise<{ liar: LyingProvider; id: string }> {
  const provider = await LyingProvider.start(lifetime)
  const wish = { issuer: provider.url, client_secret: null, ...more }
  return { liar: provider, id: await bench.newProvider(organization, directory, wish) }
}

/** The status that a sign-in ends with, and whether there is a session. */
async function attempt(provider: LyingProvider, id: string): Promise<{ status: number; session: boolean }> {
  const browser = bench.browser()
  const there = await browser.open(`/api/v1/sign-in/${id}`)
  if (there.status !== 302) return { status: there.status, session: false }
  const query = provider.back(new URL(there.headers.get('location')!).searchParams)
  const { status } = await browser.open(`/api/v1/sign-in/${id}/callback?${query}`, 'cross-site')
  return { status, session: browser.cookies.has(SESSION_COOKIE) }
}

async function newestReason(id: string): Promise<string> {
  return eventually(async () => {
    const { json } = await bench.manage('GET', '/federation/audit?trail=refused', undefined, organization.key)
    return json.data.find((row: Json) => row.issuer_id === id)?.reason
  })
}

test('a provider that tells the truth signs in, with a secret and without', async (t) => {
  const open = await liar(t)
  t.strictSame(await attempt(open.liar, open.id), { status: 200, session: true })
  t.equal(open.liar.lastAuthorization, '')
  t.match(Object.fromEntries(open.liar.lastForm), {
    grant_type: 'authorization_code',
    code: 'a-code',
    client_id: 'sluice',
    code_verifier: /^[\w-]{43}$/,
    redirect_uri: `${bench.server.apiUrl}/sign-in/${open.id}/callback`,
  })
  const secret = { client_secret: 'a:secret / %' }
  const basic = await liar(t, secret)
  t.strictSame(await attempt(basic.liar, basic.id), { status: 200, session: true })
  t.match(basic.liar.lastAuthorization, /^Basic /)
  const posted = await liar(t, secret)
  posted.liar.document = { token_endpoint_auth_methods_supported: ['client_secret_post'] }
  t.strictSame(await attempt(posted.liar, posted.id), { status: 200, session: true })
  t.equal(posted.liar.lastForm.get('client_secret'), secret.client_secret)
})

test('every claim of an ID token that is wrong, missing or of another kind is refused', async (t) => {
  const { liar: provider, id } = await liar(t)
  const now = Math.floor(Date.now() / 1000)
  const wrong: readonly (readonly [string, object])[] = [
    ['another nonce', { nonce: 'x'.repeat(43) }],
    ['no nonce', { nonce: undefined }],
    ['another audience', { aud: 'somebody' }],
    ['no audience', { aud: undefined }],
    ['an audience among others for another party', { aud: ['sluice', 'somebody'], azp: 'somebody' }],
    ['another issuer', { iss: 'https://evil.example' }],
    ['a list of issuers', { iss: [provider.url] }],
    ['expired', { exp: now - 100, iat: now - 400 }],
    ['no end', { exp: undefined }],
    ['an end that is a text', { exp: String(now + 300) }],
    ['not yet', { nbf: now + 1_000 }],
    ['no subject', { sub: undefined }],
    ['a list of subjects', { sub: ['ann'] }],
    ['an empty subject', { sub: '' }],
    ['a subject beyond all bounds', { sub: 'ann'.repeat(1_000) }],
  ]
  for (const [name, more] of wrong) {
    provider.idToken = (claims) => tokenOf(headerOf(provider.key), { ...claims, ...more }, provider.key)
    t.strictSame(await attempt(provider, id), { status: 403, session: false }, name)
  }
})

test('an ID token of another key, another algorithm or no signature is refused', async (t) => {
  const { liar: provider, id } = await liar(t)
  const { key } = provider
  const [stranger, long] = [issuerKey('ES256', 'k1'), issuerKey('ES384', 'k2')]
  provider.keys = [key.jwk, long.jwk]
  const hmac = { ...key, alg: 'HS256' }
  const good = (claims: object) => tokenOf(headerOf(key), claims, key)
  const forged: readonly (readonly [string, (claims: Record<string, unknown>) => string | null])[] = [
    ['another key of the same name', (claims) => tokenOf(headerOf(stranger), claims, stranger)],
    ['ES384', (claims) => tokenOf(headerOf(long), claims, long)],
    ['none', (claims) => `${base64url({ alg: 'none' })}.${base64url(claims)}.`],
    ['HS256', (claims) => tokenOf(headerOf(hmac, { alg: 'HS256' }), claims, key)],
    [
      'a key in the header',
      (claims) => tokenOf(headerOf(stranger, { jwk: stranger.jwk, kid: undefined }), claims, stranger),
    ],
    ['unknown crit', (claims) => tokenOf(headerOf(key, { crit: ['x'], x: 1 }), claims, key)],
    [
      'claims of another',
      (claims) => good(claims).replace(/\.[^.]+\./, `.${base64url({ ...claims, sub: 'ann', a: 1 })}.`),
    ],
    ['cut', (claims) => good(claims).slice(0, -2)],
    ['no token', () => null],
    ['no JWT', () => 'canary'],
    ['five parts', (claims) => `${good(claims)}.a.b`],
  ]
  for (const [name, idToken] of forged) {
    provider.idToken = idToken
    t.strictSame(await attempt(provider, id), { status: 403, session: false }, name)
  }
  provider.idToken = good
  t.strictSame(await attempt(provider, id), { status: 200, session: true })
})

test('a discovery document that is not fit sends nobody anywhere, and the audit says why', async (t) => {
  const documents: readonly (readonly [string, object, RegExp])[] = [
    ['another issuer', { issuer: 'https://evil.example' }, /issuer/],
    ['its own with a slash', { issuer: undefined }, /unreachable/],
    ['a script as its page', { authorization_endpoint: 'javascript:alert(1)' }, /authorization_endpoint/],
    ['a page in the clear', { authorization_endpoint: 'http://evil.example/a' }, /authorization_endpoint/],
    [
      'a page at a private address',
      { authorization_endpoint: 'https://10.0.0.1/a' },
      /authorization_endpoint/,
    ],
    ['no page', { authorization_endpoint: undefined }, /authorization_endpoint/],
    [
      'algorithms that do not count',
      { id_token_signing_alg_values_supported: ['HS256', 'none'] },
      /signs with none/,
    ],
  ]
  for (const [name, document, reason] of documents) {
    const { liar: provider, id } = await liar(t)
    provider.document = document
    t.strictSame(await attempt(provider, id), { status: 503, session: false }, name)
    t.match(await newestReason(id), reason, name)
  }
})

test('endpoints at addresses that may not be dialled are not dialled', async (t) => {
  for (const document of [
    { token_endpoint: 'http://169.254.169.254/token' },
    { token_endpoint: 'https://10.0.0.1/token' },
    { jwks_uri: 'https://[fd00::1]/keys' },
  ]) {
    const { liar: provider, id } = await liar(t)
    provider.document = document
    const { status, session } = await attempt(provider, id)
    t.notOk(session)
    t.ok(status === 503 || status === 403, String(status))
    t.match(await newestReason(id), /may not be dialled/)
  }
})

test('answers that are too large, that lead elsewhere, or that are no JSON end a sign-in', async (t) => {
  const faults: readonly (readonly [string, (response: ServerResponse, elsewhere: string) => void])[] = [
    ['too large', (response) => json(response).end(`{"a":"${'x'.repeat(70_000)}"}`)],
    [
      'a redirect',
      (response, elsewhere) => response.writeHead(302, { location: `${elsewhere}/stolen` }).end(),
    ],
    [
      'a page',
      (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>canary</html>'),
    ],
    ['broken JSON', (response) => json(response).end('{')],
    ['a list', (response) => json(response).end('[]')],
    ['a reset', (response) => void response.socket?.resetAndDestroy()],
    [
      'an error',
      (response) => json(response, 400).end('{"error":"canary_error","error_description":"canary"}'),
    ],
    ['compressed', (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('x')],
  ]
  for (const path of ['/.well-known/openid-configuration', '/token', '/keys']) {
    for (const [name, fault] of faults) {
      const { liar: provider, id } = await liar(t)
      provider.instead.set(path, (response) => fault(response, provider.url))
      const { status, session } = await attempt(provider, id)
      t.notOk(session, `${path} ${name}`)
      t.ok([403, 503].includes(status), `${path} ${name}: ${status}`)
      t.notOk(provider.asked.includes('/stolen'), 'no redirect is followed')
      const reason = await newestReason(id)
      t.notMatch(reason, 'canary</', 'no words of an answer')
      if (name === 'too large') t.match(reason, /larger than 65536 bytes/)
    }
  }
})

function json(response: ServerResponse, status = 200): ServerResponse {
  return response.writeHead(status, { 'content-type': 'application/json' })
}

test('what is known of a provider is kept, and asked for once by many at a time', async (t) => {
  const { liar: provider, id } = await liar(t)
  const begin = () => bench.browser().open(`/api/v1/sign-in/${id}`)
  const answers = await Promise.all(Array.from({ length: 30 }, begin))
  t.ok(answers.every(({ status }) => status === 302))
  t.ok(provider.asked.length <= WORKERS, 'once by each worker')
})

test('a change of a provider counts for the next sign-in', async (t) => {
  const { liar: provider, id } = await liar(t)
  t.strictSame(await attempt(provider, id), { status: 200, session: true })
  const changed = await bench.manage(
    'PATCH',
    `/sign-in-providers/${id}`,
    { client_id: 'another' },
    organization.key,
  )
  t.equal(changed.status, 200)
  t.strictSame(
    await attempt(provider, id),
    { status: 403, session: false },
    'the tokens are for the old client',
  )
  provider.idToken = (claims) => tokenOf(headerOf(provider.key), { ...claims, aud: 'another' }, provider.key)
  t.strictSame(await attempt(provider, id), { status: 200, session: true })
})

test('the log holds neither a token nor a code nor a word of a provider', async (t) => {
  const log = bench.server.log()
  for (const word of ['canary', 'a-code', 'eyJ']) t.notMatch(log, word)
})
