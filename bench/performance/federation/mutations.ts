/** Exchanges that are off by something, none of which may be accepted. */
import { sign } from 'node:crypto'
import { encodedForm, exchangeForm, type Form } from './exchange-request.js'
import { headerOf, type IssuingKey, segment, signatureOf, signedToken } from './issuing-key.js'

/** What is mutated: an exchange that works. */
export interface Originals {
  readonly policyId: string
  readonly key: IssuingKey
  /** Another pair under the same `kid`. */
  readonly stranger: IssuingKey
  readonly claims: Readonly<Record<string, unknown>>
  /** A token of these claims, signed with the key. */
  readonly token: string
}

interface Mutation {
  /** For the statistics. */
  readonly kind: string
  readonly body: string
  readonly contentType: string
}

type Random = () => number

const FORM_TYPE = 'application/x-www-form-urlencoded'
const LARGEST_BODY = 40_000
const NAMES = [
  ...['alg', 'kid', 'typ', 'crit', 'b64', 'jwk', 'jku', 'x5u', 'iss', 'sub', 'aud', 'exp', 'nbf', 'iat'],
  ...['scopes', 'token_type', '__proto__', 'constructor', ''],
]
const TEXTS = ['', 'none', 'HS256', 'RS256', 'at+jwt', 'another', '\u0000', '😀', 'x'.repeat(600)]
const VALUES: readonly unknown[] = [...TEXTS, null, 0, -1, 1e308, 0.5, true, [], {}, ['a'], [['a']], { a: 1 }]
const CHARACTERS = ['.', '=', '-', '_', 'A', 'z', '0', ' ', '\n', '%', '+', '/', '&', 'é', '\u0000']

function below(limit: number, random: Random): number {
  return Math.floor(random() * limit)
}

function oneOf<T>(values: readonly T[], random: Random): T {
  return values[below(values.length, random)]!
}

/** One mutation of one of the kinds; the same sequence for the same `random`. */
export function mutationOf(originals: Originals, random: Random): Mutation {
  if (random() < 0.2) return formMutation(originals, random)
  const kind = oneOf(Object.keys(TOKENS), random)
  const token = TOKENS[kind]!(originals, random)
  // By chance nothing may have changed; then the signature is cut, so that it is never the good token.
  const bad = token === originals.token ? token.slice(0, -4) : token
  return { kind, body: encodedForm(exchangeForm(originals.policyId, bad)), contentType: FORM_TYPE }
}

const TOKENS: Readonly<Record<string, (originals: Originals, random: Random) => string>> = {
  'the text of a token': ({ token }, random) => changedText(token, random),
  'a header under the old signature': ({ key, token }, random) => {
    const [, claims, signature] = token.split('.')
    return `${segment(changedObject(headerOf(key), random))}.${claims}.${signature}`
  },
  'claims under the old signature': ({ claims, token }, random) => {
    const [header, , signature] = token.split('.')
    return `${header}.${segment(changedObject(claims, random))}.${signature}`
  },
  "a stranger's token": ({ key, claims, stranger }, random) =>
    signedToken(changedObject(headerOf(key), random), changedObject(claims, random), stranger),
  "a stranger's token in broken JSON": ({ key, claims, stranger }, random) => {
    const [header, body] = [headerOf(key), claims].map((part) => JSON.stringify(part))
    return signedToken(changedText(header!, random), changedText(body!, random), stranger)
  },
  'a genuine token with claims that do not do': ({ key, claims }, random) =>
    signedToken(headerOf(key), unfitClaims(claims, random), key),
  'a genuine token with a header that does not do': ({ key, claims }, random) =>
    signedToken(unfitHeader(headerOf(key), random), claims, key),
  'a signature': (originals, random) => resigned(originals, random),
  nonsense: (_, random) => {
    const part = () => Buffer.from(Array.from({ length: below(200, random) }, () => below(256, random)))
    return [part(), part(), part()].map((bytes) => bytes.toString('base64url')).join('.')
  },
}

/** One to three changes: characters exchanged, cut out or added, the rest dropped, doubled, or turned round. */
function changedText(text: string, random: Random): string {
  let changed = text
  for (let turn = 0; turn <= below(3, random); turn++) changed = changedOnce(changed, random)
  return changed
}

function changedOnce(text: string, random: Random): string {
  const at = below(text.length, random)
  const part = oneOf(CHARACTERS, random)
  switch (below(8, random)) {
    case 0:
      return `${text}.${text}`
    case 1:
      return text.split('.').reverse().join('.')
    case 2:
      return text.slice(0, at)
    case 3:
    case 4:
      return text.slice(0, at) + text.slice(at + 1)
    case 5:
      return text.slice(0, at) + part + text.slice(at)
    default:
      return text.slice(0, at) + part + text.slice(at + 1)
  }
}

/** One or two members set to something else, or taken away. */
function changedObject(object: object, random: Random): object {
  const entries = new Map(Object.entries(object))
  for (let turn = 0; turn <= below(2, random); turn++) {
    const name = oneOf([...entries.keys(), ...NAMES], random)
    if (random() < 0.3) entries.delete(name)
    else entries.set(name, oneOf(VALUES, random))
  }
  // Not an assignment: `__proto__` is to be a member like any other.
  return Object.fromEntries(entries)
}

