/**
 * Every reason for which a subject token buys nothing. On the wire they are all the same (contract/decisions 14);
 * the log, the audit rows and the policy tester tell them apart. The sentences hold no word of a token.
 */
export const REFUSAL_SENTENCES = {
  'policy-unknown': 'there is no such policy',
  'policy-paused': 'the policy is paused',
  'issuer-unknown': 'the issuer of the policy has been deleted',
  'plan-too-small': "the organization's plan does not include workload identity federation",

  'token-too-long': 'the token is longer than 16384 characters',
  'token-malformed': 'the token is not three parts of base64url',
  'token-encoding': 'a part of the token is not canonical base64url',
  'header-malformed': 'the header is no JSON object in UTF-8 with every member named once',
  'claims-malformed': 'the claims are no JSON object in UTF-8 with every member named once',
  'alg-missing': 'the header has no "alg" text',
  'alg-unsupported': 'the algorithm is neither ES256 nor RS256',
  'crit-present': 'the header demands extensions ("crit" or "b64")',
  'typ-invalid': '"typ" is no text',
  'typ-other-purpose': '"typ" is neither "JWT" nor "at+jwt"',
  'kid-invalid': '"kid" is no text',
  'iss-invalid': '"iss" is missing or no text',
  'sub-invalid': '"sub" is missing, empty or no text',
  'aud-invalid': '"aud" is missing, empty, or neither a text nor a list of texts',
  'exp-invalid': '"exp" is missing or no number',
  'nbf-invalid': '"nbf" is no number',
  'iat-invalid': '"iat" is no number',
  'scopes-invalid': '"scopes" is no list of texts',

  'token-of-ours': 'the token is an access token of this gateway',
  'iss-mismatch': '"iss" is not the issuer of the policy',
  'key-unknown': 'the issuer publishes no key of that "kid" and algorithm',
  'key-algorithm': 'the key of that "kid" is for another algorithm',
  'key-ambiguous': 'the issuer publishes several keys of that "kid"',
  'kid-missing': 'several keys of the issuer fit and the token names none',
  'signature-invalid': 'the signature is not from the key of the issuer',
  expired: 'the token has expired',
  'not-yet-valid': '"nbf" lies in the future',
  'issued-in-future': '"iat" lies in the future',
  'sub-too-long': '"sub" has more than 512 characters',
  'aud-too-long': 'an entry of "aud" has more than 512 characters',
  'scopes-too-many': '"scopes" or "scope" has more than 16 entries',
  'scopes-too-long': 'an entry of "scopes" or "scope" has more than 512 characters',

  'subject-mismatch': '"sub" is not the subject of the policy',
  'audience-mismatch': 'no entry of "aud" is the audience of the policy',
  'scopes-check': 'neither "scopes" nor, without it, "scope" contains the value of the claim check',
  'token-type-check': '"token_type" is not the value of the claim check',
  'policy-open': 'the policy has neither subject nor condition',
  'condition-false': 'the condition is not true',
  'condition-failed': 'the condition could not be evaluated without an error',

  'token-too-short-lived': 'the token has less than a second left',

  'key-not-found': 'the target key does not exist or belongs to another organization',
  'key-kind': 'the target key is no workspace key',
  'key-deleted': 'the target key is deleted',
  'key-disabled': 'the target key is disabled',
  'key-expired': 'the target key has expired',
} as const

export type ExchangeRefusal = keyof typeof REFUSAL_SENTENCES
