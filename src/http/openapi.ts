/** Endpoints as an OpenAPI 3.1 document. One source: the schemas that validate are the schemas that document. */
import { z } from 'zod'
import { ADMITTED, isForAnyKey, sessionsAdmitted } from '../base/access.js'
import { Fault, type FaultKind } from '../base/fault.js'
import { type Endpoint, isLockable, type ReplyDoc, takesSessions } from './endpoint.js'
import { type JsonSchema, namedSchemas } from './json-schema.js'
import type { TextFields } from './params.js'
import { changesManagedRecords, UNCONFIRMED_REPLY } from './unconfirmed.js'

type JsonObject = Record<string, unknown>

const SESSION_SCHEME = {
  type: 'apiKey',
  in: 'cookie',
  name: '__Host-sluice-session',
  description:
    'The session of a browser; it counts for pages of this server alone, and a call that changes something needs the header `X-Sluice-Request: 1` as well. A session of a management key acts as that key; that of a member opens what is for members and admins.',
}

const COMPONENTS = '#/components/schemas'

/** What a document says beside its operations. */
export interface DocumentIntroduction {
  readonly info: Readonly<Record<'title' | 'version' | 'description', string>>
  /** Groups of operations, in the order in which a reader meets them; every tag of an operation is one. */
  readonly tags: readonly { readonly name: string; readonly description: string }[]
}

/** The document of everything that is not hidden. */
export function openApiDocument(
  endpoints: readonly Endpoint[],
  { info, tags }: DocumentIntroduction,
): JsonObject {
  const schemas = new SchemaCollector()
  const paths: Record<string, JsonObject> = {}
  for (const endpoint of endpoints) {
    if (endpoint.hidden) continue
    const path = (paths[endpoint.path] ??= {})
    path[endpoint.method.toLowerCase()] = operationObject(endpoint, schemas)
  }
  const used = new Set(endpoints.filter((each) => !each.hidden).map(({ tag }) => tag))
  return {
    openapi: '3.1.0',
    info,
    // Without the practice API its group is gone as well.
    tags: tags.filter(({ name }) => used.has(name)),
    paths,
    components: {
      schemas: { ...schemas.collected, ...ERROR_SCHEMAS },
      securitySchemes: {
        key: { type: 'http', scheme: 'bearer', description: 'An API key, or an access token.' },
        session: SESSION_SCHEME,
      },
    },
  }
}

function operationObject(endpoint: Endpoint, schemas: SchemaCollector): JsonObject {
  const parameters = [...parametersOf(endpoint.params, 'path'), ...parametersOf(endpoint.query, 'query')]
  return {
    operationId: endpoint.name,
    summary: endpoint.summary,
    tags: [endpoint.tag],
    ...(needsNoCredential(endpoint)
      ? {}
      : { security: [{ key: [] }, ...(takesSessions(endpoint) ? [{ session: [] }] : [])] }),
    'x-access': accessObject(endpoint),
    ...(parameters.length > 0 && { parameters }),
    ...requestBodyOf(endpoint, schemas),
    responses: { ...faultResponses(endpoint), ...replyResponses(endpoint, schemas) },
  }
}

function requestBodyOf(
  { body, form, upload, examples, dialect }: Endpoint,
  schemas: SchemaCollector,
): JsonObject {
  const schemaOf = (schema: z.ZodType | JsonSchema) => ({ schema: schemas.jsonSchemaOf(schema, 'input') })
  const json = upload === undefined ? body : upload.json
  const shown = examples === undefined ? {} : { examples: exampleObjects(examples) }
  const content = {
    ...(upload !== undefined && {
      [upload.mediaType]: {
        ...schemaOf(upload.schema),
        ...(upload.example !== undefined && { example: upload.example }),
      },
    }),
    ...(form !== undefined && { [FORM_TYPE]: { ...formContent(form), ...shown } }),
    ...(json !== undefined && { [dialect.mediaType ?? 'application/json']: { ...schemaOf(json), ...shown } }),
  }
  return Object.keys(content).length === 0 ? {} : { requestBody: { required: true, content } }
}

function exampleObjects(examples: Readonly<Record<string, object>>): JsonObject {
  return Object.fromEntries(Object.entries(examples).map(([name, value]) => [name, { value }]))
}

const FORM_TYPE = 'application/x-www-form-urlencoded'

function formContent(form: TextFields): JsonObject {
  const fields = Object.entries(form)
  const properties = Object.fromEntries(fields.map(([name, { schema }]) => [name, schema]))
  const required = fields.filter(([, field]) => field.required).map(([name]) => name)
  return { schema: { type: 'object', properties, required } }
}

