/** What somebody does on the first day with a server that was just installed: every face of it, once. */
import type { Test } from 'tap'
import { headerOf, issuerKey, tokenOf } from '../data/subject-tokens.js'
import { IssuerServer } from '../providers/issuer-server.js'
import { GRANT_TYPE, JWT_TYPE, WORKLOAD } from '../servers/federation-server.js'
import type { Json } from '../servers/gateway-server.js'
import { API_KEY, MANAGEMENT_KEY } from '../servers/server-process.js'

const MODEL = 'sim/instant'

/** What the server has to be told beside its keys. */
export const WHOLE_USE_SETTINGS = { SLUICE_ALLOW_LOOPBACK_ISSUERS: 'on', SLUICE_CONSOLE: 'on' }

/** A JSON call, which has to succeed. */
export async function callJson(
  t: Test,
  url: string,
  path: string,
  body: unknown,
  bearer: string,
): Promise<Json> {
  const headers = { Authorization: `Bearer ${bearer}`, 'Content-Type': 'application/json' }
  const answer = await fetch(`${url}/api/v1${path}`, { method: 'POST', headers, body: JSON.stringify(body) })
  const json = (await answer.json()) as Json
  t.ok(answer.ok, `${path}: ${answer.status} ${answer.ok ? '' : JSON.stringify(json)}`)
  return json
}

/** Chat, messages, an exchanged token, pages with what they load, and work of the pool. */
export async function useEverything(t: Test, url: string): Promise<void> {
  const call = (path: string, body: unknown, bearer: string) => callJson(t, url, path, body, bearer)
  const messages = [{ role: 'user', content: 'hello' }]
  const chat = await call('/chat/completions', { model: MODEL, messages }, API_KEY)
  t.type(chat.choices[0].message.content, 'string')
  const message = await call('/messages', { model: MODEL, max_tokens: 99, messages }, API_KEY)
  t.equal(message.type, 'message')

  const access = await exchangeToken(t, url)
  await call('/chat/completions', { model: MODEL, messages }, access)

  for (const page of [
    '/console',
    '/docs',
    '/docs/guide',
    '/docs/swagger-ui-bundle.js',
    '/docs/swagger-ui.css',
    '/',
  ]) {
    t.equal((await fetch(`${url}${page}`)).status, 200, page)
  }
  const [, script = ''] = /src="([^"]+\.js)"/.exec(await (await fetch(`${url}/console`)).text()) ?? []
  t.equal((await fetch(new URL(script, `${url}/console`))).status, 200, script)
  const { hash } = await call('/hash', { data: 'x', rounds: 1000 }, API_KEY)
  t.match(hash, /^[0-9a-f]{64}$/, 'by a thread of the pool')
}

/** An access token for the token of a workload, whose issuer and policy are made for it. */
async function exchangeToken(t: Test, url: string): Promise<string> {
  const call = (path: string, body: unknown) => callJson(t, url, path, body, MANAGEMENT_KEY)
  const issuer = await IssuerServer.start(t)
  const key = issuerKey('ES256', 'k1')
  issuer.keys = [key.jwk]
  const { data: target } = await call('/keys', { name: 'target' })
  const { data: made } = await call('/federation/issuers', { name: 'local', issuer_url: issuer.url })
  const wish = { issuer_id: made.id, audience: 'sluice', subject: WORKLOAD, api_key_hash: target.hash }
  const { data: policy } = await call('/federation/policies', wish)
  const now = Math.floor(Date.now() / 1000)
  const claims = { iss: issuer.url, sub: WORKLOAD, aud: 'sluice', iat: now, exp: now + 600 }
  const form = {
    grant_type: GRANT_TYPE,
    subject_token: tokenOf(headerOf(key), claims, key),
    subject_token_type: JWT_TYPE,
    federation_policy_id: policy.id,
  }
  const exchanged = await fetch(`${url}/api/v1/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams(form),
  })
  return ((await exchanged.json()) as { access_token: string }).access_token
}
