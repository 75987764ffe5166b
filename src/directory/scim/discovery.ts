/** What the service tells of itself (RFC 7643 5 to 7). */
import type { ScimDocument } from '../../store/directory-store.js'
import { type Attribute, RESOURCE_TYPES, SCHEMAS } from './schema.js'

const CORE = 'urn:ietf:params:scim:schemas:core:2.0'

/** As many resources as a page has at most. */
export const MOST_PER_PAGE = 200

export function serviceProviderConfig(baseUrl: string): ScimDocument {
  return {
    schemas: [`${CORE}:ServiceProviderConfig`],
    patch: { supported: true },
    bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
    filter: { supported: true, maxResults: MOST_PER_PAGE },
    changePassword: { supported: false },
    sort: { supported: true },
    etag: { supported: true },
    authenticationSchemes: [
      {
        type: 'oauthbearertoken',
        name: 'Bearer token',
        description: 'The token of a connection, in the header Authorization.',
        specUri: 'https://www.rfc-editor.org/info/rfc6750',
        primary: true,
      },
    ],
    meta: { resourceType: 'ServiceProviderConfig', location: `${baseUrl}/ServiceProviderConfig` },
  }
}

/** Users first. */
export function resourceTypes(baseUrl: string): readonly ScimDocument[] {
  return Object.values(RESOURCE_TYPES).map(({ name, endpoint, description, core, extensions }) => ({
    schemas: [`${CORE}:ResourceType`],
    id: name,
    name,
    endpoint,
    description,
    schema: core.id,
    schemaExtensions: extensions.map((extension) => ({ schema: extension.id, required: false })),
    meta: { resourceType: 'ResourceType', location: `${baseUrl}/ResourceTypes/${name}` },
  }))
}

export function schemas(baseUrl: string): readonly ScimDocument[] {
  return SCHEMAS.map(({ id, name, description, attributes }) => ({
    schemas: [`${CORE}:Schema`],
    id,
    name,
    description,
    attributes: attributes.map(definition),
    meta: { resourceType: 'Schema', location: `${baseUrl}/Schemas/${id}` },
  }))
}

/** An attribute with the characteristics that its type has (RFC 7643 7). */
function definition(attribute: Attribute): ScimDocument {
  const { name, type, multiValued, description, required, mutability, returned } = attribute
  const { caseExact, uniqueness, canonicalValues, referenceTypes, subAttributes } = attribute
  return {
    name,
    type,
    multiValued,
    description,
    required,
    ...((type === 'string' || type === 'reference' || type === 'binary') && { caseExact }),
    ...(canonicalValues.length > 0 && { canonicalValues }),
    mutability,
    returned,
    uniqueness,
    ...(referenceTypes.length > 0 && { referenceTypes }),
    ...(subAttributes.length > 0 && { subAttributes: subAttributes.map(definition) }),
  }
}
