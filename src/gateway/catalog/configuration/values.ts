/** Schemas of the single values of the gateway's configuration. Their messages never repeat a value. */
import { z } from 'zod'
import { nanosPerMillion } from '../../../base/money.js'

/** A whole number between two inclusive bounds. */
export function integerBetween(min: number, max: number): z.ZodType<number, number> {
  const problem = `must be an integer from ${min} to ${max}`
  return z.int(problem).min(min, problem).max(max, problem)
}

/** Milliseconds, up to an hour. */
export const milliseconds = integerBetween(1, 3_600_000)

export const tokens = integerBetween(1, 1_000_000_000)

/** Text for people. */
export function nonEmptyText(max: number): z.ZodType<string, string> {
  const problem = `must have 1 to ${max} characters`
  return z.string().min(1, problem).max(max, problem)
}

export const flag = z.boolean('must be true or false')

/** Short name of a provider. */
export const slug = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9-]{0,63}$/,
    'must be a short name of lower-case letters, digits and hyphens, 64 characters at most',
  )

const ID = '[A-Za-z0-9~@][A-Za-z0-9._:/@+~-]*'
const OF_WHAT = 'letters, digits and . _ : / @ + ~ -'

/** Any name that a model can have. */
export const MODEL_NAME = new RegExp(`^${ID}$`)

/** As callers name it: `vendor/name`, `vendor/name:variant`, or any other name (contract/decisions 51). */
export const modelId = z
  .string()
  .max(200, 'must have at most 200 characters')
  .regex(MODEL_NAME, `must be a name of ${OF_WHAT}`)

/** A model's id, or with a `*` at its end what the ids of many begin with. */
export const modelEntryId = z
  .string()
  .max(200, 'must have at most 200 characters')
  .regex(new RegExp(`^(?:${ID}\\*?|\\*)$`), `must be a name of ${OF_WHAT}, or such a beginning and a *`)

/** Name of an operation, as in statistics and in the OpenAPI document. */
export const operationName = z.string().regex(/^[a-z][a-z0-9_-]{0,63}$/, 'must be the name of an operation')

function isPlainHttpUrl(text: string): boolean {
  if (!URL.canParse(text) || /[\s\\]/.test(text)) return false
  const { protocol, username, password } = new URL(text)
  return (protocol === 'http:' || protocol === 'https:') && username === '' && password === ''
}

/** A page for people. */
export const pageUrl = z
  .string()
  .max(2000, 'must have at most 2000 characters')
  .refine(isPlainHttpUrl, 'must be an http or https URL without credentials')

/** Where an API begins. A closing slash is taken off, so that paths can be put behind it. */
export const baseUrl = z
  .string()
  .max(2000, 'must have at most 2000 characters')
  .refine(
    (text) => isPlainHttpUrl(text) && !text.includes('?') && !text.includes('#'),
    'must be an http or https URL without user, query and fragment',
  )
  .transform((text) => new URL(text).href.replace(/\/+$/, ''))

export const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/

/** Name of an environment variable. */
export const variableName = z.string().regex(VARIABLE_NAME, 'must be the name of an environment variable')

/** What a credential may be made of, so that it fits into a header field. */
export const CREDENTIAL = /^[\x21-\x7e]{1,8192}$/

/**
 * Fields that belong to the connection (RFC 9110 section 7.6.1), to the framing, or to whoever writes the request:
 * a second value of ours would contradict the first.
 */
const REFUSED_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'authorization',
  'host',
  'content-length',
  'content-type',
  'content-encoding',
  'accept',
  'accept-encoding',
  'expect',
])

const headerName = z
  .string()
  .regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/, 'must be the name of a header field')
  .refine((name) => !REFUSED_HEADERS.has(name.toLowerCase()), 'is a header field that may not be fixed')

const headerValue = z
  .string()
  .regex(
    /^[\x21-\x7e](?:[\x20-\x7e\t]{0,4094}[\x21-\x7e])?$/,
    'must be printable ASCII, without outer spaces',
  )

/** Fixed request headers. */
export const headers = z
  .record(headerName, headerValue)
  .refine(
    (fields) =>
      new Set(Object.keys(fields).map((name) => name.toLowerCase())).size === Object.keys(fields).length,
    'names a header field twice',
  )

type CamelCase<S extends string> = S extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : S

type CamelCased<T> = { readonly [K in keyof T as CamelCase<K & string>]: T[K] }

/** An entry of the file under the names that the program uses: `context_length` is `contextLength`. */
export function camelCased<T extends object>(entry: T): CamelCased<T> {
  const members = Object.entries(entry).map(([name, value]) => [
    name.replaceAll(/_([a-z])/g, (_match, letter: string) => letter.toUpperCase()),
    value,
  ])
  return Object.fromEntries(members) as CamelCased<T>
}

/** For a member that may be absent, and is null then. */
export function orNull<T extends z.ZodType>(schema: T) {
  return schema.optional().transform((value) => value ?? null)
}

// ── Prices: decimal dollars in the file ─────────────────────────────────────

/** Nano-dollars per million tokens are nano-dollars of a request when there is a million of them in it. */
export const MILLION = 1_000_000

/**
 * A number in digits alone: `2.5e-7` is `0.00000025`. JavaScript writes small numbers with an exponent, and the
 * shortest text that reads as the same number is the one the operator wrote.
 */
export function toPlainDecimal(value: number): string {
  const [mantissa = '', exponent] = String(value).split('e')
  if (exponent === undefined) return mantissa
  const [whole = '', fraction = ''] = mantissa.split('.')
  const shift = Number(exponent)
  return shift < 0
    ? `0.${'0'.repeat(-shift - 1)}${whole}${fraction}`
    : `${whole}${fraction}`.padEnd(shift + 1, '0')
}

export function decimalPrice(
  problem: string,
  isExact: (nanos: number) => boolean,
): z.ZodType<string, string | number> {
  return z
    .union([z.string(), z.number()], { error: problem })
    .transform((value) => (typeof value === 'number' ? toPlainDecimal(value) : value))
    .refine((text) => {
      const nanos = nanosPerMillion(text)
      return nanos !== null && isExact(nanos)
    }, problem)
}

const PER_REQUEST = 'must be dollars of one as a decimal: not negative, at most 9 places, at most 9 dollars'

/** Dollars of one request, picture or call. */
export const perRequest = decimalPrice(PER_REQUEST, (nanos) => nanos % MILLION === 0)
