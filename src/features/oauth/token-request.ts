/** The form of a token exchange (RFC 8693 section 2.1; contract/gateway 10.1, contract/decisions 14). */
import { notedIssue, throwFault } from '../../base/fault.js'
import type { JsonSchema } from '../../http/json-schema.js'
import { type TextField, UNDECODABLE } from '../../http/params.js'
import { ACCESS_TOKEN_SCOPE } from '../../identity/access-token.js'
import { isCompactJws, LONGEST_TOKEN } from '../../identity/compact-jws.js'

export const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const SUBJECT_TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:jwt'
export const ACCESS_TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:access_token'

/**
 * The fields that count; all others are ignored, `audience` and `resource` among them, which may therefore repeat.
 * None is required here, so that one thing missing is not told before another that is wrong: `requireTokenRequest`
 * keeps the order.
 */
export const TOKEN_FORM = {
  grant_type: formField({ const: GRANT_TYPE }, true),
  subject_token: formField(
    { minLength: 5, maxLength: LONGEST_TOKEN, description: 'A JWT of an issuer that the policy names.' },
    true,
  ),
  subject_token_type: formField({ const: SUBJECT_TOKEN_TYPE }, true),
  federation_policy_id: formField({ format: 'uuid' }, true),
  requested_token_type: formField({ const: ACCESS_TOKEN_TYPE }, false),
  scope: formField({ const: ACCESS_TOKEN_SCOPE }, false),
}

export type TokenRequestForm = { readonly [K in keyof typeof TOKEN_FORM]: string | null }

/** What an exchange is asked for, once the request itself is in order. */
interface TokenRequest {
  readonly policyId: string
  readonly subjectToken: string
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Throws `unsupported-grant-type`, `invalid-input` or `invalid-scope`, for the first thing that is wrong. */
export function requireTokenRequest(form: TokenRequestForm): TokenRequest {
  const { grant_type, subject_token, subject_token_type, federation_policy_id, requested_token_type } = form
  if (grant_type === null) failMalformed('grant_type', MISSING)
  if (grant_type !== GRANT_TYPE) throwFault('unsupported-grant-type')
  if (subject_token_type === null) failMalformed('subject_token_type', MISSING)
  if (subject_token_type !== SUBJECT_TOKEN_TYPE)
    failMalformed('subject_token_type', `must be ${SUBJECT_TOKEN_TYPE}`)
  if (federation_policy_id === null) failMalformed('federation_policy_id', MISSING)
  if (!UUID.test(federation_policy_id)) failMalformed('federation_policy_id', 'must be a UUID')
  if (subject_token === null) failMalformed('subject_token', MISSING)
  if (!isCompactJws(subject_token)) failMalformed('subject_token', NO_TOKEN)
  if (requested_token_type !== null && requested_token_type !== ACCESS_TOKEN_TYPE)
    failMalformed('requested_token_type', `must be ${ACCESS_TOKEN_TYPE}`)
  if (form.scope !== null && form.scope !== ACCESS_TOKEN_SCOPE) throwFault('invalid-scope')
  return { policyId: federation_policy_id.toLowerCase(), subjectToken: subject_token }
}

const MISSING = 'is required'
const NO_TOKEN = `must be a JWT of at most ${LONGEST_TOKEN} characters, three parts of base64url with dots between them`

/** Names the field, never what it holds (contract/decisions 55). */
function failMalformed(field: string, note: string): never {
  throwFault('invalid-input', { issues: [notedIssue(['body', field], note)] })
}

function formField(schema: JsonSchema, required: boolean): TextField<string | null> {
  return {
    required,
    schema: { type: 'string', ...schema },
    read: (raw) => (raw === undefined || raw === UNDECODABLE ? null : raw),
  }
}
