/** Processes with leases and a quota server that reach each other at once, on one machine or on several. */
import { setImmediate as turn } from 'node:timers/promises'
import type { Clock } from '../../../src/base/clock.js'
import { MachineBank } from '../../../src/limits/machine-bank.js'
import type { Quota, QuotaRequest } from '../../../src/limits/quota.js'
import {
  isPermit,
  NO_ANSWER,
  QuotaLeases,
  type QuotaPermit,
  type QuotaShortage,
} from '../../../src/limits/quota-leases.js'
import { QuotaServer } from '../../../src/limits/quota-server.js'
import type { SuppliedQuotas } from '../../../src/limits/quota-supply.js'
import type { FakeClock } from '../timing/fake-clock.js'
import { ModelBank } from './model-bank.js'

interface QuotaProcesses {
  /** Of the machine that a process is on. */
  readonly serverOf: (holder: string) => QuotaServer
  /** Holders are named by their place in here. */
  readonly processes: readonly QuotaLeases[]
  /** All requests so far. */
  readonly requests: QuotaRequest[]
}

/** How many machines the suites of limits run on: on one the quota server is the bank, three share one. */
export const MACHINES = [1, 3] as const

export function quotaProcesses(clock: Clock, count: number, machines = 1): QuotaProcesses {
  const processes: QuotaLeases[] = []
  const requests: QuotaRequest[] = []
  const bank = new ModelBank(clock)
  const servers = Array.from({ length: machines }, (_, at) => {
    const supply = (quotas: SuppliedQuotas): MachineBank => {
      const machine = new MachineBank({ clock, quotas, bank: bank.of(String(at)), flush: async () => true })
      bank.machines.set(String(at), machine)
      return machine
    }
    return new QuotaServer({
      clock,
      load: (_name, done) => done(0),
      revoke: (holder, name) => processes[Number(holder)]!.onRevoke(name),
      ...(machines > 1 && { supply }),
    })
  })
  const serverOf = (holder: string): QuotaServer => servers[Number(holder) % machines]!
  for (let at = 0; at < count; at++) {
    const holder = String(at)
    processes.push(
      new QuotaLeases(clock, {
        acquire: (request, onReply) => {
          requests.push(request)
          serverOf(holder).acquire(holder, request, (grant) => onReply(grant, false))
        },
        notify: (kind, amount) =>
          kind === 'quota-overdraft'
            ? serverOf(holder).recordOverdraft(holder, amount)
            : serverOf(holder).release(holder, amount),
        makeDurable: () => true,
      }),
    )
  }
  return { serverOf, processes, requests }
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

/**
 * The same while time passes: an answer of another machine that crosses what this one gives back is asked for again
 * after some milliseconds.
 */
export async function acquiredInTime(
  clock: FakeClock,
  leases: QuotaLeases,
  quota: Quota,
): Promise<QuotaPermit | QuotaShortage> {
  let isSettled = false
  const outcome = acquired(leases, quota).finally(() => {
    isSettled = true
  })
  for (await turn(); !isSettled; await turn()) clock.advance(1)
  return await outcome
}

/** Whether there was a permit; the process keeps it. */
export async function isAdmitted(leases: QuotaLeases, quota: Quota, amount = 1): Promise<boolean> {
  return isPermit(await acquired(leases, quota, amount))
}
