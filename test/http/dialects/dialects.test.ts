import { test } from 'tap'
import { Fault, type FaultKind, ValidationIssue, type ValidationRule } from '../../../src/base/fault.js'
import { anthropic, errorEvent } from '../../../src/http/dialects/anthropic.js'
import type { ErrorDialect } from '../../../src/http/dialects/dialect.js'
import { gateway } from '../../../src/http/dialects/gateway.js'
import { oauth } from '../../../src/http/dialects/oauth.js'
import { practice } from '../../../src/http/dialects/practice.js'
import { scimV2 } from '../../../src/http/dialects/scim-v2.js'
import type { Reply } from '../../../src/transport/exchange.js'
import { words } from '../../support/data/words.js'
import { KINDS, WIRE } from './fault-kinds.js'

const DIALECTS: readonly ErrorDialect[] = [practice, gateway, oauth, anthropic, scimV2]

function statusOn(dialect: ErrorDialect, kind: FaultKind): number {
  const row = WIRE[kind]
  switch (dialect.name) {
    case 'practice':
      return row.practice
    case 'oauth':
      return row.oauth[0]
    default:
      return row.gateway
  }
}

function bodyOf({ body }: Reply): Record<string, unknown> {
  return JSON.parse(String(body))
}

function headersOf(reply: Reply): Record<string, string> {
  const names = reply.headers.map(([name]) => name.toLowerCase())
  if (new Set(names).size !== names.length) throw new Error(`a header stands twice: ${names.join()}`)
  return Object.fromEntries(reply.headers.map(([name, value]) => [name.toLowerCase(), value]))
}

for (const dialect of DIALECTS) {
  test(`${dialect.name} answers every fault kind with its status and as JSON`, async (t) => {
    for (const kind of KINDS) {
      const reply = dialect.render(new Fault(kind))
      t.equal(reply.status, statusOn(dialect, kind), kind)
      t.equal(dialect.status(kind), reply.status, `${kind}: status() agrees`)
      t.equal(
        headersOf(reply)['content-type'],
        dialect.mediaType ?? 'application/json',
        `${kind}: media type`,
      )
      t.type(bodyOf(reply), 'object', `${kind}: body`)
    }
  })

  test(`${dialect.name} sends the headers a status owes, and no others of them`, async (t) => {
    for (const kind of KINDS) {
      const { status, headers } = dialect.render(new Fault(kind, { allow: ['GET', 'HEAD'] }))
      const sent = headersOf({ status, headers, body: null })
      t.equal(sent['www-authenticate'], status === 401 ? 'Bearer' : undefined, `${kind}: WWW-Authenticate`)
      t.equal(sent.allow, status === 405 ? 'GET, HEAD' : undefined, `${kind}: Allow`)
      t.equal(sent['retry-after'], status === 429 || status === 503 ? '1' : undefined, `${kind}: Retry-After`)
    }
  })

  test(`${dialect.name} sends Retry-After as whole seconds of at least one`, async (t) => {
    for (const kind of ['unavailable', 'rate-limited'] as const) {
      for (const [retryAfter, sent] of [
        [undefined, '1'],
        [0, '1'],
        [-5, '1'],
        [0.2, '1'],
        [1, '1'],
        [2.1, '3'],
        [3600, '3600'],
      ] as const) {
        const fault = new Fault(kind, retryAfter === undefined ? {} : { retryAfter })
        t.equal(headersOf(dialect.render(fault))['retry-after'], sent, `${kind}: ${retryAfter}`)
      }
    }
  })

  test(`${dialect.name} never shows detail or cause`, async (t) => {
    for (const kind of KINDS) {
      const fault = new Fault(kind, { detail: 's3cr3t', cause: new Error('s3cr3t') })
      t.notMatch(JSON.stringify(dialect.render(fault)), 's3cr3t', kind)
    }
  })
}

const ISSUES = [
  new ValidationIssue(['path', 'item_id'], 'integer-text'),
  new ValidationIssue(['body', 'lines', 2, 'name'], 'string-too-short', 1),
  new ValidationIssue(['body', 'price'], 'at-most', 1_000_000),
]

test('practice says a sentence under detail', async (t) => {
  const SENTENCES: Partial<Record<FaultKind, string>> = {
    'item-not-found': 'Item not found',
    'not-found': 'Not Found',
    'method-not-allowed': 'Method Not Allowed',
    'payload-too-large': 'Request payload too large',
    unavailable: 'Service temporarily unavailable',
  }
  for (const kind of KINDS) {
    const { detail } = bodyOf(practice.render(new Fault(kind)))
    if (kind !== 'invalid-input') t.type(detail, 'string', kind)
    if (SENTENCES[kind] !== undefined) t.equal(detail, SENTENCES[kind], kind)
  }
})

