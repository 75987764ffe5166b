/** The directory and the groups in a space of records: two ports on the same facts. */
import type { AccountStore } from '../account-store.js'
import type { DirectoryRequest, DirectoryStore } from '../directory-store.js'
import type { ScimAuditEntry, ScimStore } from '../scim-store.js'
import type { AuditBook } from './audit-book.js'
import { createConnections } from './directory-connections.js'
import { createGroups } from './directory-groups.js'
import { createMembers } from './directory-members.js'
import { DirectoryRemovals } from './directory-removals.js'
import { createDirectoryRoles } from './directory-roles.js'
import { DirectoryTables } from './directory-tables.js'
import { createScimStore } from './groups.js'
import type { RecordSpace } from './record-space.js'
import { RequestLog } from './request-log.js'
import { RoleAnswers } from './role-answers.js'
import { RoleFacts } from './role-facts.js'
import { RoleStamps } from './role-stamps.js'
import { digestOf, ScimTables } from './scim-tables.js'

interface DirectoryPorts {
  readonly audit: AuditBook<ScimAuditEntry>
  readonly requests: AuditBook<DirectoryRequest>
  readonly accounts: Pick<AccountStore, 'workspace'>
}

interface DirectoryStores {
  readonly scim: ScimStore
  readonly directory: DirectoryStore
  /** Writes what waits to be written. Before the space is closed. */
  readonly flush: () => Promise<void>
}

export function createDirectoryStores(
  space: RecordSpace,
  { audit, requests, accounts }: DirectoryPorts,
): DirectoryStores {
  const stamps = new RoleStamps(space)
  const scim = new ScimTables(space, audit, stamps)
  const tables = new DirectoryTables(space, audit, stamps)
  const facts = new RoleFacts(scim, tables)
  const answers = new RoleAnswers(tables, stamps, facts)
  const removals = new DirectoryRemovals(tables, stamps, (memberId) => {
    for (const workspaceId of scim.workspacesOf(digestOf(memberId))) scim.removeRole(workspaceId, memberId)
  })
  const log = new RequestLog(tables, requests)
  return {
    scim: createScimStore({ space, tables: scim, stamps, facts, answers, audit }),
    directory: {
      connections: createConnections(tables, removals, log, audit),
      members: createMembers(tables, removals, answers),
      groups: createGroups(tables, removals),
      roles: createDirectoryRoles({ tables, scim, facts, removals, accounts }),
    },
    flush: () => log.flush(),
  }
}
