/** Reads an endpoint's input from a call: path, then query, then body, which is JSON read by a schema or a form. */
import { isUtf8 } from 'node:buffer'
import type { z } from 'zod'
import { Fault, notedIssue, ValidationIssue, type ValidationRule } from '../base/fault.js'
import { largeTurn } from '../base/large-turns.js'
import { bytesBefore, type CutText, cutLongStrings, parseCutText } from '../base/long-strings.js'
import { ANONYMOUS, type Principal } from '../base/principal.js'
import type { HttpCall, IncomingBody } from '../transport/exchange.js'
import type { Endpoint, EndpointInput } from './endpoint.js'
import { noteOf, type RuleParams } from './fields.js'
import { fastReaderOf, issueAt } from './first-violation.js'
import { jsonExcess } from './json-bounds.js'
import { MemberMemory } from './member-memory.js'
import { type IssueLocation, type RawParam, readQuery, type TextField, type TextFields } from './params.js'

type Input = EndpointInput<unknown, unknown, unknown>

export interface InputReader<I = Input> {
  readonly read: (call: HttpCall) => I
  /**
   * The same for a large body: its bytes are read at once, its text and its value in turns of the event loop of their
   * own, so that none of them takes long.
   */
  readonly readInTurns: (call: HttpCall) => Promise<I>
}

type Values = Record<string, unknown>
type RawValues = Readonly<Record<string, RawParam>>

interface BoundField {
  readonly name: string
  readonly loc: IssueLocation
  readonly field: TextField<unknown>
}

const NOTHING: Readonly<Record<string, never>> = Object.freeze(Object.create(null))

/** A reader that collects every violation before it fails with `invalid-input`. Built once per endpoint. */
export function inputReader(endpoint: Endpoint): InputReader {
  const params = bindFields(endpoint.params, 'path')
  const query = bindFields(endpoint.query, 'query')
  const names = query.map(({ name }) => name)
  const { body: schema, remembers } = endpoint
  const memory = remembers === undefined ? null : new MemberMemory(remembers)
  const form = endpoint.form === undefined ? null : bindFields(endpoint.form, 'body')
  const begin = (call: HttpCall, issues: ValidationIssue[]) => ({
    params: params.length === 0 ? NOTHING : readParams(params, call, issues),
    query: query.length === 0 ? NOTHING : readFields(query, readQuery(call.query, names), issues),
    body: undefined as unknown,
    caller: (call.admission as Principal | null) ?? ANONYMOUS,
  })
  const read = (call: HttpCall): Input => {
    const issues: ValidationIssue[] = []
    const input = begin(call, issues)
    if (form !== null) input.body = readFormBody(form, call, issues)
    else if (schema !== undefined) {
      const json =
        memory === null ? parseCutBody(cutJsonBody(call)) : parseKnownBody(call, memory, input.caller)
      input.body = readJson(schema, json, issues)
    }
    requireFlawless(input, issues)
    if (memory === null) return input
    const list = (input.body as Values)[remembers!]
    if (list !== undefined) memory.learn(bufferView(call.body), input.caller, list)
    return input
  }
  const readInTurns = async (call: HttpCall): Promise<Input> => {
    if (schema === undefined) return read(call)
    const issues: ValidationIssue[] = []
    const input = begin(call, issues)
    const cut = cutJsonBody(call)
    await largeTurn()
    const json = parseCutBody(cut)
    await largeTurn()
    input.body = readJson(schema, json, issues)
    return requireFlawless(input, issues)
  }
  return { read, readInTurns }
}

function requireFlawless(input: Input, issues: readonly ValidationIssue[]): Input {
  if (issues.length > 0) throw new Fault('invalid-input', { issues })
  return input
}

function bindFields(fields: TextFields, root: string): BoundField[] {
  return Object.entries(fields).map(([name, field]) => ({ name, field, loc: Object.freeze([root, name]) }))
}

function readParams(fields: readonly BoundField[], call: HttpCall, issues: ValidationIssue[]): Values {
  const values: Values = {}
  for (let at = 0; at < fields.length; at++) readField(fields[at]!, call.param(at), values, issues)
  return values
}

function readFields(fields: readonly BoundField[], raw: RawValues, issues: ValidationIssue[]): Values {
  const values: Values = {}
  for (const field of fields) readField(field, raw[field.name], values, issues)
  return values
}

function readField(bound: BoundField, raw: RawParam, values: Values, issues: ValidationIssue[]): void {
  const value = bound.field.read(raw, bound.loc)
  if (value instanceof ValidationIssue) issues.push(value)
  else values[bound.name] = value
}

