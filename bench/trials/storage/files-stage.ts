/** What the trials of files share: the server beside a floor, rounds of throughput, and the memory gained meanwhile. */
import { openLmdbStore } from '../../../src/store/lmdb/open.js'
import { residentBytes, sampleResident } from '../../harness/machine/proc.js'
import type { SluiceServer } from '../../harness/server/sluice-server.js'
import { ADMIN_ENVIRONMENT } from '../../performance/gateway/calls.js'
import type { Staging } from '../staging.js'
import { playRounds, type TrialContext } from '../trial.js'

export const MIB = 1024 * 1024

const FLOOR = new URL('./files-floor.js', import.meta.url)

/** Starts the floor; its downloads have `downloadBytes`. */
export function startFloor(staging: Staging, on: 'server' | 'generator', downloadBytes = 1) {
  return staging.startHelper(on, FLOOR, { downloadBytes, folder: staging.freshFolder() })
}

/** The server, a floor beside it on the same core, and the server's own store, opened from here. */
export async function stageFiles({ staging }: TrialContext, downloadBytes?: number) {
  const dataFolder = staging.freshFolder()
  const server = await staging.start({ dataFolder, environment: ADMIN_ENVIRONMENT })
  const floor = await startFloor(staging, 'server', downloadBytes)
  const store = openLmdbStore({ path: dataFolder, unixSeconds: () => Date.now() / 1000 })
  const stop = async (): Promise<void> => {
    floor.end()
    await store.close()
    await server.stop()
  }
  return { server, floor, store, stop }
}

/** Rounds that compare a throughput of ours with that of the floor, both bytes per second. */
export function throughputRounds<Round extends { readonly ours: number; readonly floor: number }>(
  context: TrialContext,
  oneRound: () => Promise<Round>,
): Promise<Round[]> {
  return playRounds(
    context,
    oneRound,
    ({ ours, floor }) => `${(ours / MIB).toFixed(0)} of ${(floor / MIB).toFixed(0)} MiB/s`,
  )
}

const SAMPLE_MS = 50

/** What `work` gives, and by how many bytes the resident memory of the workers rose meanwhile at most. */
export async function withMemoryGain<T>(
  server: SluiceServer,
  work: () => Promise<T>,
): Promise<{ readonly value: T; readonly gained: number }> {
  const before = residentBytes(server.workers)
  const endSampling = sampleResident(() => server.workers, SAMPLE_MS)
  try {
    const value = await work()
    return { value, gained: Math.max(before, ...endSampling()) - before }
  } finally {
    endSampling()
  }
}