const PYDANTIC: Readonly<Record<ValidationRule, readonly [type: string, msg: string]>> = {
  missing: ['missing', 'Field required'],
  string: ['string_type', 'Input should be a valid string'],
  'string-too-short': ['string_too_short', 'String should have at least 7 characters'],
  'string-too-long': ['string_too_long', 'String should have at most 7 characters'],
  number: ['float_type', 'Input should be a valid number'],
  integer: ['int_type', 'Input should be a valid integer'],
  'integer-fraction': [
    'int_from_float',
    'Input should be a valid integer, got a number with a fractional part',
  ],
  'integer-text': ['int_parsing', 'Input should be a valid integer, unable to parse string as an integer'],
  boolean: ['bool_type', 'Input should be a valid boolean'],
  object: ['model_attributes_type', 'Input should be a valid dictionary or object to extract fields from'],
  array: ['list_type', 'Input should be a valid list'],
  'too-few': ['too_short', 'Input should have at least 7 items'],
  'too-many': ['too_long', 'Input should have at most 7 items'],
  'at-least': ['greater_than_equal', 'Input should be greater than or equal to 7'],
  'at-most': ['less_than_equal', 'Input should be less than or equal to 7'],
  json: ['json_invalid', 'JSON decode error'],
  other: ['value_error', 'Value error'],
}

test('practice lists every violation with loc, msg and type in the words of Pydantic', async (t) => {
  for (const [rule, [type, msg]] of Object.entries(PYDANTIC) as [
    ValidationRule,
    readonly [string, string],
  ][]) {
    const reply = practice.render(
      new Fault('invalid-input', { issues: [new ValidationIssue(['body', 'x'], rule, 7)] }),
    )
    t.strictSame(bodyOf(reply), { detail: [{ loc: ['body', 'x'], msg, type }] }, rule)
  }
  const reply = practice.render(new Fault('invalid-input', { issues: ISSUES }))
  t.equal(reply.status, 422)
  t.strictSame(bodyOf(reply), {
    detail: [
      {
        loc: ['path', 'item_id'],
        msg: 'Input should be a valid integer, unable to parse string as an integer',
        type: 'int_parsing',
      },
      {
        loc: ['body', 'lines', 2, 'name'],
        msg: 'String should have at least 1 character',
        type: 'string_too_short',
      },
      {
        loc: ['body', 'price'],
        msg: 'Input should be less than or equal to 1000000',
        type: 'less_than_equal',
      },
    ],
  })
})

test('gateway says {error: {code, message}} and the code is the status', async (t) => {
  for (const kind of KINDS) {
    const reply = gateway.render(new Fault(kind))
    const { error, ...rest } = bodyOf(reply) as { error: { code: number; message: string } }
    t.same(rest, {}, kind)
    t.strictSame(Object.keys(error), ['code', 'message'], kind)
    t.equal(error.code, reply.status, kind)
    t.type(error.message, 'string', kind)
  }
  t.strictSame(bodyOf(gateway.render(new Fault('not-found'))), {
    error: { code: 404, message: 'Resource not found' },
  })
})

/** The given sentences (contract/decisions 49). */
const GIVEN: readonly (readonly [kind: FaultKind, sentence: string])[] = [
  ['bad-request', 'Invalid request parameters'],
  ['invalid-input', 'Invalid request parameters'],
  ['payment-required', 'Insufficient credits'],
  ['not-found', 'Resource not found'],
  ['item-not-found', 'Resource not found'],
  ['payload-too-large', 'Request payload too large'],
  ['rate-limited', 'Rate limit exceeded'],
  ['internal', 'Internal Server Error'],
  ['provider-failed', 'Provider returned error'],
  ['unavailable', 'Service temporarily unavailable'],
  ['deadline-exceeded', 'The operation was aborted due to timeout'],
  ['provider-timeout', 'Request timed out. Please try again later.'],
  ['provider-overloaded', 'Provider returned error'],
]

test('a sentence begins with the given one of its status; failures beyond us have no other', async (t) => {
  const said = (kind: FaultKind, note?: string) =>
    (bodyOf(gateway.render(new Fault(kind, { note }))).error as { message: string }).message
  for (const [kind, sentence] of GIVEN) {
    t.equal(said(kind), sentence, kind)
    const alone = gateway.status(kind) >= 500 && kind !== 'unavailable'
    t.equal(said(kind, 'More of it'), alone ? sentence : `${sentence}: More of it`, kind)
  }
  for (const kind of ['unauthenticated', 'forbidden'] as const)
    t.equal(said(kind, 'Not you'), 'Not you', kind)
})

test('gateway names the field of the first violation', async (t) => {
  const said = (issue: ValidationIssue): unknown => {
    const { error } = bodyOf(gateway.render(new Fault('invalid-input', { issues: [issue] })))
    return (error as { message: string }).message
  }
  for (const rule of Object.keys(PYDANTIC) as ValidationRule[]) {
    const message = said(new ValidationIssue(['body', 'messages', 0, 'role'], rule, 7))
    t.match(
      message,
      rule === 'json'
        ? /^Invalid request parameters: body: /
        : /^Invalid request parameters: messages\.0\.role: /,
      rule,
    )
  }
  t.equal(
    said(new ValidationIssue(['body'], 'object')),
    'Invalid request parameters: body: must be an object',
  )
  t.equal(
    said(new ValidationIssue(['body', 'x'], 'other', undefined, 'cannot be combined with y')),
    'Invalid request parameters: x: cannot be combined with y',
  )
})