function readFormBody(fields: readonly BoundField[], call: HttpCall, issues: ValidationIssue[]): unknown {
  const names = fields.map(({ name }) => name)
  const form = parseForm(call.body, call.header('content-type'), names)
  if (!(form instanceof ValidationIssue)) return readFields(fields, form, issues)
  issues.push(form)
  return undefined
}

function readJson(schema: z.ZodType, json: unknown, issues: ValidationIssue[]): unknown {
  if (!(json instanceof ValidationIssue)) return readBySchema(schema, json, issues)
  issues.push(json)
  return undefined
}

// ── Bytes of a body ─────────────────────────────────────────────────────────

const BODY = ['body'] as const

/**
 * All of a body that comes as a stream. Takes the body's one reader; the transport bounds its size. Rejects with
 * `bad-request` when the rest will not come; the caller does not wait for an answer then.
 */
export function readWholeBody(body: IncomingBody): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = []
    body.read({
      onData: (piece, owned) => {
        pieces.push(owned ? bufferView(piece) : Buffer.from(piece))
      },
      onEnd: () => resolve(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)),
      onFailure: () => reject(new Fault('bad-request', { detail: 'the body ended early' })),
    })
  })
}

function bufferView(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

// ── JSON ────────────────────────────────────────────────────────────────────

const JSON_MEDIA_TYPE = /^application\/json$|\+json$/

/** `application/json; charset=utf-8` is `application/json`; an undeclared type is taken for JSON. */
function isJson(contentType: string): boolean {
  if (contentType === 'application/json' || contentType === '') return true
  return JSON_MEDIA_TYPE.test(contentType.split(';', 1)[0]!.trim().toLowerCase())
}

/**
 * Parses a JSON body. An issue instead of a value when there is none (`missing`), when it is declared as
 * something else (`object`), when it is too deep or holds too much, or when it is no JSON in UTF-8 (`json`, with the
 * byte offset where it is known).
 * A byte order mark is no JSON (RFC 8259 section 8.1).
 */
export function parseJsonBody(body: Uint8Array, contentType: string): unknown {
  return parseCutBody(cutJsonText(body, contentType))
}

function cutJsonBody(call: HttpCall): CutText | ValidationIssue {
  return cutJsonText(call.body, call.header('content-type'))
}

/** What is to be parsed; or an issue of the bytes. */
function cutJsonText(body: Uint8Array, contentType: string): CutText | ValidationIssue {
  const bytes = bufferView(body)
  const longStrings: number[] = []
  return issueOfBytes(bytes, contentType, longStrings) ?? cutBytes(bytes, longStrings)
}

/** What keeps bytes from being parsed. `longStrings` takes where those are that can be cut out. */
function issueOfBytes(bytes: Buffer, contentType: string, longStrings: number[]): ValidationIssue | null {
  if (bytes.byteLength === 0) return new ValidationIssue(BODY, 'missing')
  if (!isJson(contentType)) {
    return new ValidationIssue(BODY, 'object', undefined, 'must be sent as application/json')
  }
  return jsonExcess(bytes, longStrings)
}

function cutBytes(bytes: Buffer, longStrings: readonly number[]): CutText | ValidationIssue {
  return cutLongStrings(bytes, longStrings) ?? new ValidationIssue(['body', 0], 'json')
}

/** The value of a body, or an issue, where what stands at one of its members may have come before. */
function parseKnownBody(call: HttpCall, memory: MemberMemory, caller: Principal): unknown {
  const bytes = bufferView(call.body)
  const longStrings: number[] = []
  const issue = issueOfBytes(bytes, call.header('content-type'), longStrings)
  if (issue !== null) return issue
  const known = longStrings.length === 0 ? memory.read(bytes, caller) : null
  return known ?? parseCutBody(cutBytes(bytes, longStrings))
}

function parseCutBody(cut: CutText | ValidationIssue): unknown {
  if (cut instanceof ValidationIssue) return cut
  try {
    return parseCutText(cut)
  } catch (error) {
    return new ValidationIssue(['body', jsonErrorOffset(error, cut)], 'json')
  }
}

/**
 * The engine names a character position at the end of most of its messages; the contract counts bytes. Other
 * messages quote the caller's text, which may say anything, so only the end counts.
 */
function jsonErrorOffset(error: unknown, text: CutText): number {
  const message = error instanceof Error ? error.message : ''
  if (message === 'Unexpected end of JSON input') return bytesBefore(text, text.rest.length)
  const position = / in JSON at position (\d+)(?: \(line \d+ column \d+\))?$/.exec(message)
  return position === null ? 0 : bytesBefore(text, Number(position[1]))
}

// ── Schemas ─────────────────────────────────────────────────────────────────

const TYPE_RULES: Readonly<Record<string, ValidationRule>> = {
  string: 'string',
  number: 'number',
  int: 'integer',
  boolean: 'boolean',
  object: 'object',
  record: 'object',
  array: 'array',
}

/** The schema's value; what the input breaks is added to `issues`, in full unless the schema fails fast. */
export function readBySchema(schema: z.ZodType, input: unknown, issues: ValidationIssue[]): unknown {
  const fast = fastReaderOf(schema)
  if (fast !== undefined) {
    const value = fast.read(input)
    if (!(value instanceof ValidationIssue)) return value
    if (fast.tellsFirst) {
      issues.push(issueAt('body', value))
      return undefined
    }
  }
  const result = schema.safeParse(input, { reportInput: true })
  if (result.success) return result.data
  issues.push(...result.error.issues.map(validationIssue))
  return undefined
}

/** A violation that zod has found; it must have been asked to report the input. */
function validationIssue({ path, input, ...issue }: z.core.$ZodIssue): ValidationIssue {
  const loc = ['body', ...path.map((part) => (typeof part === 'symbol' ? String(part) : part))]
  // JSON has no undefined: a value that is undefined was not there.
  if (input === undefined) return new ValidationIssue(loc, 'missing')
  // What a name of a member breaks is said by the rule for names.
  if (issue.code === 'invalid_key' && issue.issues[0] !== undefined)
    return validationIssue({ ...issue.issues[0], path, input: path.at(-1) } as z.core.$ZodIssue)
  if (issue.code === 'custom' && isRuleParams(issue.params)) {
    return new ValidationIssue(loc, issue.params.rule, issue.params.bound, noteOf(issue.params, input))
  }
  if (issue.code === 'invalid_type') return new ValidationIssue(loc, TYPE_RULES[issue.expected] ?? 'other')
  return new ValidationIssue(loc, 'other', undefined, issue.message)
}

function isRuleParams(params: unknown): params is RuleParams {
  return typeof params === 'object' && params !== null && 'rule' in params
}

// ── Forms ───────────────────────────────────────────────────────────────────

const FORM_TYPE = 'application/x-www-form-urlencoded'
const UTF_8 = /^charset="?utf-?8"?$/i

/**
 * Reads `application/x-www-form-urlencoded` strictly (RFC 6749 sections 3.2 and 4.1, appendix B): what two readers
 * might take for different things is refused. A field with an empty value counts as omitted, an unknown field as
 * nothing; a known one may come once.
 */
export function parseForm(body: Uint8Array, contentType: string, known: readonly string[]) {
  if (!isForm(contentType)) {
    return new ValidationIssue(BODY, 'object', undefined, `must be sent as ${FORM_TYPE}`)
  }
  if (!isUtf8(body)) return notedIssue(BODY, 'must be UTF-8')
  const found: Record<string, string> = Object.create(null)
  for (const pair of bufferView(body).toString().split('&')) {
    const equals = pair.indexOf('=')
    const name = decodeFormText(equals < 0 ? pair : pair.slice(0, equals))
    const value = equals < 0 ? '' : decodeFormText(pair.slice(equals + 1))
    if (name === null || value === null) return notedIssue(BODY, 'must be well encoded')
    if (!known.includes(name)) continue
    if (found[name] !== undefined) return notedIssue(['body', name], 'must come once')
    found[name] = value
  }
  for (const name in found) if (found[name] === '') delete found[name]
  return found
}

/** A form is taken as UTF-8; one that says it is something else is not guessed at. */
function isForm(contentType: string): boolean {
  if (contentType === FORM_TYPE) return true
  const [essence = '', ...parameters] = contentType.split(';').map((part) => part.trim())
  if (essence.toLowerCase() !== FORM_TYPE) return false
  return parameters.every((each) => !/^charset=/i.test(each) || UTF_8.test(each))
}

/** Null for a percent sign that encodes nothing, and for bytes that are no UTF-8. */
function decodeFormText(raw: string): string | null {
  const spaced = raw.includes('+') ? raw.replaceAll('+', ' ') : raw
  if (!spaced.includes('%')) return spaced
  try {
    return decodeURIComponent(spaced)
  } catch {
    return null
  }
}
