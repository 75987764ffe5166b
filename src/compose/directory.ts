/** The directory of a worker: provisioning, its connections, and the groups that were delivered by hand. */
import type { AppPorts } from '../app.js'
import { limitByBucket } from '../limits/bucket-limit.js'
import type { QuotaLeases } from '../limits/quota-leases.js'
import type { WorkerContext } from './worker-context.js'

/** What one connection may ask for, over all workers and machines (contract/directory 1). */
const CONNECTION_RATE = { perSecond: 50, burst: 50, longestWait: 3 }

export function composeDirectory(
  { store, clock, baseUrl }: Pick<WorkerContext, 'store' | 'clock' | 'baseUrl'>,
  leases: QuotaLeases,
): Pick<AppPorts, 'scim' | 'scimConnections' | 'scimProvider'> {
  const { scim, accounts, directory } = store
  const { connections, roles } = directory
  return {
    scim: { scim, directory, accounts, clock },
    scimConnections: { connections, roles, clock },
    scimProvider: {
      directory,
      connections,
      clock,
      publicUrl: baseUrl,
      limit: limitByBucket(leases, 'c', CONNECTION_RATE),
    },
  }
}
