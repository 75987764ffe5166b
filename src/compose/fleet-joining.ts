/** How the supervisor of a machine joins its fleet: what it asks for, what it waits for, and what it tells of it. */
import { randomUUID } from 'node:crypto'
import { type Clock, isoTime, sleep, unixMs } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import type { Config } from '../config/config.js'
import { folderIdentity } from '../fleet/folder-identity.js'
import { RefusedStart } from '../fleet/join.js'
import { hashKey } from '../identity/api-keys.js'
import { createSealer, opensCheck, sealCheck, sealingKeyOf } from '../identity/sealing-key.js'
import type { JoinRequest, MachineEpoch, MachineFacts, Membership } from '../store/membership.js'
import { UnusableDatabase } from '../store/postgres/migrate.js'

interface WaitingPorts {
  readonly clock: Clock
  /** Tells the operator, on standard output. */
  readonly announce: (line: string) => void
  /** Whether the start was called off meanwhile. */
  readonly isLeaving: () => boolean
}

const WAIT_TOLD_MS = 30_000
const RETRY_MIN_MS = 300
const RETRY_SPREAD_MS = 700
/** Beyond it the operator is told; certificates and limits of time are what suffers. */
const MOST_CLOCK_DIFFERENCE_MS = 60_000

/**
 * What this machine joins with, first and again. The data folder must be locked. Throws `RefusedStart` when there is no
 * sealing key.
 */
export function joinRequests(
  config: Config,
  facts: () => MachineFacts,
): (isRejoining: boolean) => JoinRequest {
  const sealer = createSealer(readKey(config))
  const { folder, name } = folderIdentity(config.dataDir)
  const run = randomUUID()
  return (isRejoining) => ({
    ...{ name: config.machine === '' ? name : config.machine, folder, run, isRejoining },
    terms: termsOf(config),
    servesAway: config.fleetWhenStoreIsAway === 'serve',
    stalenessMs: config.fleetStalenessMs,
    facts: facts(),
    sealedCheck: sealCheck(sealer),
    opensCheck: (sealed) => opensCheck(sealer, sealed),
  })
}

function readKey(config: Config): Buffer {
  try {
    return sealingKeyOf(config)
  } catch (error) {
    throw new RefusedStart(error instanceof Error ? error.message : String(error))
  }
}

function termsOf({ publicUrl, apiKey, managementKey }: Config): JoinRequest['terms'] {
  const hashOf = (key: string): string => (key === '' ? '' : hashKey(key))
  return { publicUrl, apiKeyHash: hashOf(apiKey), managementKeyHash: hashOf(managementKey) }
}

/** Tries until the database answers; what is wrong with it is said once, and again from time to time. */
export async function whenReachable<T>(ports: WaitingPorts, attempt: () => Promise<T>): Promise<T> {
  const { clock, announce, isLeaving } = ports
  let toldAt = Number.NEGATIVE_INFINITY
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      if (error instanceof UnusableDatabase) throw new RefusedStart(error.message)
      if (!(error instanceof Fault) || error.kind !== 'unavailable' || isLeaving()) throw error
      if (clock.monotonicMs() - toldAt >= WAIT_TOLD_MS) {
        toldAt = clock.monotonicMs()
        announce(`sluice waits for the database (SLUICE_DATABASE_URL): ${reasonOf(error)}`)
      }
    }
    await sleep(RETRY_MIN_MS + RETRY_SPREAD_MS * Math.random(), clock)
  }
}

/** What the database or the way to it has said; never the URL, which may hold a password. */
function reasonOf({ detail, cause }: Fault): string {
  const told = cause instanceof Error ? cause.message : ''
  return [detail, told].filter(Boolean).join(': ')
}

/** The new epoch, or why there must be none. */
export async function rejoin(
  membership: Membership,
  request: JoinRequest,
): Promise<MachineEpoch['epoch'] | string> {
  const outcome = await membership.join(request)
  if (outcome.joined) return outcome.epoch
  if ('refusal' in outcome) return outcome.refusal
  return `another machine of the name "${request.name}" has taken its place`
}

export function tellClock(storeMs: number, { clock, announce }: WaitingPorts): void {
  const difference = unixMs(clock) - storeMs
  if (Math.abs(difference) < MOST_CLOCK_DIFFERENCE_MS) return
  const seconds = Math.round(Math.abs(difference) / 1000)
  announce(
    `sluice: the clock of this machine is ${seconds} s ${difference > 0 ? 'ahead of' : 'behind'} that of the database (${isoTime(storeMs)}): set it right`,
  )
}
