import { createHash } from 'node:crypto'
import type { FileRecord } from '../../../src/store/file-store.js'
import type { Store } from '../../../src/store/store.js'
import { RawConnection, type RawConnectionEvents } from '../../harness/http/raw-connection.js'
import { requestBytes } from '../../harness/http/requests.js'
import { MANAGEMENT_KEY } from '../../performance/gateway/calls.js'
import { atLeast, atMost, exactly, figure, over, type Trial, type TrialContext } from '../trial.js'
import { MIB, stageFiles, throughputRounds, withMemoryGain } from './files-stage.js'

const BYTES = 1024 * MIB
/** Pairs of a download from us and one from the floor. */
const PAIRS = 3
const SLOW = 8
/** How long the slow ones take. */
const SLOW_SECONDS = 20
const LIMIT_MS = 300_000

interface DownloadRequest {
  readonly port: number
  readonly path: string
  /** Bytes per second; as fast as it goes without. */
  readonly pace?: number
  /** The body is hashed on the way. */
  readonly hashed?: true
}

interface Download {
  readonly status: number
  /** SHA-256 of the body; that of nothing when nobody asked for it. */
  readonly sha256: string
  readonly bytesPerSecond: number
}

/**
 * Reads one body to its end and throws it away: what the generator itself costs should be next to nothing. Faults: Error
 * when the connection ends before, or nothing comes for five minutes.
 */
function download({ port, path, pace, hashed }: DownloadRequest): Promise<Download> {
  const headers = { Authorization: `Bearer ${MANAGEMENT_KEY}` }
  const request = requestBytes({ method: 'GET', route: path, path, headers })
  const begun = performance.now()
  const hash = createHash('sha256')
  let length = 0
  const data = (bytes: Buffer, from: number, to: number): void => {
    length += to - from
    if (hashed) hash.update(bytes.subarray(from, to))
  }
  return new Promise((resolve, reject) => {
    const events: RawConnectionEvents = {
      opened: (connection) => connection.send(request, null),
      answered: (connection, status) => {
        connection.close()
        const bytesPerSecond = (1_000 * length) / (performance.now() - begun)
        resolve({ status, sha256: hash.digest('hex'), bytesPerSecond })
      },
      lost: (_, __, detail) => reject(new Error(`a download ended after ${length} bytes: ${detail}`)),
    }
    const reading = { listener: { data }, bytesPerS: pace ?? null }
    new RawConnection({ address: '127.0.0.1', port }, events, reading).setIdleTimeout(LIMIT_MS)
  })
}

interface MadeFile extends FileRecord {
  readonly sha256: string
}

/** A file of the server's own, in blocks that differ, so that a piece out of its place would show in the hash. */
async function makeFile({ files, accounts }: Store, bytes: number): Promise<MadeFile> {
  const [organization] = accounts.organizations()
  const [workspace] = accounts.workspacesOf(organization!.id)
  const block = Buffer.alloc(MIB, 'sluice')
  const hash = createHash('sha256')
  const writing = files.beginFile()
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

async function oneRound(context: TrialContext) {
  const { server, floor, store, stop } = await stageFiles(context, BYTES)
  const file = await makeFile(store, BYTES)
  const wish = { port: server.port, path: `/api/v1/files/${file.id}/content` }
  // Once before anything is counted, and hashed: the pages of the file are in memory afterwards.
  const first = await download({ ...wish, hashed: true })
  // In turns, so that what the machine does meanwhile meets both.
  const quick = await withMemoryGain(server, async () => {
    const speeds: { ours: number; floor: number }[] = []
    for (let pair = 0; pair < PAIRS; pair++) {
      const ours = await download(wish)
      const bare = await download({ port: floor.port, path: '/download' })
      speeds.push({ ours: ours.bytesPerSecond, floor: bare.bytesPerSecond })
    }
    return over(speeds)
  })
  const slowly = () => download({ ...wish, hashed: true, pace: BYTES / SLOW_SECONDS })
  const slow = await withMemoryGain(server, () => Promise.all(Array.from({ length: SLOW }, slowly)))
  await stop()
  const isRight = ({ status, sha256 }: Download): boolean => status === 200 && sha256 === file.sha256
  return {
    /** Bytes per second. */
    ours: quick.value.median('ours'),
    floor: quick.value.median('floor'),
    gainedQuick: quick.gained,
    gainedSlow: slow.gained,
    wrong: [first, ...slow.value].filter((one) => !isRight(one)).length,
  }
}

export const filesDownload: Trial = {
  name: 'files-download',
  summary: '1 GiB to quick and slow readers: equal bytes, flat memory, 0.7 of bare uWS',
  rounds: 3,
  roundLimitS: 300,
  pinned: true,
  run: async (context) => {
    const { sum, median } = over(await throughputRounds(context, () => oneRound(context)))
    const ratio = median(({ ours, floor }) => ours / floor)
    return {
      bars: [
        atLeast('throughput / floor', ratio, 0.7),
        exactly('bodies that differ', sum('wrong'), 0),
        atMost('memory gained by quick readers', median('gainedQuick') / MIB, 16, 'MiB'),
        atMost('memory gained by a slow reader', median('gainedSlow') / MIB / SLOW, 2, 'MiB'),
      ],
      figures: [
        figure('size of the file', BYTES / MIB, 'MiB'),
        figure('ours', median('ours') / MIB, 'MiB/s'),
        figure('floor', median('floor') / MIB, 'MiB/s'),
      ],
    }
  },
}
