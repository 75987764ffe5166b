/** Processes with leases and a quota server that reach each other at once. */
import type { Clock } from '../../../src/base/clock.js'
import type { Quota, QuotaRequest } from '../../../src/limits/quota.js'
import {
  isPermit,
  NO_ANSWER,
  QuotaLeases,
  type QuotaPermit,
  type QuotaShortage,
} from '../../../src/limits/quota-leases.js'
import { QuotaServer } from '../../../src/limits/quota-server.js'

interface QuotaProcesses {
  readonly server: QuotaServer
  /** Holders are named by their place in here. */
  readonly processes: readonly QuotaLeases[]
  /** All requests so far. */
  readonly requests: QuotaRequest[]
}

export function quotaProcesses(clock: Clock, count: number): QuotaProcesses {
  const processes: QuotaLeases[] = []
  const requests: QuotaRequest[] = []
  const server = new QuotaServer({
    clock,
    load: (_name, done) => done(0),
    revoke: (holder, name) => processes[Number(holder)]!.onRevoke(name),
  })
  for (let at = 0; at < count; at++) {
    const holder = String(at)
    processes.push(
      new QuotaLeases(clock, {
        acquire: (request, onReply) => {
          requests.push(request)
          server.acquire(holder, request, (grant) => onReply(grant, false))
        },
        notify: (kind, amount) =>
          kind === 'quota-overdraft'
            ? server.recordOverdraft(holder, amount)
            : server.release(holder, amount),
        makeDurable: () => true,
      }),
    )
  }
  return { server, processes, requests }
}

export async function acquired(
  leases: QuotaLeases,
  quota: Quota,
  amount = 1,
): Promise<QuotaPermit | QuotaShortage> {
  const outcome = leases.tryAcquire(quota, amount) ?? (await leases.acquire(quota, amount))
  if (outcome === NO_ANSWER) throw new Error('no answer')
  return outcome
}

/** Whether there was a permit; the process keeps it. */
export async function isAdmitted(leases: QuotaLeases, quota: Quota, amount = 1): Promise<boolean> {
  return isPermit(await acquired(leases, quota, amount))
}
