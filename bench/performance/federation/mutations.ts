/** Exchanges that are off by something, none of which may be accepted. */
import { sign } from 'node:crypto'
import { pickRandom } from '../../harness/figures/sequence.js'
import { encodeForm, exchangeForm, type FormFields } from './exchange-request.js'
import { type IssuingKey, signText, signToken, tokenHeader, tokenSegment } from './issuing-key.js'

/** What is mutated: an exchange that works. */
export interface ExchangeOriginals {
  readonly policyId: string
  readonly key: IssuingKey
  /** Another pair under the same `kid`. */
  readonly stranger: IssuingKey
  readonly claims: Readonly<Record<string, unknown>>
  /** A token of these claims, signed with the key. */
  readonly token: string
}

interface ExchangeMutation {
  /** For the statistics. */
  readonly kind: string
  readonly body: string
  readonly contentType: string
}

type RandomSource = () => number

const FORM_TYPE = 'application/x-www-form-urlencoded'
const LARGEST_BODY = 40_000
const NAMES = [
  ...['alg', 'kid', 'typ', 'crit', 'b64', 'jwk', 'jku', 'x5u', 'iss', 'sub', 'aud', 'exp', 'nbf', 'iat'],
  ...['scopes', 'token_type', '__proto__', 'constructor', ''],
]
const TEXTS = ['', 'none', 'HS256', 'RS256', 'at+jwt', 'another', '\u0000', '😀', 'x'.repeat(600)]
const VALUES: readonly unknown[] = [...TEXTS, null, 0, -1, 1e308, 0.5, true, [], {}, ['a'], [['a']], { a: 1 }]
const CHARACTERS = ['.', '=', '-', '_', 'A', 'z', '0', ' ', '\n', '%', '+', '/', '&', 'é', '\u0000']

const randomBelow = (limit: number, random: RandomSource): number => Math.floor(random() * limit)

/** One mutation of one of the kinds; the same sequence for the same `random`. */
export function mutateExchange(originals: ExchangeOriginals, random: RandomSource): ExchangeMutation {
  if (random() < 0.2) return mutateForm(originals, random)
  const kind = pickRandom(Object.keys(TOKEN_MUTATIONS), random)
  const token = TOKEN_MUTATIONS[kind]!(originals, random)
  // By chance nothing may have changed; then the signature is cut, so that it is never the good token.
  const bad = token === originals.token ? token.slice(0, -4) : token
  return { kind, body: encodeForm(exchangeForm(originals.policyId, bad)), contentType: FORM_TYPE }
}

const TOKEN_MUTATIONS: Readonly<
  Record<string, (originals: ExchangeOriginals, random: RandomSource) => string>
> = {
  'the text of a token': ({ token }, random) => mutateText(token, random),
  'a header under the old signature': ({ key, token }, random) => {
    const [, claims, signature] = token.split('.')
    return `${tokenSegment(mutateObject(tokenHeader(key), random))}.${claims}.${signature}`
  },
  'claims under the old signature': ({ claims, token }, random) => {
    const [header, , signature] = token.split('.')
    return `${header}.${tokenSegment(mutateObject(claims, random))}.${signature}`
  },
  "a stranger's token": ({ key, claims, stranger }, random) =>
    signToken(mutateObject(tokenHeader(key), random), mutateObject(claims, random), stranger),
  "a stranger's token in broken JSON": ({ key, claims, stranger }, random) => {
    const [header, body] = [tokenHeader(key), claims].map((part) => JSON.stringify(part))
    return signToken(mutateText(header!, random), mutateText(body!, random), stranger)
  },
  'a genuine token with claims that do not do': ({ key, claims }, random) =>
    signToken(tokenHeader(key), unacceptableClaims(claims, random), key),
  'a genuine token with a header that does not do': ({ key, claims }, random) =>
    signToken(unacceptableHeader(tokenHeader(key), random), claims, key),
  'a signature': withBadSignature,
  nonsense: (_, random) => {
    const part = () =>
      Buffer.from(Array.from({ length: randomBelow(200, random) }, () => randomBelow(256, random)))
    return [part(), part(), part()].map((bytes) => bytes.toString('base64url')).join('.')
  },
}

/** One to three changes: characters exchanged, cut out or added, the rest dropped, doubled, or turned round. */
function mutateText(text: string, random: RandomSource): string {
  let changed = text
  for (let turn = 0; turn <= randomBelow(3, random); turn++) changed = mutateTextOnce(changed, random)
  return changed
}

function mutateTextOnce(text: string, random: RandomSource): string {
  const at = randomBelow(text.length, random)
  const part = pickRandom(CHARACTERS, random)
  const exchanged = text.slice(0, at) + part + text.slice(at + 1)
  const cut = text.slice(0, at) + text.slice(at + 1)
  const added = text.slice(0, at) + part + text.slice(at)
  const turned = text.split('.').reverse().join('.')
  return [`${text}.${text}`, turned, text.slice(0, at), cut, cut, added][randomBelow(8, random)] ?? exchanged
}

