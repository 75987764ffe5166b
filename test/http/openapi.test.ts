import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { test } from 'tap'
import { z } from 'zod'
import type { ValidationIssue } from '../../src/base/fault.js'
import { anthropic } from '../../src/http/dialects/anthropic.js'
import type { ErrorDialect } from '../../src/http/dialects/dialect.js'
import { gateway } from '../../src/http/dialects/gateway.js'
import { oauth } from '../../src/http/dialects/oauth.js'
import { practice } from '../../src/http/dialects/practice.js'
import type { Endpoint, EndpointSpec } from '../../src/http/endpoint.js'
import { boundedInteger, boundedNumber, boundedString } from '../../src/http/fields.js'
import { readBySchema } from '../../src/http/input.js'
import { nameSchema } from '../../src/http/json-schema.js'
import { openApiDocument } from '../../src/http/openapi.js'
import { integerParam, type TextFields, textParam } from '../../src/http/params.js'
import { probe as probeOf } from '../support/servers/pipeline.js'

const INFO = { title: 'Probe', version: '1.0', description: 'For tests' }
const TAGS = [
  { name: 'others', description: 'Further operations.' },
  { name: 'probes', description: 'Operations to look at.' },
]

// biome-ignore lint/suspicious/noExplicitAny: a document is walked by paths that the assertions themselves prove
type Document = any

const ThingIn = nameSchema(
  'ThingIn',
  z.object({
    name: boundedString(1, 5),
    note: boundedString(0, 5).default(''),
    price: boundedNumber(0, 100).default(0),
    amount: boundedInteger(1, 9),
  }),
)
const Thing = nameSchema('Thing', z.object({ name: z.string(), id: z.int().min(1) }))

type Spec = EndpointSpec<TextFields, TextFields, unknown>

function probe(more: Partial<Spec>): Endpoint {
  return probeOf('/probe', { tag: 'probes', replies: { 204: { description: 'Nothing' } }, ...more })
}

function documentOf(...endpoints: Endpoint[]): Document {
  return JSON.parse(JSON.stringify(openApiDocument(endpoints, { info: INFO, tags: TAGS })))
}

/** Every value under a key, wherever it stands. */
function collect(value: unknown, key: string): unknown[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) => [
    ...(name === key ? [member] : []),
    ...collect(member, key),
  ])
}

test('the document says version, title and every tag once', async (t) => {
  const document = documentOf(
    probe({}),
    probe({ method: 'PUT', name: 'put_probe' }),
    probe({ path: '/b', tag: 'others', name: 'b' }),
  )
  t.match(document.openapi, /^3\.1\./)
  t.same(document.info, INFO)
  t.same(document.tags, TAGS, 'in the order that was asked for')
  t.same(Object.keys(document.paths), ['/probe', '/b'])
  t.same(Object.keys(document.paths['/probe']), ['get', 'put'])
  t.match(document.paths['/probe'].get, {
    operationId: 'probe',
    summary: 'A probe',
    tags: ['probes'],
    responses: { 204: { description: 'Nothing' } },
  })
})

test('hidden endpoints are left out, their tags too', async (t) => {
  const document = documentOf(probe({}), probe({ path: '/hidden', hidden: true, tag: 'secret' }))
  t.same(Object.keys(document.paths), ['/probe'])
  t.same(document.tags, TAGS.slice(1))
})

test('parameters say their place, their schema and whether they are required', async (t) => {
  const { parameters } = documentOf(
    probe({
      path: '/probe/{id}',
      params: { id: integerParam({ description: 'Which one' }) },
      query: {
        q: textParam({ minLength: 1, maxLength: 5 }),
        limit: integerParam({ minimum: 1, maximum: 9, default: 3 }),
      },
    }),
  ).paths['/probe/{id}'].get
  t.strictSame(parameters, [
    { name: 'id', in: 'path', required: true, description: 'Which one', schema: { type: 'integer' } },
    { name: 'q', in: 'query', required: true, schema: { type: 'string', minLength: 1, maxLength: 5 } },
    {
      name: 'limit',
      in: 'query',
      required: false,
      schema: { type: 'integer', minimum: 1, maximum: 9, default: 3 },
    },
  ])
})

test('a named schema is referred to and stands once among the components', async (t) => {
  const document = documentOf(
    probe({ method: 'POST', body: ThingIn, replies: { 201: { description: 'Made', schema: Thing } } }),
    probe({
      path: '/all',
      name: 'all',
      replies: { 200: { description: 'All', schema: z.array(Thing), headers: { 'X-Count': 'How many' } } },
    }),
  )
  const { post } = document.paths['/probe']
  t.same(post.requestBody, {
    required: true,
    content: { 'application/json': { schema: { $ref: '#/components/schemas/ThingIn' } } },
  })
  t.same(post.responses[201].content['application/json'].schema, { $ref: '#/components/schemas/Thing' })
  const all = document.paths['/all'].get.responses[200]
  t.match(all.content['application/json'].schema, {
    type: 'array',
    items: { $ref: '#/components/schemas/Thing' },
  })
  t.same(all.headers, { 'X-Count': { description: 'How many', schema: { type: 'string' } } })
  t.strictSame(document.components.schemas.ThingIn.required, ['name', 'amount'])
  t.match(document.components.schemas.ThingIn.properties, {
    name: { type: 'string', minLength: 1, maxLength: 5 },
    note: { type: 'string', maxLength: 5, default: '' },
    price: { type: 'number', minimum: 0, maximum: 100, default: 0 },
    amount: { type: 'integer', minimum: 1, maximum: 9 },
  })
})

