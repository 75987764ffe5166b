/** Chooses the store of a worker: the embedded one, or that of a fleet, whose code is loaded only then. */
import { hostname } from 'node:os'
import { VERSION } from '../base/version.js'
import { DiskReserve, type StoreLimits } from '../store/disk-reserve.js'
import { embeddedFleetView } from '../store/fleet-view.js'
import { openLmdbStore } from '../store/lmdb/open.js'
import { openLedger } from './ledger.js'
import type { StoreSettings, WorkerStore } from './worker-store.js'

/** Rejects with a sentence when it cannot be opened. */
export async function openStore(settings: StoreSettings): Promise<WorkerStore> {
  const limits = storeLimits(settings)
  const { takeRoom } = limits
  if (settings.fleet !== null) {
    const { openFleetStore } = await import('./fleet-store.js')
    return { takeRoom, ...openFleetStore(settings, settings.fleet, limits) }
  }
  const { dataDir } = settings.config
  const { unixSeconds } = settings.clock
  return {
    store: openLmdbStore({ path: dataDir, unixSeconds, limits }),
    ...openLedger(dataDir),
    fleetView: embeddedFleetView(hostname(), VERSION),
    takeRoom,
    fleet: null,
  }
}

function storeLimits({ config, clock, log }: StoreSettings): StoreLimits {
  const { dataDir, diskReserveBytes } = config
  const reserve = new DiskReserve({
    folder: dataDir,
    bytes: diskReserveBytes,
    clock,
    onRefused: (freeBytes) =>
      log.warn(
        { freeBytes, diskReserveBytes },
        'the disk is full but for its reserve: uploads and new items are refused',
      ),
  })
  return {
    itemBytes: config.itemStorageBytes,
    files: config.fileStorageFiles,
    fileBytes: config.fileStorageBytes,
    takeRoom: (bytes, isReuse) => reserve.take(bytes, isReuse),
  }
}
