/** People of a connection as resources. */
import { type Clock, unixMs } from '../../base/clock.js'
import { newUuidV7 } from '../../base/ids.js'
import type { DirectoryStore, Member } from '../../store/directory-store.js'
import { ScimError } from '../scim/errors.js'
import { renderUser } from '../scim/rendering.js'
import { patchUser, readUser, replaceUser, type UserFields } from '../scim/users.js'
import {
  ABSENT,
  guarded,
  isOfScope,
  outcomeOf,
  type ResourceKind,
  refusalOf,
  removalCheck,
  type Visit,
} from './visit.js'

export interface ProvisioningPorts {
  readonly directory: Pick<DirectoryStore, 'members' | 'groups'>
  readonly clock: Clock
  /** Where the service is found, without a slash at the end: `https://host/api/v1/scim/v2`. */
  readonly baseUrl: string
}

const TAKEN = new ScimError(409, 'uniqueness', 'Another user of this connection has this userName.')

export function usersKind({ directory, clock, baseUrl }: ProvisioningPorts): ResourceKind<Member> {
  const { members, groups } = directory
  const change = async (
    visit: Visit,
    id: string,
    next: (current: Member) => UserFields | ScimError,
  ): Promise<Member | ScimError> => {
    const write = await members.changeMember(
      id.toLowerCase(),
      guarded((current) => {
        const fields = refusalOf(visit, current) ?? next(current)
        return fields instanceof ScimError ? fields : withFields(current, fields, unixMs(clock))
      }),
      visit.actor,
    )
    return outcomeOf(write, TAKEN)
  }
  return {
    name: 'User',
    list: 'groups',
    read: ({ scope }, id) => {
      const member = members.member(id.toLowerCase())
      return member?.deletedAt === null && isOfScope(member, scope) ? member : ABSENT
    },
    page: (scope, lookup, offset, limit) => members.membersOf(scope, lookup, offset, limit),
    create: async ({ scope, quirks, actor }, body) => {
      const fields = readUser(body, quirks)
      if (fields instanceof ScimError) return fields
      const now = unixMs(clock)
      const times = { createdAt: now, updatedAt: now, deletedAt: null }
      const member = { id: newUuidV7(now), ...scope, version: 1, ...fields, ...times }
      return outcomeOf(await members.addMember(member, actor), TAKEN)
    },
    replace: (visit, id, body) => change(visit, id, (current) => replaceUser(current, body, visit.quirks)),
    patch: (visit, id, body) => change(visit, id, (current) => patchUser(current, body, visit.quirks)),
    remove: async (visit, id) =>
      outcomeOf(
        await members.removeMember(id.toLowerCase(), removalCheck(visit), unixMs(clock), visit.actor),
      ),
    render: (member, withList) =>
      renderUser(member, baseUrl, withList ? groups.groupsOfMember(member.id) : []),
    hasMember: () => false,
    weigh: () => 0,
  }
}

/** The very record where nothing is said anew: it keeps its version. */
function withFields(current: Member, fields: UserFields, now: number): Member {
  if (fields === current) return current
  const { userName, externalId, active, document } = fields
  return { ...current, userName, externalId, active, document, updatedAt: now }
}
