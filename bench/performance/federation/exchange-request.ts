/** Token exchanges as the load tools and the trials send them. */
import { type RequestSpec, requestBytes } from '../../harness/http/requests.js'

export const TOKEN_PATH = '/api/v1/oauth/token'

const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const JWT_TYPE = 'urn:ietf:params:oauth:token-type:jwt'
const FORM_TYPE = 'application/x-www-form-urlencoded'

/** Fields of a form in their order, repeats allowed. */
export type FormFields = readonly (readonly [name: string, value: string])[]

export function exchangeForm(policyId: string, token: string): FormFields {
  return [
    ['grant_type', GRANT_TYPE],
    ['subject_token', token],
    ['subject_token_type', JWT_TYPE],
    ['federation_policy_id', policyId],
  ]
}

export function encodeForm(form: FormFields): string {
  return form.map((pair) => pair.map(encodeURIComponent).join('=')).join('&')
}

/** One exchange as the load tools take it, with what its answer has to hold. */
export function exchangeSpec(policyId: string, token: string): RequestSpec {
  return {
    ...formSpec(encodeForm(exchangeForm(policyId, token))),
    answer: { kind: 'text', includes: ['"access_token"', '"Bearer"', '"inference"'], leastBytes: 400 },
  }
}

/** The bytes of one exchange over a kept connection. */
export function exchangeBytes(policyId: string, token: string): Buffer {
  return requestBytes(exchangeSpec(policyId, token))
}

/** The bytes of a request with any body and any type. */
export function formBytes(body: string, contentType = FORM_TYPE): Buffer {
  return requestBytes(formSpec(body, contentType))
}

function formSpec(body: string, contentType = FORM_TYPE): RequestSpec {
  const headers = { 'Content-Type': contentType }
  return { method: 'POST', route: TOKEN_PATH, path: TOKEN_PATH, headers, body }
}
