/**
 * The errors of directory groups (contract/gateway 1.8): those of the gateway, but 403 is not among the statuses of
 * these operations. A key that is none for management is told so with a 401 (contract/decisions 4).
 */
import { Fault, type FaultKind } from '../../base/fault.js'
import type { ErrorDialect } from './dialect.js'
import { faultMessage, gateway } from './gateway.js'

const scimKind = (kind: FaultKind): FaultKind => (kind === 'forbidden' ? 'unauthenticated' : kind)

export const scim: ErrorDialect = {
  ...gateway,
  status: (kind) => gateway.status(scimKind(kind)),
  render: (fault) =>
    gateway.render(
      fault.kind === 'forbidden' ? new Fault('unauthenticated', { note: faultMessage(fault) }) : fault,
    ),
}