test('oauth always says error and error_description and is never stored', async (t) => {
  for (const kind of KINDS) {
    const reply = oauth.render(new Fault(kind, { issues: ISSUES }))
    const body = bodyOf(reply)
    t.strictSame(Object.keys(body), ['error', 'error_description'], kind)
    t.equal(body.error, WIRE[kind].oauth[1], kind)
    // RFC 6749 section 5.2: these characters only, and not none.
    t.match(body.error_description, /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/, kind)
    t.equal(headersOf(reply)['cache-control'], 'no-store', kind)
    t.equal(headersOf(reply).pragma, 'no-cache', kind)
  }
})

test('oauth says the same bytes for every invalid grant', async (t) => {
  const one = oauth.render(new Fault('invalid-grant', { detail: 'expired' }))
  const two = oauth.render(new Fault('invalid-grant', { detail: 'wrong issuer', cause: new Error('x') }))
  t.strictSame(one, two)
})

const MESSAGES_TYPES = words(
  'invalid_request_error authentication_error billing_error permission_error not_found_error',
  'rate_limit_error api_error overloaded_error timeout_error',
)

test('anthropic says {type: error, error: {type, message}, request_id}', async (t) => {
  for (const kind of KINDS) {
    const body = bodyOf(anthropic.render(new Fault(kind)))
    t.strictSame(Object.keys(body), ['type', 'error', 'request_id'], kind)
    t.equal(body.type, 'error', kind)
    t.equal(body.request_id, null, kind)
    t.equal(bodyOf(anthropic.render(new Fault(kind), 'req-1')).request_id, 'req-1', kind)
    const error = body.error as { type: string; message: string }
    t.equal(error.type, WIRE[kind].anthropic, kind)
    t.ok(MESSAGES_TYPES.includes(error.type), `${kind}: of the closed list`)
    t.ok(error.message.length > 0, `${kind}: message`)
  }
})

test('saturation is not to be kept by caches', async (t) => {
  for (const dialect of DIALECTS) {
    for (const kind of ['unavailable', 'rate-limited'] as const) {
      t.equal(
        headersOf(dialect.render(new Fault(kind)))['cache-control'],
        'no-store',
        `${dialect.name}, ${kind}`,
      )
    }
  }
})

/** Fields of one server-sent event. */
function eventsOf(frames: string): Record<string, string>[] {
  if (frames !== '' && !frames.endsWith('\n\n')) throw new Error('the last event is not ended')
  return frames
    .split('\n\n')
    .filter((frame) => frame !== '')
    .map((frame) => Object.fromEntries(frame.split('\n').map((line) => line.split(/: (.*)/s).slice(0, 2))))
}

test('in a stream, anthropic ends with one event named error', async (t) => {
  for (const kind of KINDS) {
    const [error, ...more] = eventsOf(errorEvent(new Fault(kind)))
    t.equal(error?.event, 'error', kind)
    t.strictSame(JSON.parse(error!.data!), bodyOf(anthropic.render(new Fault(kind))), kind)
    t.same(more, [], kind)
    const secret = new Fault(kind, { detail: 's3cr3t', cause: new Error('s3cr3t') })
    t.notMatch(errorEvent(secret), 's3cr3t', kind)
  }
})

test('scim says its status as text, a keyword where there is one, and a sentence', async (t) => {
  for (const kind of KINDS) {
    const reply = scimV2.render(new Fault(kind))
    const { schemas, status, detail, scimType, ...rest } = bodyOf(reply)
    t.strictSame(schemas, ['urn:ietf:params:scim:api:messages:2.0:Error'], kind)
    t.equal(status, String(reply.status), kind)
    t.type(detail, 'string', kind)
    t.equal(scimType, ['bad-request', 'invalid-input'].includes(kind) ? 'invalidSyntax' : undefined, kind)
    t.strictSame(rest, {}, kind)
  }
  const told = (kind: FaultKind, more: object) => bodyOf(scimV2.render(new Fault(kind, more)))
  t.match(told('conflict', { scimType: 'uniqueness', note: 'userName is taken' }), {
    status: '409',
    scimType: 'uniqueness',
    detail: 'userName is taken',
  })
  t.match(told('invalid-input', { issues: [new ValidationIssue(['body'], 'json')] }), {
    scimType: 'invalidSyntax',
    detail: 'Invalid request parameters: body: is not valid JSON',
  })
  t.equal(told('internal', { note: 'the cause' }).detail, 'Internal Server Error')
})
