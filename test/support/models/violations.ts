/** The entries of a 422 body, word for word from contract/practice 2. Nothing here is taken from `src`. */
import type { Test } from 'tap'
import type { HttpReply } from '../clients/http-client.js'

export interface Violation {
  readonly loc: readonly (string | number)[]
  readonly msg: string
  readonly type: string
}

type Loc = readonly (string | number)[]

const characters = (n: number): string => (n === 1 ? '1 character' : `${n} characters`)

/** One builder per row of the contract's table. */
export const violation = {
  missing: (loc: Loc): Violation => ({ loc, msg: 'Field required', type: 'missing' }),
  tooShort: (loc: Loc, least: number): Violation => ({
    loc,
    msg: `String should have at least ${characters(least)}`,
    type: 'string_too_short',
  }),
  tooLong: (loc: Loc, most: number): Violation => ({
    loc,
    msg: `String should have at most ${characters(most)}`,
    type: 'string_too_long',
  }),
  noString: (loc: Loc): Violation => ({ loc, msg: 'Input should be a valid string', type: 'string_type' }),
  noNumber: (loc: Loc): Violation => ({ loc, msg: 'Input should be a valid number', type: 'float_type' }),
  noInteger: (loc: Loc): Violation => ({ loc, msg: 'Input should be a valid integer', type: 'int_type' }),
  noObject: (loc: Loc): Violation => ({
    loc,
    msg: 'Input should be a valid dictionary or object to extract fields from',
    type: 'model_attributes_type',
  }),
  fraction: (loc: Loc): Violation => ({
    loc,
    msg: 'Input should be a valid integer, got a number with a fractional part',
    type: 'int_from_float',
  }),
  noIntegerText: (loc: Loc): Violation => ({
    loc,
    msg: 'Input should be a valid integer, unable to parse string as an integer',
    type: 'int_parsing',
  }),
  atLeast: (loc: Loc, bound: number): Violation => ({
    loc,
    msg: `Input should be greater than or equal to ${bound}`,
    type: 'greater_than_equal',
  }),
  atMost: (loc: Loc, bound: number): Violation => ({
    loc,
    msg: `Input should be less than or equal to ${bound}`,
    type: 'less_than_equal',
  }),
  noJson: (offset: number): Violation => ({
    loc: ['body', offset],
    msg: 'JSON decode error',
    type: 'json_invalid',
  }),
}

/** Asserts a 422 that lists exactly these violations, in this order, with exactly three keys each. */
export function refused(t: Test, reply: HttpReply, expected: readonly Violation[], about: string): void {
  const got = { status: reply.status, type: reply.headers['content-type'], body: parsed(reply) }
  t.strictSame(got, { status: 422, type: 'application/json', body: { detail: expected } }, about)
}

/** As `refused` for a body that is no JSON; the offset may be any within the body. */
export function refusedAsNoJson(t: Test, reply: HttpReply, bodyBytes: number, about: string): void {
  const offset = (parsed(reply) as { detail?: { loc?: unknown[] }[] } | null)?.detail?.[0]?.loc?.[1]
  const within = Number.isInteger(offset) && (offset as number) >= 0 && (offset as number) <= bodyBytes
  if (!within) t.fail(`${about}: offset ${String(offset)} lies outside the body of ${bodyBytes} bytes`)
  else refused(t, reply, [violation.noJson(offset as number)], about)
}

function parsed(reply: HttpReply): unknown {
  try {
    return reply.json
  } catch {
    return reply.text
  }
}
