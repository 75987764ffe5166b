/** Requests and answers of the provisioning service, for the document; what they mean is read by `directory/scim`. */
import { z } from 'zod'
import { boundedInteger } from '../../http/fields.js'
import { type JsonSchema, nameSchema } from '../../http/json-schema.js'
import { integerParam, optionalTextParam } from '../../http/params.js'

const CORE = 'urn:ietf:params:scim:schemas:core:2.0'
const MESSAGES = 'urn:ietf:params:scim:api:messages:2.0'
const ENTERPRISE = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'

/** Any object: directories differ in what they send, and the schemas of SCIM say what is read of it. */
const anyObject = (description: string): z.ZodType<Record<string, unknown>> =>
  z.record(z.string(), z.unknown()).meta({ description })

export const UserIn = nameSchema(
  'ScimUserIn',
  anyObject('A user by the core schema, with the enterprise extension if there is one (RFC 7643 section 4).'),
)
export const GroupIn = nameSchema(
  'ScimProvisionedGroupIn',
  anyObject('A group by the core schema; its members are ids of users (RFC 7643 section 4.2).'),
)
export const PatchIn = nameSchema(
  'ScimPatchIn',
  anyObject('Operations to be done in order, all or none (RFC 7644 section 3.5.2).'),
)

const whole = boundedInteger(-1_000_000_000, 1_000_000_000)
const names = z.array(z.string()).optional()

export const SearchIn = nameSchema(
  'ScimSearchIn',
  z.object({
    schemas: names,
    filter: z.string().optional(),
    sortBy: z.string().optional(),
    sortOrder: z.string().optional(),
    startIndex: whole.optional(),
    count: whole.optional(),
    attributes: names,
    excludedAttributes: names,
  }),
)

/** Entries of a page when nothing is said of it. */
const USUAL_COUNT = 100

export const SHOWN_QUERY = {
  attributes: optionalTextParam('Attributes to show, separated by commas; all when absent.'),
  excludedAttributes: optionalTextParam('Attributes to leave out, separated by commas.'),
}
export const LIST_QUERY = {
  filter: optionalTextParam('Which resources (RFC 7644 section 3.4.2.2).'),
  sortBy: optionalTextParam('Attribute to sort by.'),
  sortOrder: optionalTextParam('`ascending`, which it is when absent, or `descending`.'),
  startIndex: integerParam({ default: 1, description: 'First result to show, counted from 1.' }),
  count: integerParam({ default: USUAL_COUNT, description: 'Most results to show; never more than 200.' }),
  ...SHOWN_QUERY,
}

// ── Answers ─────────────────────────────────────────────────────────────────

const TEXTS = { type: 'array', items: { type: 'string' } } as const
const META = {
  type: 'object',
  properties: {
    resourceType: { type: 'string' },
    created: { type: 'string' },
    lastModified: { type: 'string' },
    location: { type: 'string' },
    version: { type: 'string', description: 'As ETag and If-Match have it.' },
  },
} as const

const resource = (description: string, properties: JsonSchema): JsonSchema => ({
  type: 'object',
  description,
  properties: { schemas: TEXTS, id: { type: 'string' }, ...properties, meta: META },
  required: ['schemas'],
})

export const USER: JsonSchema = resource(
  'A user; `attributes` and `excludedAttributes` choose its members.',
  {
    userName: { type: 'string' },
    externalId: { type: 'string' },
    active: { type: 'boolean' },
  },
)
export const GROUP: JsonSchema = resource(
  'A group; `attributes` and `excludedAttributes` choose its members.',
  {
    displayName: { type: 'string' },
    externalId: { type: 'string' },
    members: { type: 'array', items: { type: 'object' } },
  },
)
export const DISCOVERED: JsonSchema = resource('What the service says of itself.', {})

export const listOf = (each: JsonSchema): JsonSchema => ({
  type: 'object',
  properties: {
    schemas: TEXTS,
    totalResults: { type: 'integer' },
    startIndex: { type: 'integer' },
    itemsPerPage: { type: 'integer' },
    Resources: { type: 'array', items: each },
  },
  required: ['schemas', 'totalResults', 'startIndex', 'itemsPerPage', 'Resources'],
})

// ── Examples ────────────────────────────────────────────────────────────────

export const USER_EXAMPLES = {
  person: {
    schemas: [`${CORE}:User`, ENTERPRISE],
    userName: 'ada@example.com',
    externalId: '58342554-38d6-4ec8-948c-50044d0a33fd',
    name: { givenName: 'Ada', familyName: 'Lovelace' },
    emails: [{ value: 'ada@example.com', type: 'work', primary: true }],
    active: true,
    [ENTERPRISE]: { department: 'Research' },
  },
}
export const REPLACE_USER_EXAMPLES = {
  renamed: {
    schemas: [`${CORE}:User`],
    userName: 'ada.king@example.com',
    name: { givenName: 'Ada', familyName: 'King' },
  },
}
export const GROUP_EXAMPLES = { empty: { schemas: [`${CORE}:Group`], displayName: 'Engineering' } }
export const PATCH_USER_EXAMPLES = {
  deactivate: {
    schemas: [`${MESSAGES}:PatchOp`],
    Operations: [{ op: 'replace', path: 'active', value: false }],
  },
}
export const PATCH_GROUP_EXAMPLES = {
  rename: {
    schemas: [`${MESSAGES}:PatchOp`],
    Operations: [{ op: 'replace', path: 'displayName', value: 'Research' }],
  },
}
export const searchExamples = (filter: string) => ({
  filtered: { schemas: [`${MESSAGES}:SearchRequest`], filter, startIndex: 1, count: 10 },
})

/** What a search asks for, as the query of a list has it. */
export function wishOf(search: z.infer<typeof SearchIn>) {
  const { filter, sortBy, sortOrder, startIndex, count, attributes, excludedAttributes } = search
  return {
    filter: filter ?? null,
    sortBy: sortBy ?? null,
    sortOrder: sortOrder ?? null,
    startIndex: startIndex ?? 1,
    count: count ?? USUAL_COUNT,
    attributes: attributes?.join() ?? null,
    excludedAttributes: excludedAttributes?.join() ?? null,
  }
}
