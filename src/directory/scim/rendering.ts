/** Resources as clients read them (RFC 7643 3 and 8), whole: filters and sorting look at these, projections cut them. */
import type { DirectoryGroup, Member, ScimDocument } from '../../store/directory-store.js'
import { RESOURCE_TYPES, type ResourceName } from './schema.js'

const LIST_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:ListResponse'

/** A user; `baseUrl` ends in `/scim/v2`. */
export function renderUser(
  member: Member,
  baseUrl: string,
  groups: readonly Pick<DirectoryGroup, 'id' | 'displayName'>[],
): ScimDocument {
  const { id, userName, externalId, active, document } = member
  return {
    ...identityOf('User', id, document),
    ...(externalId !== null && { externalId }),
    userName,
    ...document,
    active,
    ...(groups.length > 0 && {
      groups: groups.map((group) => ({
        value: group.id,
        $ref: `${baseUrl}/Groups/${group.id}`,
        display: group.displayName,
        type: 'direct',
      })),
    }),
    meta: metaOf('User', member, baseUrl),
  }
}

/** A group with these members. */
export function renderGroup(
  group: DirectoryGroup,
  baseUrl: string,
  members: readonly { readonly memberId: string; readonly display?: string | undefined }[],
): ScimDocument {
  const { id, displayName, externalId, document } = group
  return {
    ...identityOf('Group', id, document),
    ...(externalId !== null && { externalId }),
    displayName,
    ...document,
    ...(members.length > 0 && {
      members: members.map(({ memberId, display }) => ({
        value: memberId,
        $ref: `${baseUrl}/Users/${memberId}`,
        ...(display !== undefined && { display }),
        type: 'User',
      })),
    }),
    meta: metaOf('Group', group, baseUrl),
  }
}

/** The weak entity tag of a version (RFC 7644 3.14). */
export function etagOf(version: number): string {
  return `W/"${version}"`
}

/** A page of resources (RFC 7644 3.4.2); `startIndex` counts from 1. */
export function listResponse(
  resources: readonly ScimDocument[],
  totalResults: number,
  startIndex: number,
): ScimDocument {
  return {
    schemas: [LIST_SCHEMA],
    totalResults,
    startIndex,
    itemsPerPage: resources.length,
    Resources: resources,
  }
}

function identityOf(name: ResourceName, id: string, document: ScimDocument): ScimDocument {
  const { core, extensions } = RESOURCE_TYPES[name]
  const present = extensions.filter((extension) => Object.hasOwn(document, extension.id))
  return { schemas: [core.id, ...present.map((extension) => extension.id)], id }
}

function metaOf(
  name: ResourceName,
  resource: Pick<Member, 'id' | 'version' | 'createdAt' | 'updatedAt'>,
  baseUrl: string,
): ScimDocument {
  return {
    resourceType: name,
    created: new Date(resource.createdAt).toISOString(),
    lastModified: new Date(resource.updatedAt).toISOString(),
    location: `${baseUrl}${RESOURCE_TYPES[name].endpoint}/${resource.id}`,
    version: etagOf(resource.version),
  }
}
