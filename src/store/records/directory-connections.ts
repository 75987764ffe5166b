/** Connections in the table of the directory. */
import type { DirectoryConnection, DirectoryConnections } from '../directory-store.js'
import type { ScimAuditEntry } from '../scim-store.js'
import type { AuditBook } from './audit-book.js'
import type { DirectoryRemovals } from './directory-removals.js'
import { type DirectoryTables, keyOf } from './directory-tables.js'
import type { RequestLog } from './request-log.js'
import { connectionTrail } from './scim-tables.js'

export function createConnections(
  tables: DirectoryTables,
  removals: DirectoryRemovals,
  requests: RequestLog,
  audit: AuditBook<ScimAuditEntry>,
): DirectoryConnections {
  const { space } = tables
  const putTokens = ({ id, tokens }: DirectoryConnection): void => {
    for (const { hash } of tokens) tables.putText(keyOf('t', hash)!, id)
  }
  return {
    connection: (id) => space.inSnapshot(() => tables.connection(id)),
    byToken: (hash) =>
      space.inSnapshot(() => {
        const id = tables.getText(keyOf('t', hash))
        return id === null ? null : tables.connection(id)
      }),
    connectionsOf: (organizationId) =>
      space.inSnapshot(() => tables.texts(keyOf('o', organizationId)).map((id) => tables.connection(id)!)),
    addConnection: (connection, actor) =>
      removals.change(() => {
        const { id, organizationId, createdAt } = connection
        tables.put(keyOf('c', id)!, connection, organizationId)
        tables.putText(keyOf('o', organizationId, id)!, id)
        putTokens(connection)
        const subject = { organizationId, connectionId: id }
        tables.appendAudit('connection.create', createdAt, actor, subject)
      }),
    changeConnection: (id, change, actor) =>
      removals.change(() => {
        const current = tables.connection(id)
        if (current === null) return null
        const changed = change(current)
        if (changed === current) return current
        const { organizationId, createdAt } = current
        const next = Object.freeze({ ...changed, id, organizationId, createdAt })
        tables.put(keyOf('c', id)!, next, organizationId)
        for (const { hash } of current.tokens) tables.remove(keyOf('t', hash)!)
        putTokens(next)
        const subject = { organizationId, connectionId: id }
        tables.appendAudit('connection.update', next.updatedAt, actor, subject)
        return next
      }),
    removeConnection: (id, at, actor) =>
      removals.begin(() => {
        const current = tables.connection(id)
        if (current === null) return { outcome: false, removal: null }
        const { organizationId, tokens } = current
        tables.remove(keyOf('c', id)!, organizationId)
        tables.remove(keyOf('o', organizationId, id)!)
        for (const { hash } of tokens) tables.remove(keyOf('t', hash)!)
        const subject = { organizationId, connectionId: id }
        tables.appendAudit('connection.delete', at, actor, subject)
        return { outcome: true, removal: { kind: 'connection', id, organizationId, at } }
      }),
    auditOf: (organizationId, connectionId, offset, limit) =>
      audit.page(connectionTrail(organizationId, connectionId), offset, limit),
    logRequest: (row) => requests.append(row),
    requestsOf: (connectionId, offset, limit) => requests.page(connectionId, offset, limit),
    tokenUsesOf: (connectionId) =>
      space.inSnapshot(() => tables.get<Record<string, number>>(keyOf('v', connectionId)) ?? {}),
    quirksOf: (connectionId) =>
      space.inSnapshot(() => tables.get<Record<string, number>>(keyOf('q', connectionId)) ?? {}),
  }
}
