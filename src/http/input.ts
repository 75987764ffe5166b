/** Reads an endpoint's input from a call: path, then query, then body. */
import { Fault, ValidationIssue } from '../base/fault.js'
import { ANONYMOUS, type Principal } from '../base/principal.js'
import type { HttpCall } from '../transport/exchange.js'
import { parseForm, parseJsonBody, readBySchema } from './body.js'
import type { Endpoint, EndpointInput } from './endpoint.js'
import { type IssueLocation, type RawParam, readQuery, type TextField, type TextFields } from './params.js'

type InputReader = (call: HttpCall) => EndpointInput<unknown, unknown, unknown>

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
  const { body: schema } = endpoint
  const form = endpoint.form === undefined ? null : bindFields(endpoint.form, 'body')
  return (call) => {
    const issues: ValidationIssue[] = []
    const input = {
      params: params.length === 0 ? NOTHING : readParams(params, call, issues),
      query: query.length === 0 ? NOTHING : readFields(query, readQuery(call.query, names), issues),
      body: form === null ? readBody(schema, call, issues) : readFormBody(form, call, issues),
      caller: (call.admission as Principal | null) ?? ANONYMOUS,
    }
    if (issues.length > 0) throw new Fault('invalid-input', { issues })
    return input
  }
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

function readBody(schema: Endpoint['body'], call: HttpCall, issues: ValidationIssue[]): unknown {
  if (schema === undefined) return undefined
  const json = parseJsonBody(call.body, call.header('content-type'))
  if (json instanceof ValidationIssue) {
    issues.push(json)
    return undefined
  }
  return readBySchema(schema, json, issues)
}