/** Who may call it: the row of the table of access, as docs/guide/permissions.md explains it. */
function accessObject(endpoint: Endpoint): JsonObject {
  const { access = 'anyone' } = endpoint
  return {
    level: access,
    callers: access === 'anyone' ? [] : ADMITTED[access],
    sessions: takesSessions(endpoint) ? sessionsAdmitted(access) : [],
    configurable: isLockable(endpoint),
  }
}

function needsNoCredential({ access = 'anyone' }: Endpoint): boolean {
  return access === 'anyone'
}

function parametersOf(fields: TextFields, place: 'path' | 'query'): JsonObject[] {
  return Object.entries(fields).map(([name, { schema, required }]) => {
    const { description, ...plain } = schema
    return { name, in: place, required, ...(description !== undefined && { description }), schema: plain }
  })
}

function replyResponses(endpoint: Endpoint, schemas: SchemaCollector): JsonObject {
  const replies = { ...(changesManagedRecords(endpoint) && { 202: UNCONFIRMED_REPLY }), ...endpoint.replies }
  return Object.fromEntries(
    Object.entries(replies).map(([status, doc]) => [status, responseObject(doc, schemas)]),
  )
}

function responseObject(doc: ReplyDoc, schemas: SchemaCollector): JsonObject {
  const { description, schema, headers, events, mediaType = 'application/json' } = doc
  return {
    description,
    ...(headers !== undefined && { headers: headerObjects(headers) }),
    ...(schema !== undefined && {
      content: {
        [mediaType]: { schema: schemas.jsonSchemaOf(schema, 'output') },
        ...(events !== undefined && {
          'text/event-stream': { schema: schemas.jsonSchemaOf(events, 'output') },
        }),
      },
    }),
  }
}

function headerObjects(headers: Readonly<Record<string, string>>): JsonObject {
  return Object.fromEntries(
    Object.entries(headers).map(([name, description]) => [name, { description, schema: { type: 'string' } }]),
  )
}

/** Faults the pipeline can end in, read off the endpoint, then those of its handler. */
function faultKindsOf(endpoint: Endpoint): FaultKind[] {
  const { body, form, upload, params, query, access = 'anyone' } = endpoint
  const hasBody = body !== undefined || form !== undefined || upload !== undefined
  const takesInput = hasBody || Object.keys({ ...params, ...query }).length > 0
  const possible: readonly (readonly [boolean, FaultKind])[] = [
    [true, 'bad-request'],
    [!needsNoCredential(endpoint), 'unauthenticated'],
    [!needsNoCredential(endpoint) && !isForAnyKey(access), 'forbidden'],
    ...(endpoint.faults ?? []).map((kind) => [true, kind] as const),
    [hasBody, 'request-timeout'],
    [endpoint.limit !== undefined || (hasBody && !needsNoCredential(endpoint)), 'rate-limited'],
    [true, 'payload-too-large'],
    [takesInput, 'invalid-input'],
    [endpoint.vital !== true, 'unavailable'],
    [true, 'deadline-exceeded'],
  ]
  return possible.filter(([applies]) => applies).map(([, kind]) => kind)
}

function faultResponses(endpoint: Endpoint): JsonObject {
  const { dialect } = endpoint
  const responses: Record<string, JsonObject> = {}
  for (const kind of faultKindsOf(endpoint)) {
    const { status, headers, body } = dialect.render(new Fault(kind))
    const owed = headers.map(([name]) => name).filter((name) => OWED_HEADERS.includes(name))
    const schema =
      kind === 'invalid-input' && dialect.name === 'practice' ? 'ValidationError' : ERRORS[dialect.name]
    const { description: others } = responses[status] ?? {}
    const meaning = FAULT_MEANINGS[kind]
    responses[status] = {
      description: others === undefined || others === meaning ? meaning : `${others} Or: ${meaning}`,
      ...(owed.length > 0 && {
        headers: headerObjects(Object.fromEntries(owed.map((name) => [name, name]))),
      }),
      content: {
        [dialect.mediaType ?? 'application/json']: {
          schema: { $ref: `${COMPONENTS}/${schema}` },
          // Without an issue there is nothing to show.
          ...(kind !== 'invalid-input' && typeof body === 'string' && { example: JSON.parse(body) }),
        },
      },
    }
  }
  return responses
}

