/** The attributes of users and groups (RFC 7643 4 and 8.7): the one table that bodies, filters and `Schemas` go by. */

export interface Attribute {
  readonly name: string
  readonly type: 'string' | 'boolean' | 'dateTime' | 'reference' | 'binary' | 'complex'
  readonly multiValued: boolean
  readonly description: string
  readonly required: boolean
  readonly caseExact: boolean
  readonly mutability: 'readOnly' | 'readWrite' | 'immutable' | 'writeOnly'
  readonly returned: 'always' | 'never' | 'default'
  readonly uniqueness: 'none' | 'server'
  readonly canonicalValues: readonly string[]
  readonly referenceTypes: readonly string[]
  readonly subAttributes: readonly Attribute[]
  /** Sub-attributes by their name in lower case. */
  readonly byName: ReadonlyMap<string, Attribute>
}

export interface Schema {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly attributes: readonly Attribute[]
  /** Attributes by their name in lower case. */
  readonly byName: ReadonlyMap<string, Attribute>
}

export type ResourceName = 'User' | 'Group'

export interface ResourceType {
  readonly name: ResourceName
  readonly endpoint: string
  readonly description: string
  readonly core: Schema
  readonly extensions: readonly Schema[]
}

type Traits = Partial<Omit<Attribute, 'name' | 'description' | 'byName'>>

function attribute(name: string, description: string, traits: Traits = {}): Attribute {
  return {
    name,
    type: 'string',
    multiValued: false,
    description,
    required: false,
    caseExact: false,
    mutability: 'readWrite',
    returned: 'default',
    uniqueness: 'none',
    canonicalValues: [],
    referenceTypes: [],
    subAttributes: [],
    ...traits,
    byName: named(traits.subAttributes ?? []),
  }
}

function named(attributes: readonly Attribute[]): ReadonlyMap<string, Attribute> {
  return new Map(attributes.map((one) => [one.name.toLowerCase(), one]))
}

function complex(
  name: string,
  description: string,
  subAttributes: readonly Attribute[],
  traits: Traits = {},
) {
  return attribute(name, description, { type: 'complex', subAttributes, ...traits })
}

/** A list of values with the sub-attributes of RFC 7643 2.4. */
function list(name: string, description: string, types: readonly string[], value: Traits = {}): Attribute {
  return complex(
    name,
    description,
    [
      attribute('value', 'The value itself.', value),
      attribute('display', 'How the value is shown.'),
      attribute('type', 'What the value is for.', { canonicalValues: types }),
      attribute('primary', 'Whether it is the preferred one; true for one value at most.', {
        type: 'boolean',
      }),
    ],
    { multiValued: true },
  )
}

const EXTERNAL: Traits = { type: 'reference', caseExact: true, referenceTypes: ['external'] }
const READ_ONLY: Traits = { mutability: 'readOnly' }

/** What every resource has (RFC 7643 3); these are in no schema. */
const COMMON: readonly Attribute[] = [
  attribute('schemas', 'The schemas of the resource.', {
    ...READ_ONLY,
    type: 'reference',
    multiValued: true,
    caseExact: true,
    returned: 'always',
  }),
  attribute('id', 'The id that this service gave.', {
    ...READ_ONLY,
    caseExact: true,
    returned: 'always',
    uniqueness: 'server',
  }),
  attribute('externalId', 'How the directory calls the resource.', { caseExact: true }),
  complex(
    'meta',
    'Facts about the resource.',
    [
      attribute('resourceType', 'User or Group.', { ...READ_ONLY, caseExact: true }),
      attribute('created', 'When it was created.', { ...READ_ONLY, type: 'dateTime' }),
      attribute('lastModified', 'When it was last changed.', { ...READ_ONLY, type: 'dateTime' }),
      attribute('location', 'Where it is read.', { ...READ_ONLY, type: 'reference', caseExact: true }),
      attribute('version', 'Its entity tag.', { ...READ_ONLY, caseExact: true }),
    ],
    READ_ONLY,
  ),
]

function schema(id: string, name: string, description: string, attributes: readonly Attribute[]): Schema {
  return { id, name, description, attributes, byName: named(attributes) }
}

