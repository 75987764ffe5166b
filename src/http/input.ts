/** Reads an endpoint's input from a call: path, then query, then body. */
import { Fault, Issue } from '../base/fault.js'
import { NOBODY, type Principal } from '../base/principal.js'
import type { Call } from '../transport/exchange.js'
import { readJson } from './body.js'
import type { Endpoint, Input } from './endpoint.js'
import { readForm } from './form.js'
import { type Loc, type RawText, readQuery, type TextField, type TextFields } from './params.js'
import { validate } from './validate.js'

type InputReader = (call: Call) => Input<unknown, unknown, unknown>

interface BoundField {
  readonly name: string
  readonly loc: Loc
  readonly field: TextField<unknown>
}

const NOTHING: Readonly<Record<string, never>> = Object.freeze(Object.create(null))

/** A reader that collects every violation before it fails with `invalid-input`. Built once per endpoint. */
export function inputReader(endpoint: Endpoint): InputReader {
  const params = bind(endpoint.params, 'path')
  const query = bind(endpoint.query, 'query')
  const names = query.map(({ name }) => name)
  const { body: schema } = endpoint
  const form = endpoint.form === undefined ? null : bind(endpoint.form, 'body')
  return (call) => {
    const issues: Issue[] = []
    const input = {
      params: params.length === 0 ? NOTHING : readParams(params, call, issues),
      query: query.length === 0 ? NOTHING : readFields(query, readQuery(call.query, names), issues),
      body: form === null ? readBody(schema, call, issues) : readFormBody(form, call, issues),
      caller: (call.admitted as Principal | null) ?? NOBODY,
    }
    if (issues.length > 0) throw new Fault('invalid-input', { issues })
    return input
  }
}

function bind(fields: TextFields, root: string): BoundField[] {
  return Object.entries(fields).map(([name, field]) => ({ name, field, loc: Object.freeze([root, name]) }))
}

function readParams(fields: readonly BoundField[], call: Call, issues: Issue[]): Record<string, unknown> {
  const values: Record<string, unknown> = {}
  for (let at = 0; at < fields.length; at++) readField(fields[at]!, call.param(at), values, issues)
  return values
}

function readFields(
  fields: readonly BoundField[],
  raw: Readonly<Record<string, RawText>>,
  issues: Issue[],
): Record<string, unknown> {
  const values: Record<string, unknown> = {}
  for (const field of fields) readField(field, raw[field.name], values, issues)
  return values
}

function readField(bound: BoundField, raw: RawText, values: Record<string, unknown>, issues: Issue[]): void {
  const value = bound.field.read(raw, bound.loc)
  if (value instanceof Issue) issues.push(value)
  else values[bound.name] = value
}

function readFormBody(fields: readonly BoundField[], call: Call, issues: Issue[]): unknown {
  const names = fields.map(({ name }) => name)
  const form = readForm(call.body, call.header('content-type'), names)
  if (!(form instanceof Issue)) return readFields(fields, form, issues)
  issues.push(form)
  return undefined
}

function readBody(schema: Endpoint['body'], call: Call, issues: Issue[]): unknown {
  if (schema === undefined) return undefined
  const json = readJson(call.body, call.header('content-type'))
  if (json instanceof Issue) {
    issues.push(json)
    return undefined
  }
  return validate(schema, json, issues)
}