/** Values each of which is a reason to refuse a token that is otherwise good; undefined takes the member away. */
const UNFIT_CLAIMS: Readonly<Record<string, readonly unknown[]>> = {
  iss: [...VALUES, undefined],
  sub: [...VALUES, undefined],
  aud: [...VALUES, undefined, 'Sluice', ['sluice', 7], { 0: 'sluice' }],
  exp: [undefined, null, '', '9999999999', 0, -1, 0.5, true, [], {}, [9_999_999_999]],
  nbf: [null, '', '0', true, [], {}, 1e308, 9_999_999_999],
  iat: [null, '', '0', true, [], {}, 1e308, 9_999_999_999],
  scopes: [null, '', 'deploy', 7, true, {}, [7], [['deploy']], Array(17).fill('deploy'), ['x'.repeat(513)]],
}

function unfitClaims(claims: object, random: Random): object | string {
  const name = oneOf(Object.keys(UNFIT_CLAIMS), random)
  // Named twice: two readers could read two things.
  if (random() < 0.1) return JSON.stringify({ ...claims, [name]: 1 }).replace('{', `{"${name}":1,`)
  return { ...claims, [name]: oneOf(UNFIT_CLAIMS[name]!, random) }
}

const UNFIT_HEADERS: Readonly<Record<string, readonly unknown[]>> = {
  alg: [...VALUES, undefined, 'es256', 'ES384', 'ES256K', 'PS256', 'EdDSA'],
  kid: [...VALUES],
  typ: [null, 0, true, [], {}, 'at+jwt', 'AT+JWT', 'application/at+jwt', 'logout+jwt'],
  crit: [...VALUES],
  b64: [...VALUES],
}

function unfitHeader(header: object, random: Random): object | string {
  const name = oneOf(Object.keys(UNFIT_HEADERS), random)
  return { ...header, [name]: oneOf(UNFIT_HEADERS[name]!, random) }
}

/** A good header and good claims under bytes that are no signature of them. */
function resigned({ key, token }: Originals, random: Random): string {
  const end = token.lastIndexOf('.')
  const signed = token.slice(0, end)
  const bytes = signatureOf(signed, key)
  const flip = (): Buffer => {
    bytes[below(bytes.length, random)]! ^= 1 << below(8, random)
    return bytes
  }
  const forms: readonly (() => Buffer)[] = [
    flip,
    () => sign('sha256', Buffer.from(signed), key.privateKey), // DER
    () => Buffer.alloc(64),
    () => bytes.fill(0, 0, 32),
    () => bytes.fill(0, 32),
    () => Buffer.concat([bytes, Buffer.alloc(1 + below(8, random))]),
    () => bytes.subarray(0, below(64, random)),
    () => Buffer.concat([bytes.subarray(32), bytes.subarray(0, 32)]),
  ]
  return `${signed}.${oneOf(forms, random)().toString('base64url')}`
}

/** A form that is off. What could be read as the good one in spite of that holds a forged token instead. */
function formMutation(originals: Originals, random: Random): Mutation {
  const kind = oneOf(Object.keys(FORMS), random)
  const { body, contentType = FORM_TYPE } = FORMS[kind]!(originals, random)
  return { kind, body: body.slice(0, LARGEST_BODY), contentType }
}

interface Sent {
  readonly body: string
  readonly contentType?: string
}

function forged({ key, claims, stranger }: Originals): string {
  return signedToken(headerOf(key), claims, { ...stranger, kid: key.kid })
}

const FORMS: Readonly<Record<string, (originals: Originals, random: Random) => Sent>> = {
  'a form without a field': ({ policyId, token }, random) => {
    const form = exchangeForm(policyId, token)
    const gone = below(form.length, random)
    return { body: encodedForm(form.filter((_, index) => index !== gone)) }
  },
  'a form with a field twice': ({ policyId, token }, random) => {
    const form = exchangeForm(policyId, token)
    return { body: encodedForm([...form, form[below(form.length, random)]!]) }
  },
  'a form with another value': ({ policyId, token }, random) => {
    const form = exchangeForm(policyId, token)
    const at = below(form.length, random)
    // A trailing space, letters of another size, or nothing of it at all.
    const value = oneOf([`${form[at]![1]} `, `x${form[at]![1]}`, ...TEXTS], random)
    return { body: encodedForm(form.map(([name, old], index) => [name, index === at ? value : old])) }
  },
  'a form that wants more': ({ policyId, token }, random) => {
    const more: Form = [
      [oneOf(['scope', 'requested_token_type'], random), oneOf(['admin', 'inference admin', 'x'], random)],
    ]
    return { body: encodedForm([...exchangeForm(policyId, token), ...more]) }
  },
  'a form of another type': ({ policyId, token }, random) => {
    const form = exchangeForm(policyId, token)
    return oneOf<Sent>(
      [
        { body: JSON.stringify(Object.fromEntries(form)), contentType: 'application/json' },
        { body: encodedForm(form), contentType: 'text/plain' },
        { body: encodedForm(form), contentType: 'multipart/form-data; boundary=a' },
        { body: encodedForm(form), contentType: `${FORM_TYPE}; charset=utf-16` },
      ],
      random,
    )
  },
  'the text of a form': (originals, random) => {
    const body = encodedForm(exchangeForm(originals.policyId, forged(originals)))
    return { body: changedText(body, random) }
  },
  'a form that is too large': ({ policyId, token }, random) => {
    const padding = 'x'.repeat(32_768 + below(2_000, random))
    return { body: encodedForm([...exchangeForm(policyId, token), ['padding', padding]]) }
  },
}