test('a member named id stays a member', async (t) => {
  const body = z.object({ id: z.int(), schema: z.object({ $id: z.string(), id: z.string() }) })
  const made = { 201: { description: 'Made', schema: Thing } }
  const document = documentOf(probe({ method: 'POST', body, replies: made }))
  t.match(document.components.schemas.Thing.properties, { id: { type: 'integer', minimum: 1 } })
  t.notOk('id' in document.components.schemas.Thing, 'its name is its key and stands nowhere else')
  const { schema } = document.paths['/probe'].post.requestBody.content['application/json']
  t.same(Object.keys(schema.properties), ['id', 'schema'])
  t.ok(schema.properties.schema.properties.id)
})

test('the document keeps no member that only makes sense in a schema of its own file', async (t) => {
  const document = documentOf(probe({ method: 'POST', body: ThingIn }))
  for (const key of ['$schema', '$id', '$defs']) t.same(collect(document, key), [], key)
})

test('failures follow from what the endpoint takes and declares', async (t) => {
  const statuses = (...more: Parameters<typeof probe>): string[] => {
    const [operation] = Object.values(documentOf(probe(...more)).paths['/probe']) as Document[]
    return Object.keys(operation.responses)
  }
  const always = ['204', '400', '413', '503', '504']
  t.same(statuses({}), always)
  t.same(
    statuses({ vital: true }),
    always.filter((status) => status !== '503'),
  )
  t.same(statuses({ query: { q: textParam({ minLength: 1, maxLength: 2 }) } }), [...always, '422'].sort())
  t.same(statuses({ method: 'POST', body: ThingIn }), [...always, '408', '422'].sort())
  t.same(statuses({ faults: ['item-not-found', 'unavailable'] }), [...always, '404'].sort())
  t.same(statuses({ dialect: gateway, query: { n: integerParam() } }), always)
})

test('an answer that owes a header documents it', async (t) => {
  const { responses } = documentOf(probe({ faults: ['unavailable', 'unauthenticated', 'conflict'] })).paths[
    '/probe'
  ].get
  t.same(Object.keys(responses[503].headers), ['Retry-After'])
  t.same(Object.keys(responses[401].headers), ['WWW-Authenticate'])
  t.equal(responses[409].headers, undefined)
})

for (const dialect of [practice, gateway, oauth, anthropic] as readonly ErrorDialect[]) {
  test(`every reference of a document in the ${dialect.name} dialect leads somewhere`, async (t) => {
    const document = documentOf(
      probe({ method: 'POST', dialect, body: ThingIn, faults: ['unavailable', 'conflict'] }),
    )
    for (const reference of collect(document, '$ref')) {
      const name = String(reference).replace('#/components/schemas/', '')
      t.ok(Object.hasOwn(document.components.schemas, name), String(reference))
    }
  })
}

test('what a dialect sends satisfies the schema the document gives for it', async (t) => {
  const ajv = new Ajv2020({ strict: false })
  const { schemas } = documentOf(probe({})).components
  for (const [name, good] of [
    ['Error', { detail: 'Not Found' }],
    ['ValidationError', { detail: [{ loc: ['body', 0, 'x'], msg: 'm', type: 't' }] }],
    ['GatewayError', { error: { code: 404, message: 'm' } }],
  ] as const) {
    t.ok(ajv.validate(schemas[name], good), name)
    t.notOk(ajv.validate(schemas[name], {}), `${name} refuses an empty object`)
  }
})

test('the documented schema of a body accepts what the service accepts, and nothing else', async (t) => {
  const document = documentOf(probe({ method: 'POST', body: ThingIn }))
  const documented = new Ajv2020({ strict: false }).compile(document.components.schemas.ThingIn)
  const letter = fc.constantFrom('a', 'é', '😀', '\0', ' ')
  const words = fc.string({ unit: letter, maxLength: 7 })
  const figures = fc.oneof(fc.integer({ min: -2, max: 11 }), fc.constantFrom(0, 1, 9, 100, 101, 1.5))
  const anything = fc.jsonValue({ maxDepth: 1 })
  const mostly = (good: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> =>
    fc.oneof({ weight: 9, arbitrary: good }, { weight: 1, arbitrary: anything })
  const object = fc.record(
    {
      name: mostly(words),
      note: mostly(words),
      price: mostly(figures),
      amount: mostly(figures),
      more: anything,
    },
    { requiredKeys: [] },
  )
  const body = fc.oneof({ weight: 9, arbitrary: object }, { weight: 1, arbitrary: anything })
  let accepted = 0
  fc.assert(
    fc.property(body, (input) => {
      const issues: ValidationIssue[] = []
      readBySchema(ThingIn, input, issues)
      if (issues.length === 0) accepted++
      return documented(input) === (issues.length === 0)
    }),
    { numRuns: 3000 },
  )
  t.ok(accepted > 100, `${accepted} bodies were accepted`)
})

test('what changes managed records may be told that some machines have not confirmed it', async (t) => {
  const responses = (more: Partial<Spec>): object => documentOf(probe(more)).paths['/probe']
  const told = (more: Partial<Spec>): unknown[] =>
    Object.values(responses(more)).map((operation: Document) =>
      Object.keys(operation.responses).includes('202'),
    )
  t.same(told({ method: 'DELETE', access: 'management' }), [true])
  t.same(told({ method: 'POST', access: 'admin' }), [true])
  t.same(told({ method: 'GET', access: 'management' }), [false])
  t.same(told({ method: 'POST', access: 'management', keepsRecords: true }), [false])
  t.same(told({ method: 'POST', access: 'key' }), [false])
})
