/**
 * Workload identity between programs that nobody here wrote: a token of `oidc-provider` is exchanged by `openid-client`
 * and by `oauth4webapi`, which find the endpoint by its metadata and check the token they get.
 */
import { decodeJwt, decodeProtectedHeader } from 'jose'
import * as oauth from 'oauth4webapi'
import OpenAI from 'openai'
import * as client from 'openid-client'
import tap, { test } from 'tap'
import { failureOf } from '../support/clients/failure-of.js'
import {
  MACHINE,
  RESOURCE,
  SCOPES,
  startIdentityProvider,
} from '../support/providers/real-identity-provider.js'
import { FederationServer, GRANT_TYPE, JWT_TYPE } from '../support/servers/federation-server.js'

const bench = await FederationServer.start(tap)
const issuerUrl = await startIdentityProvider(tap)
const { apiUrl, baseUrl } = bench.server
const issuer = await bench.newIssuer({ issuer_url: issuerUrl })
const target = await bench.newKey()

async function policyWith(more: object = {}): Promise<string> {
  const wish = {
    issuer_id: issuer.id,
    api_key_hash: target.hash,
    audience: RESOURCE,
    subject: MACHINE.id,
    ...more,
  }
  return (await bench.newPolicy(wish)).id
}

const INSECURE = { execute: [client.allowInsecureRequests] }

/** A fresh access token of the provider, by the client's own flow. */
async function subjectToken(scope: string = SCOPES): Promise<string> {
  const theirs = await client.discovery(new URL(issuerUrl), MACHINE.id, MACHINE.secret, undefined, INSECURE)
  return (await client.clientCredentialsGrant(theirs, { scope })).access_token
}

const ours = await client.discovery(new URL(baseUrl), 'anybody', undefined, client.None(), {
  ...INSECURE,
  algorithm: 'oauth2',
})

function exchanged(policy: string, token: string, more: Record<string, string> = {}) {
  const parameters = {
    subject_token: token,
    subject_token_type: JWT_TYPE,
    federation_policy_id: policy,
    ...more,
  }
  return client.genericGrantRequest(ours, GRANT_TYPE, parameters)
}

test('the provider’s access token is one of RFC 9068', async (t) => {
  const token = await subjectToken()
  const [header, claims] = [decodeProtectedHeader(token), decodeJwt(token)]
  t.match(header, { typ: 'at+jwt', alg: 'ES256' })
  t.match(claims, { iss: issuerUrl, aud: RESOURCE, sub: MACHINE.id, scope: SCOPES })
})

test('openid-client finds the endpoint, exchanges, and the token works', async (t) => {
  t.equal(ours.serverMetadata().token_endpoint, `${apiUrl}/oauth/token`)
  const answer = await exchanged(await policyWith(), await subjectToken())
  t.match(answer, { token_type: 'bearer', scope: 'inference', expires_in: Number })
  const models = new OpenAI({ apiKey: answer.access_token, baseURL: apiUrl, maxRetries: 0 })
  const messages = [{ role: 'user' as const, content: 'Hi.' }]
  const said = await models.chat.completions.create({ model: 'sim/instant', messages })
  t.equal(said.choices[0]?.finish_reason, 'stop')
})

test('the words of scope count where there is no list of scopes', async (t) => {
  const checked = await policyWith({ claim_checks: { scopes: 'deploy' } })
  const conditional = await policyWith({ condition: '"deploy" in scopes && size(scopes) == 2' })
  const [full, less] = await Promise.all([subjectToken(), subjectToken('read')])
  for (const policy of [checked, conditional]) {
    t.ok((await exchanged(policy, full)).access_token)
    t.match(await failureOf(exchanged(policy, less)), { error: 'invalid_grant' })
  }
})

test('what is malformed is named', async (t) => {
  const [policy, token] = [await policyWith(), await subjectToken()]
  const cases = [
    [{ subject_token_type: 'urn:ietf:params:oauth:token-type:id_token' }, /subject_token_type/],
    [{ subject_token_type: 'urn:ietf:params:oauth:token-type:access_token' }, /subject_token_type/],
    [{ federation_policy_id: 'sluice' }, /federation_policy_id/],
    [{ subject_token: 'a.b' }, /subject_token/],
  ] as const
  for (const [more, named] of cases) {
    const error = await failureOf(exchanged(policy, token, more))
    t.match(error, { error: 'invalid_request', error_description: named })
  }
  t.match(await failureOf(exchanged(policy, token, { scope: 'admin' })), { error: 'invalid_scope' })
})

test('oauth4webapi exchanges as well, and takes the token for a valid one of RFC 9068', async (t) => {
  const url = new URL(baseUrl)
  const insecure = { [oauth.allowInsecureRequests]: true }
  const found = await oauth.discoveryRequest(url, { algorithm: 'oauth2', ...insecure })
  const server = await oauth.processDiscoveryResponse(url, found)
  const anybody = { client_id: 'anybody' }
  const parameters = {
    subject_token: await subjectToken(),
    subject_token_type: JWT_TYPE,
    federation_policy_id: await policyWith(),
  }
  const response = await oauth.genericTokenEndpointRequest(
    server,
    anybody,
    oauth.None(),
    GRANT_TYPE,
    new URLSearchParams(parameters),
    insecure,
  )
  const { access_token } = await oauth.processGenericTokenEndpointResponse(server, anybody, response)
  const call = new Request(`${apiUrl}/models`, { headers: { Authorization: `Bearer ${access_token}` } })
  const claims = await oauth.validateJwtAccessToken(server, call, apiUrl, insecure)
  t.match(claims, { iss: baseUrl, sub: MACHINE.id, scope: 'inference', federation_issuer_id: issuer.id })
})
