import { createHash } from 'node:crypto'
import type { FileRecord } from '../../../src/store/file-store.js'
import { openLmdbStore } from '../../../src/store/lmdb/open.js'
import type { Store } from '../../../src/store/store.js'
import { onGeneratorCore } from '../../harness/machine/pinning.js'
import { residentBytes } from '../../harness/machine/proc.js'
import type { SluiceServer } from '../../harness/server/sluice-server.js'
import { MANAGEMENT_KEY } from '../../performance/gateway/calls.js'
import { ADMIN_KEYS } from '../federation/federation-stage.js'
import { startHelper } from '../helper-process.js'
import type { TrialContext } from '../trial.js'
import type { FilesFloorJob } from './files-floor.js'

/** The program of the floor. */
export const FLOOR = new URL('./files-floor.js', import.meta.url)

/** The server, a floor beside it on the same core, and the server's own store, opened from here. */
export interface FilesStage {
  readonly server: SluiceServer
  readonly floorPort: number
  readonly key: string
  readonly store: Store
  /** Makes a file of the server's own, of `bytes` bytes. */
  makeFile(bytes: number): Promise<MadeFile>
  stop(): Promise<void>
}

interface MadeFile extends FileRecord {
  readonly sha256: string
}

export const MIB = 1024 * 1024

export async function stageFiles(context: TrialContext, downloadBytes: number): Promise<FilesStage> {
  const { staging, cores } = context
  const core = cores?.server ?? null
  const dataFolder = staging.freshFolder()
  const server = await staging.start({
    workers: 1,
    poolThreads: 1,
    core,
    dataFolder,
    environment: ADMIN_KEYS,
  })
  const floorPort = await staging.freePort()
  const message: FilesFloorJob = { port: floorPort, downloadBytes, folder: staging.freshFolder() }
  const floor = await startHelper(staging, core, { program: FLOOR, message })
  const store = openLmdbStore({ path: dataFolder, unixSeconds: () => Date.now() / 1000 })
  return {
    server,
    floorPort,
    key: MANAGEMENT_KEY,
    store,
    makeFile: (bytes) => makeFile(store, bytes),
    stop: async () => {
      floor.end()
      await store.close()
      await server.stop()
    },
  }
}

/** Blocks that differ from each other, so that a piece out of its place would show in the hash. */
async function makeFile({ files, accounts }: Store, bytes: number): Promise<MadeFile> {
  const [organization] = accounts.organizations()
  const [workspace] = accounts.workspacesOf(organization!.id)
  const block = Buffer.alloc(MIB, 'sluice')
  const hash = createHash('sha256')
  const writing = await files.beginFile()
  for (let at = 0; at < bytes; at += MIB) {
    block.writeDoubleLE(at + 1, 0)
    const piece = block.subarray(0, Math.min(MIB, bytes - at))
    hash.update(piece)
    await writing.write(piece)
  }
  const about = { organizationId: organization!.id, workspaceId: workspace!.id, purpose: null }
  const record = await writing.commit({ ...about, filename: 'trial.bin', origin: 'created' })
  return { ...record, sha256: hash.digest('hex') }
}

/** SHA-256 of what lies on the disk under an id; `''` when there is no such file. */
export async function storedHash({ files }: Store, id: string): Promise<string> {
  const record = files.file(id)
  if (record === null) return ''
  const reading = await files.openContent(record, 0, record.sizeBytes)
  const hash = createHash('sha256')
  for (let piece = await reading.read(); piece.length > 0; piece = await reading.read()) hash.update(piece)
  reading.close()
  return hash.digest('hex')
}

/** Rounds that compare a throughput of ours with that of the floor, both bytes per second, on the generator's core. */
export async function throughputRounds<Round extends { readonly ours: number; readonly floor: number }>(
  context: TrialContext,
  oneRound: () => Promise<Round>,
): Promise<Round[]> {
  const rounds: Round[] = []
  for (let number = 1; number <= context.rounds; number++) {
    const round = await onGeneratorCore(context.cores, oneRound)
    rounds.push(round)
    const [ours, floor] = [round.ours, round.floor].map((bytes) => (bytes / MIB).toFixed(0))
    context.progress(`round ${number}: ${ours} of ${floor} MiB/s`)
  }
  return rounds
}

const SAMPLE_MS = 50

/** What `work` gives, and by how many bytes the resident memory of the workers rose meanwhile at most. */
export async function withMemoryGain<T>(
  server: SluiceServer,
  work: () => Promise<T>,
): Promise<{ readonly value: T; readonly gained: number }> {
  const before = residentBytes(server.workers)
  let most = before
  const timer = setInterval(() => {
    most = Math.max(most, residentBytes(server.workers))
  }, SAMPLE_MS)
  try {
    return { value: await work(), gained: most - before }
  } finally {
    clearInterval(timer)
  }
}