/** When a call ends in a fault, for who reads the document. */
const FAULT_MEANINGS: Readonly<Record<FaultKind, string>> = {
  'bad-request': 'The framing of the request, or its JSON, is broken.',
  'invalid-input': 'Values that the schema refuses; the message names each field and what it must be.',
  unauthenticated: 'No credential, or one that is unknown, expired or disabled.',
  'payment-required':
    'The call may cost more than is left of a limit or of the credits; the message says what would fit.',
  forbidden: 'The credential may not call this: most management needs a management key.',
  'not-found': 'There is no such operation.',
  'item-not-found': 'What is addressed does not exist, or belongs to somebody else.',
  'method-not-allowed': 'The path has other methods, which Allow names.',
  'request-timeout': 'The body took too long to come.',
  conflict: 'It contradicts what is there already.',
  'precondition-failed': 'The resource has changed since the version that If-Match names.',
  unprocessable: 'The provider has understood the request and cannot carry it out.',
  'payload-too-large': 'The body is longer than this operation takes.',
  'headers-too-large': 'The header fields are longer than 16 KiB.',
  'rate-limited': 'Too many calls or tokens; Retry-After says when to come again.',
  'invalid-client': 'The client is not the one it says it is.',
  'invalid-grant':
    'The token or the policy does not satisfy. All causes get the same answer; the policy tester tells.',
  'invalid-scope': 'The scope is not one that is given.',
  'unsupported-grant-type': 'Only the token exchange is supported.',
  internal: 'A defect of the server; the log has it under the id in x-request-id.',
  'not-implemented': 'The standard knows it; this server does not do it, and says so.',
  'provider-failed':
    'The provider has answered with something broken, and no other endpoint was left to ask.',
  unavailable:
    'The server, or every endpoint that could serve, is saturated or closed for now; Retry-After says when to come again.',
  'deadline-exceeded': 'The call has taken longer than the server gives it.',
  'provider-timeout': 'The provider stayed silent for too long.',
  'provider-overloaded': 'The provider has too much to do.',
}

const OWED_HEADERS: readonly string[] = ['Retry-After', 'WWW-Authenticate']

const ERRORS = {
  practice: 'Error',
  gateway: 'GatewayError',
  oauth: 'TokenError',
  anthropic: 'MessagesError',
  scim: 'ScimError',
} as const

const STRING = { type: 'string' } as const

/** An object all of whose members are required but the `optional` ones. */
function objectSchema(properties: JsonObject, optional: JsonObject = {}): JsonObject {
  return { type: 'object', properties: { ...properties, ...optional }, required: Object.keys(properties) }
}

const VIOLATION = objectSchema({
  loc: { type: 'array', items: { type: ['string', 'integer'] } },
  msg: STRING,
  type: STRING,
})

/** What errors look like on the wire, one schema per dialect. */
const ERROR_SCHEMAS: JsonObject = {
  Error: objectSchema({ detail: STRING }),
  ValidationError: objectSchema({
    detail: { type: 'array', minItems: 1, items: { ...VIOLATION, additionalProperties: false } },
  }),
  GatewayError: objectSchema(
    {
      error: objectSchema(
        { code: { type: 'integer', description: 'Equals the status.' }, message: STRING },
        { metadata: objectSchema({ error_type: STRING }) },
      ),
    },
    { service_metadata: { type: 'object' } },
  ),
  TokenError: objectSchema({ error: STRING, error_description: STRING }),
  MessagesError: objectSchema({
    type: { const: 'error' },
    error: objectSchema({ type: STRING, message: STRING }),
    request_id: { type: ['string', 'null'] },
  }),
  ScimError: objectSchema(
    {
      schemas: { type: 'array', items: { const: 'urn:ietf:params:scim:api:messages:2.0:Error' } },
      status: { type: 'string', description: 'Equals the status.' },
      detail: STRING,
    },
    { scimType: STRING },
  ),
}

/** Turns zod schemas into JSON Schema and keeps those with a name aside. */
class SchemaCollector {
  readonly collected: JsonObject = {}

  jsonSchemaOf(schema: z.ZodType | JsonSchema, io: 'input' | 'output'): JsonSchema {
    if (!(schema instanceof z.ZodType)) return schema
    // `z.toJSONSchema` inlines the root even when it has a name; inside a wrapper it becomes a reference.
    const wrapped = z.toJSONSchema(z.object({ it: schema }), {
      io,
      metadata: namedSchemas,
      unrepresentable: 'any',
      override: ({ zodSchema, jsonSchema }) => {
        Object.assign(jsonSchema, z.globalRegistry.get(zodSchema as unknown as z.ZodType) ?? {})
        delete jsonSchema.id // the name from our registry: it is the key under components already
      },
    }) as unknown as { properties: { it: JsonSchema }; $defs?: Record<string, JsonSchema> }
    for (const [name, definition] of Object.entries(wrapped.$defs ?? {})) {
      this.collected[name] = relocateReferences(definition)
    }
    return relocateReferences(wrapped.properties.it) as JsonSchema
  }
}

/** References point at the document's components; the members that only make sense in a file of their own go. */
function relocateReferences(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(relocateReferences)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => key !== '$schema' && key !== '$id')
      .map(([key, member]) => [
        key,
        key === '$ref' && typeof member === 'string'
          ? member.replace('#/$defs', COMPONENTS)
          : relocateReferences(member),
      ]),
  )
}