/** One or two members set to something else, or taken away. */
function mutateObject(object: object, random: RandomSource): object {
  const entries = new Map(Object.entries(object))
  for (let turn = 0; turn <= randomBelow(2, random); turn++) {
    const name = pickRandom([...entries.keys(), ...NAMES], random)
    if (random() < 0.3) entries.delete(name)
    else entries.set(name, pickRandom(VALUES, random))
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

function unacceptableClaims(claims: object, random: RandomSource): object | string {
  const name = pickRandom(Object.keys(UNFIT_CLAIMS), random)
  // Named twice: two readers could read two things.
  if (random() < 0.1) return JSON.stringify({ ...claims, [name]: 1 }).replace('{', `{"${name}":1,`)
  return { ...claims, [name]: pickRandom(UNFIT_CLAIMS[name]!, random) }
}

const UNFIT_HEADERS: Readonly<Record<string, readonly unknown[]>> = {
  alg: [...VALUES, undefined, 'es256', 'ES384', 'ES256K', 'PS256', 'EdDSA'],
  kid: [...VALUES],
  typ: [null, 0, true, [], {}, '', 'JWE', 'dpop+jwt', 'secevent+jwt', 'application/x+jwt', 'logout+jwt'],
  crit: [...VALUES],
  b64: [...VALUES],
}

function unacceptableHeader(header: object, random: RandomSource): object | string {
  const name = pickRandom(Object.keys(UNFIT_HEADERS), random)
  return { ...header, [name]: pickRandom(UNFIT_HEADERS[name]!, random) }
}

/** A good header and good claims under bytes that are no signature of them. */
function withBadSignature({ key, token }: ExchangeOriginals, random: RandomSource): string {
  const end = token.lastIndexOf('.')
  const signed = token.slice(0, end)
  const bytes = signText(signed, key)
  const flip = (): Buffer => {
    bytes[randomBelow(bytes.length, random)]! ^= 1 << randomBelow(8, random)
    return bytes
  }
  const forms: readonly (() => Buffer)[] = [
    flip,
    () => sign('sha256', Buffer.from(signed), key.privateKey), // DER
    () => Buffer.alloc(64),
    () => bytes.fill(0, 0, 32),
    () => bytes.fill(0, 32),
    () => Buffer.concat([bytes, Buffer.alloc(1 + randomBelow(8, random))]),
    () => bytes.subarray(0, randomBelow(64, random)),
    () => Buffer.concat([bytes.subarray(32), bytes.subarray(0, 32)]),
  ]
  return `${signed}.${pickRandom(forms, random)().toString('base64url')}`
}

/** A form that is off. What could be read as the good one in spite of that holds a forged token instead. */
function mutateForm(originals: ExchangeOriginals, random: RandomSource): ExchangeMutation {
  const kind = pickRandom(Object.keys(FORM_MUTATIONS), random)
  const { body, contentType = FORM_TYPE } = FORM_MUTATIONS[kind]!(originals, random)
  return { kind, body: body.slice(0, LARGEST_BODY), contentType }
}

type MutatedForm = Pick<ExchangeMutation, 'body'> & Partial<ExchangeMutation>

function forgeToken({ key, claims, stranger }: ExchangeOriginals): string {
  return signToken(tokenHeader(key), claims, { ...stranger, kid: key.kid })
}

const FORM_MUTATIONS: Readonly<
  Record<string, (originals: ExchangeOriginals, random: RandomSource) => MutatedForm>
> = {
  'a form without a field': ({ policyId, token }, random) => {
    const form = exchangeForm(policyId, token)
    const gone = randomBelow(form.length, random)
    return { body: encodeForm(form.filter((_, index) => index !== gone)) }
  },
  'a form with a field twice': ({ policyId, token }, random) => {
    const form = exchangeForm(policyId, token)
    return { body: encodeForm([...form, form[randomBelow(form.length, random)]!]) }
  },
  'a form with another value': ({ policyId, token }, random) => {
    const form = exchangeForm(policyId, token)
    const at = randomBelow(form.length, random)
    // A trailing space, letters of another size, or nothing of it at all.
    const value = pickRandom([`${form[at]![1]} `, `x${form[at]![1]}`, ...TEXTS], random)
    return { body: encodeForm(form.map(([name, old], index) => [name, index === at ? value : old])) }
  },
  'a form that wants more': ({ policyId, token }, random) => {
    const more: FormFields = [
      [
        pickRandom(['scope', 'requested_token_type'], random),
        pickRandom(['admin', 'inference admin', 'x'], random),
      ],
    ]
    return { body: encodeForm([...exchangeForm(policyId, token), ...more]) }
  },
  'a form of another type': ({ policyId, token }, random) => {
    const form = exchangeForm(policyId, token)
    return pickRandom<MutatedForm>(
      [
        { body: JSON.stringify(Object.fromEntries(form)), contentType: 'application/json' },
        { body: encodeForm(form), contentType: 'text/plain' },
        { body: encodeForm(form), contentType: 'multipart/form-data; boundary=a' },
        { body: encodeForm(form), contentType: `${FORM_TYPE}; charset=utf-16` },
      ],
      random,
    )
  },
  'the text of a form': (originals, random) => {
    const body = encodeForm(exchangeForm(originals.policyId, forgeToken(originals)))
    return { body: mutateText(body, random) }
  },
  'a form that is too large': ({ policyId, token }, random) => {
    const padding = 'x'.repeat(32_768 + randomBelow(2_000, random))
    return { body: encodeForm([...exchangeForm(policyId, token), ['padding', padding]]) }
  },
}