const USER_SCHEMA = schema('urn:ietf:params:scim:schemas:core:2.0:User', 'User', 'User Account', [
  attribute('userName', 'Names the user; unique within the connection, without regard to case.', {
    required: true,
    uniqueness: 'server',
  }),
  complex('name', "The parts of the user's name.", [
    attribute('formatted', 'The whole name, as it is shown.'),
    attribute('familyName', 'The family name.'),
    attribute('givenName', 'The given name.'),
    attribute('middleName', 'The middle names.'),
    attribute('honorificPrefix', 'Titles before the name.'),
    attribute('honorificSuffix', 'Titles after the name.'),
  ]),
  attribute('displayName', 'The name as it is shown to others.'),
  attribute('nickName', 'How the user is called.'),
  attribute('profileUrl', "The user's page.", EXTERNAL),
  attribute('title', "The user's title."),
  attribute('userType', 'How the user belongs to the organization, such as Employee or Contractor.'),
  attribute('preferredLanguage', 'Languages, as in Accept-Language.'),
  attribute('locale', 'Locale for dates, numbers and money.'),
  attribute('timezone', 'Time zone, by its name in the IANA database.'),
  attribute('active', 'Whether the user may sign in and use its keys.', { type: 'boolean' }),
  attribute('password', 'Taken, never kept and never returned.', {
    mutability: 'writeOnly',
    returned: 'never',
    caseExact: true,
  }),
  list('emails', 'Mail addresses.', ['work', 'home', 'other']),
  list('phoneNumbers', 'Telephone numbers.', ['work', 'home', 'mobile', 'fax', 'pager', 'other']),
  list('ims', 'Addresses for instant messages.', [
    'aim',
    'gtalk',
    'icq',
    'xmpp',
    'msn',
    'skype',
    'qq',
    'yahoo',
  ]),
  list('photos', 'Addresses of pictures.', ['photo', 'thumbnail'], EXTERNAL),
  complex(
    'addresses',
    'Postal addresses.',
    [
      attribute('formatted', 'The whole address, as it is shown.'),
      attribute('streetAddress', 'Street and number.'),
      attribute('locality', 'City.'),
      attribute('region', 'State or region.'),
      attribute('postalCode', 'Postal code.'),
      attribute('country', 'Country.'),
      attribute('type', 'What the address is for.', { canonicalValues: ['work', 'home', 'other'] }),
      attribute('primary', 'Whether it is the preferred one; true for one value at most.', {
        type: 'boolean',
      }),
    ],
    { multiValued: true },
  ),
  complex(
    'groups',
    'Groups the user is in; changed at the groups.',
    [
      attribute('value', 'The id of the group.', { ...READ_ONLY, caseExact: true }),
      attribute('$ref', 'Where the group is read.', {
        ...READ_ONLY,
        type: 'reference',
        caseExact: true,
        referenceTypes: ['Group'],
      }),
      attribute('display', 'The name of the group.', READ_ONLY),
      attribute('type', 'direct.', { ...READ_ONLY, canonicalValues: ['direct'] }),
    ],
    { multiValued: true, ...READ_ONLY },
  ),
  list('entitlements', 'What the user is entitled to.', []),
  list('roles', 'Roles, as the directory calls them; they give no rights here.', []),
  list('x509Certificates', 'Certificates.', [], { type: 'binary', caseExact: true }),
])

const ENTERPRISE_SCHEMA = schema(
  'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User',
  'EnterpriseUser',
  'Enterprise User',
  [
    attribute('employeeNumber', 'The number that the organization gave.'),
    attribute('costCenter', 'The cost center.'),
    attribute('organization', 'The organization.'),
    attribute('division', 'The division.'),
    attribute('department', 'The department.'),
    complex('manager', "The user's manager.", [
      attribute('value', "The manager's id.", { caseExact: true }),
      attribute('$ref', 'Where the manager is read.', {
        type: 'reference',
        caseExact: true,
        referenceTypes: ['User'],
      }),
      attribute('displayName', "The manager's name.", READ_ONLY),
    ]),
  ],
)

const GROUP_SCHEMA = schema('urn:ietf:params:scim:schemas:core:2.0:Group', 'Group', 'Group', [
  attribute('displayName', 'The name of the group.', { required: true }),
  complex(
    'members',
    'Users that are in the group. Groups inside groups are refused.',
    [
      attribute('value', 'The id of the user.', { mutability: 'immutable', caseExact: true }),
      attribute('$ref', 'Where the user is read.', {
        type: 'reference',
        mutability: 'immutable',
        caseExact: true,
        referenceTypes: ['User'],
      }),
      attribute('display', 'How the directory shows the user.', { mutability: 'immutable' }),
      attribute('type', 'User.', { mutability: 'immutable', canonicalValues: ['User'] }),
    ],
    { multiValued: true },
  ),
])

export const RESOURCE_TYPES: Readonly<Record<ResourceName, ResourceType>> = {
  User: {
    name: 'User',
    endpoint: '/Users',
    description: 'User Account',
    core: USER_SCHEMA,
    extensions: [ENTERPRISE_SCHEMA],
  },
  Group: { name: 'Group', endpoint: '/Groups', description: 'Group', core: GROUP_SCHEMA, extensions: [] },
}

export const SCHEMAS: readonly Schema[] = [USER_SCHEMA, ENTERPRISE_SCHEMA, GROUP_SCHEMA]

const COMMON_BY_NAME = named(COMMON)

/** The attribute of that name in a schema; of the core schema also what every resource has. Names in any case. */
export function attributeOf(type: ResourceType, schema: Schema, name: string): Attribute | undefined {
  const key = name.toLowerCase()
  return schema.byName.get(key) ?? (schema === type.core ? COMMON_BY_NAME.get(key) : undefined)
}
