import { z } from 'zod'
import type { TokenExchangeRequest } from '../../federation/exchange.js'
import { gateway } from '../../http/dialects/gateway.js'
import { oauth } from '../../http/dialects/oauth.js'
import { type Endpoint, endpointGroup, type HttpCall } from '../../http/endpoint.js'
import { nameSchema } from '../../http/json-schema.js'
import { jsonReply, serializedJsonReply } from '../../http/reply.js'
import { ACCESS_TOKEN_SCOPE, type MintedAccessToken } from '../../identity/access-token.js'
import type { Jwks } from '../../identity/signing-keys.js'
import {
  ACCESS_TOKEN_TYPE,
  GRANT_TYPE,
  requireTokenRequest,
  TOKEN_FORM,
  type TokenRequestForm,
} from './token-request.js'

const operation = endpointGroup({ tag: 'Token exchange', dialect: oauth })

export interface OauthPorts {
  readonly exchange: (request: TokenExchangeRequest) => Promise<MintedAccessToken>
  /** Whether a client address has exchanged too often; null when there is no limit. See `Endpoint.limit`. */
  readonly limit: ((address: string) => Promise<void> | null) | null
  readonly jwks: () => Jwks
  /** Public base URL, without a slash at its end: the `iss` of access tokens. */
  readonly baseUrl: string
}
/** A body of 32,768 bytes is too large (contract/decisions 14). */
const LARGEST_BODY = 32_767
const UNSTORED = [
  ['Cache-Control', 'no-store'],
  ['Pragma', 'no-cache'],
] as const
/** A key signs an hour or more after it was first published, unless a command rotates: then a while of this. */
const CACHEABLE = [['Cache-Control', 'public, max-age=300']] as const

const TokenAnswer = nameSchema(
  'TokenAnswer',
  z.object({
    access_token: z.string(),
    issued_token_type: z.literal(ACCESS_TOKEN_TYPE),
    token_type: z.literal('Bearer'),
    expires_in: z.int().min(1).max(900),
    scope: z.literal(ACCESS_TOKEN_SCOPE),
  }),
)

const Jwk = z.object({
  kty: z.literal('EC'),
  crv: z.literal('P-256'),
  alg: z.literal('ES256'),
  use: z.literal('sig'),
  kid: z.string(),
  x: z.string(),
  y: z.string(),
})

const KeySet = nameSchema('KeySet', z.object({ keys: z.array(Jwk) }))

const ServerMetadata = nameSchema(
  'AuthorizationServerMetadata',
  z.object({
    issuer: z.string(),
    token_endpoint: z.string(),
    jwks_uri: z.string(),
    grant_types_supported: z.array(z.literal(GRANT_TYPE)),
    token_endpoint_auth_methods_supported: z.array(z.literal('none')),
    scopes_supported: z.array(z.literal(ACCESS_TOKEN_SCOPE)),
    response_types_supported: z.array(z.string()),
    service_documentation: z.string(),
  }),
)

/** RFC 8414 section 2. There is no authorization endpoint, so the list of its answers is empty. */
const serverMetadata = (baseUrl: string) => ({
  issuer: baseUrl,
  token_endpoint: `${baseUrl}/api/v1/oauth/token`,
  jwks_uri: `${baseUrl}/api/v1/oauth/jwks`,
  grant_types_supported: [GRANT_TYPE],
  token_endpoint_auth_methods_supported: ['none'],
  scopes_supported: [ACCESS_TOKEN_SCOPE],
  response_types_supported: [],
  service_documentation: `${baseUrl}/docs`,
})

/**
 * The token exchange, the keys that verify its tokens, and what tells of both (contract/gateway 10.1 and 10.3,
 * contract/decisions 55). None looks at a bearer: clients that have one send it everywhere.
 */
export const oauthEndpoints = (ports: OauthPorts): Endpoint[] => [
  operation<TokenRequestForm>('create_oauth_token', 'POST /api/v1/oauth/token', {
    summary: 'Exchange a JWT of a workload for an access token',
    form: TOKEN_FORM,
    examples: {
      exchange: {
        grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
        subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
        federation_policy_id: '01a1f979-1e78-787d-9bf4-276afbb42666',
        subject_token: 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJqb2ItMSJ9.c2lnbmF0dXJl',
      },
    },
    bodyLimit: LARGEST_BODY,
    readsAddress: true,
    limit: (call) => (ports.limit === null ? null : ports.limit(call.address)),
    replies: { 200: { description: 'An access token', schema: TokenAnswer } },
    faults: ['unsupported-grant-type', 'invalid-scope', 'invalid-grant', 'unavailable', 'internal'],
    handle: async ({ body }, call) => tokenReply(await ports.exchange(toExchangeRequest(body, call))),
  }),
  operation('list_oauth_jwks', 'GET /api/v1/oauth/jwks', {
    summary: 'List the public keys of access tokens',
    // Those who verify tokens have no key of ours.
    open: true,
    dialect: gateway,
    replies: { 200: { description: 'The keys', schema: KeySet } },
    faults: ['internal'],
    handle: () => jsonReply(200, ports.jwks(), CACHEABLE),
  }),
  operation('read_oauth_metadata', 'GET /.well-known/oauth-authorization-server', {
    summary: 'Read what clients need to know of the token endpoint',
    open: true,
    dialect: gateway,
    replies: { 200: { description: 'Metadata by RFC 8414', schema: ServerMetadata } },
    faults: ['internal'],
    handle: () => jsonReply(200, serverMetadata(ports.baseUrl), CACHEABLE),
  }),
]

function toExchangeRequest(form: TokenRequestForm, call: HttpCall): TokenExchangeRequest {
  const { policyId, subjectToken } = requireTokenRequest(form)
  const { address, requestId } = call
  return { policyId, subjectToken, caller: call, address, requestId }
}

/** What follows the token. */
const AFTER_TOKEN = `","issued_token_type":"${ACCESS_TOKEN_TYPE}","token_type":"Bearer","expires_in":`
const AFTER_EXPIRY = `,"scope":"${ACCESS_TOKEN_SCOPE}"}`

/** Written by hand: a token is of the url-safe alphabet and dots, so there is nothing to escape. */
function tokenReply({ token, expiresIn }: MintedAccessToken) {
  return serializedJsonReply(
    200,
    `{"access_token":"${token}${AFTER_TOKEN}${expiresIn}${AFTER_EXPIRY}`,
    UNSTORED,
  )
}
