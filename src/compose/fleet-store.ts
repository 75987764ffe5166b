/** The store of a worker in a fleet: one line for each port. Loaded only where a database is configured. */
import type { Clock } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import { PendingReplies } from '../base/pending-replies.js'
import { EXPIRY_FACTOR } from '../fleet/silence-watch.js'
import { Standing } from '../fleet/standing.js'
import { ledgerPaths } from '../ledger/journal/segment-format.js'
import type { FleetStart } from '../process/ipc/messages.js'
import type { StoreLimits } from '../store/disk-reserve.js'
import { openDatabase } from '../store/postgres/database.js'
import { shareOf } from '../store/postgres/database-share.js'
import { createPostgresFileStore } from '../store/postgres/files.js'
import { createFleetView } from '../store/postgres/fleet-view.js'
import { createPostgresItemStore } from '../store/postgres/items.js'
import { openPostgresLedgerReader } from '../store/postgres/ledger.js'
import { createPostgresMemoryStore } from '../store/postgres/memory.js'
import { openReplicatedStore } from '../store/replicated/open.js'
import type { RevocationBarrier } from '../store/revocation-barrier.js'
import type { FleetWorker, StoreSettings, WorkerStore } from './worker-store.js'

/** The supervisor waits for silent machines for the staleness limit and a fifth; what else it needs is short. */
const BARRIER_GRACE_MS = 5_000
/** Between two looks for what uploads that died and deleted files have left. */
const FILE_SWEEP_MS = 15 * 60_000
/** Of the connections; the rest is left to records, limits and figures, whatever comes of items and files. */
const OF_CONTENT = 3 / 4

type FleetStore = Pick<WorkerStore, 'store' | 'ledger' | 'journals' | 'fleetView'> & {
  readonly fleet: FleetWorker
}

export function openFleetStore(settings: StoreSettings, start: FleetStart, limits: StoreLimits): FleetStore {
  const { config, clock } = settings
  const { dataDir, databaseConnections } = config
  const fleet = joinAsWorker(settings, start)
  const { unixSeconds } = clock
  const content = shareOf(fleet.database, Math.floor(databaseConnections * OF_CONTENT), clock)
  const items = createPostgresItemStore(content, unixSeconds, limits)
  const files = createPostgresFileStore(content, { clock, limits, sweepMs: FILE_SWEEP_MS })
  const replicated = openReplicatedStore({ ...fleet, dataDir, clock })
  return {
    store: {
      items,
      accounts: replicated.accounts,
      federation: replicated.federation,
      files,
      memory: createPostgresMemoryStore(content),
      providerKeys: replicated.providerKeys,
      scim: replicated.scim,
      sessions: replicated.sessions,
      directory: replicated.directory,
      isWriting: () => replicated.records.isWriting,
      close: async () => {
        await items.idle()
        await files.close()
        await replicated.close()
        await fleet.close()
      },
    },
    // The supervisor writes it.
    ledger: { ...openPostgresLedgerReader(fleet.database), close: async () => {} },
    journals: ledgerPaths(config.dataDir).journals,
    fleetView: createFleetView(fleet.database),
    fleet,
  }
}

function joinAsWorker(
  { config, clock, log, sendToSupervisor }: StoreSettings,
  { machine, standing: notice }: FleetStart,
): FleetWorker {
  const standing = new Standing(config.fleetWhenStoreIsAway)
  standing.set(notice)
  const database = openDatabase({
    url: config.databaseUrl,
    connections: config.databaseConnections,
    clock,
    name: `sluice ${machine}`,
    onChange: (isAway) => log.warn({ isAway }, isAway ? 'the database is away' : 'the database is back'),
  })
  const barrier = new BarrierOfSupervisor(clock, config.fleetStalenessMs, (id, version) =>
    sendToSupervisor({ type: 'pass-barrier', id, version }),
  )
  return {
    machine,
    database,
    standing,
    barrier,
    journalBytes: config.fleetJournalBytes,
    onMessage: (message) => {
      if (message.type === 'standing') standing.set(message.standing)
      else barrier.onPassed(message.id, message.unconfirmed)
    },
    close: () => database.close(),
  }
}

/** The barrier as a worker has it: its supervisor waits. */
class BarrierOfSupervisor implements RevocationBarrier {
  readonly #replies: PendingReplies<readonly string[] | null>
  readonly #deadlineMs: number
  readonly #ask: (id: number, version: number) => boolean

  constructor(clock: Clock, stalenessMs: number, ask: (id: number, version: number) => boolean) {
    this.#replies = new PendingReplies(clock)
    this.#deadlineMs = stalenessMs * EXPIRY_FACTOR + BARRIER_GRACE_MS
    this.#ask = ask
  }

  pass(version: number): Promise<readonly string[]> {
    return new Promise((resolve, reject) => {
      const send = (id: number): boolean => this.#ask(id, version)
      this.#replies.ask(this.#deadlineMs, send, (unconfirmed) => {
        if (unconfirmed === null) {
          const detail = 'the change was made; whether all machines have it is not known'
          reject(new Fault('unavailable', { retryAfter: 1, detail }))
          return
        }
        resolve(unconfirmed)
      })
    })
  }

  onPassed(id: number, unconfirmed: readonly string[] | null): void {
    this.#replies.receive(id, unconfirmed)
  }
}
