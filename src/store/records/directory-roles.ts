/** Direct roles, held removals and the reasons of roles. */
import { sortInTurns } from '../../base/sorting-in-turns.js'
import { TurnSlices } from '../../base/turn-slices.js'
import type { AccountStore } from '../account-store.js'
import type { DirectoryRoles } from '../directory-store.js'
import type { ScimRole } from '../scim-store.js'
import { heldOfGroup, heldOfOrganization, removeHeld } from './directory-edges.js'
import type { DirectoryRemovals } from './directory-removals.js'
import type { DirectoryTables } from './directory-tables.js'
import type { RoleFacts } from './role-facts.js'
import { digestOf, type ScimTables } from './scim-tables.js'

/** Held removals that take effect in one transaction. */
const APPROVED_AT_ONCE = 500

interface RoleTables {
  readonly tables: DirectoryTables
  readonly scim: ScimTables
  readonly facts: RoleFacts
  readonly removals: DirectoryRemovals
  readonly accounts: Pick<AccountStore, 'workspace'>
}

export function createDirectoryRoles({
  tables,
  scim,
  facts,
  removals,
  accounts,
}: RoleTables): DirectoryRoles {
  const { space } = tables
  return {
    reasons: (workspaceId, memberId) => space.inSnapshot(() => facts.reasonsOf(workspaceId, memberId)),
    workspacesOf: (organizationId, memberId) =>
      space.inSnapshot(() => facts.workspacesOf(organizationId, memberId)),
    membersOf: async (workspaceId) => {
      const roles = new Map<string, ScimRole>()
      const slices = new TurnSlices()
      for (const ids of facts.candidatesOf(workspaceId)) {
        for (const id of ids) {
          if (slices.isOver) await slices.next()
          const role = space.inSnapshot(() => (facts.isMember(id) ? facts.roleOf(workspaceId, id) : null))
          if (role !== null) roles.set(id, role)
        }
      }
      return new Map(await sortInTurns([...roles], ([a], [b]) => (a < b ? -1 : 1)))
    },
    putDirectRole: ({ organizationId, workspaceId, memberId, role }, at, actor) =>
      removals.change(() => {
        const member = tables.facts(memberId)
        if (member === null || member.deleted || member.organizationId !== organizationId) return false
        if (accounts.workspace(workspaceId)?.organizationId !== organizationId) return false
        const roleBefore = scim.directRole(workspaceId, digestOf(memberId))?.role ?? null
        if (roleBefore === role) return true
        const origin = { mappingId: null, createdAt: at, author: actor.actor }
        scim.putDirectRole({ organizationId, workspaceId, userId: memberId, role, ...origin })
        const subject = { organizationId, workspaceId, userIds: [memberId], roleBefore, roleAfter: role }
        tables.appendAudit('role.give', at, actor, subject)
        return true
      }),
    heldOf: (organizationId) =>
      space.inSnapshot(() =>
        heldOfOrganization(tables, organizationId)
          .filter(({ groupId, memberId }) => {
            return tables.group(groupId) !== null && tables.facts(memberId)?.deleted === false
          })
          .map(({ groupId, connectionId, memberId, removedAt }) => {
            return { groupId, connectionId, memberId, removedAt }
          }),
      ),
    approveHeld: async (groupId, at, actor) => {
      for (let approved = 0; ; ) {
        const count = await removals.change(() => {
          const held = heldOfGroup(tables, groupId, { limit: APPROVED_AT_ONCE })
          for (const removal of held) removeHeld(tables, removal)
          const [first] = held
          if (first === undefined) return 0
          const { organizationId } = first
          const users = held.map(({ memberId }) => memberId)
          tables.appendUsers('membership.approve', at, actor, { organizationId, groupId }, users)
          return held.length
        })
        approved += count
        if (count < APPROVED_AT_ONCE) return approved
      }
    },
  }
}
