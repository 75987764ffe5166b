/** Files of the server's own, and readers who download them. */
import { createHash } from 'node:crypto'
import type { FileRecord } from '../../../src/store/file-store.js'
import type { Store } from '../../../src/store/store.js'
import { RawConnection, type RawConnectionEvents } from '../../harness/http/raw-connection.js'
import { requestBytes } from '../../harness/http/requests.js'
import { MANAGEMENT_KEY } from '../../performance/gateway/calls.js'
import { MIB } from './files-stage.js'

const LIMIT_MS = 300_000

interface DownloadRequest {
  readonly port: number
  readonly path: string
  /** Bytes per second; as fast as it goes without. */
  readonly pace?: number
  /** The body is hashed on the way. */
  readonly hashed?: true
}

export interface Download {
  readonly status: number
  /** SHA-256 of the body; that of nothing when nobody asked for it. */
  readonly sha256: string
  readonly bytesPerSecond: number
}

/**
 * Reads one body to its end and throws it away: what the generator itself costs should be next to nothing. Faults: Error
 * when the connection ends before, or nothing comes for five minutes.
 */
export function download({ port, path, pace, hashed }: DownloadRequest): Promise<Download> {
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

export interface MadeFile extends FileRecord {
  readonly sha256: string
}

/** A file of the server's own, in blocks that differ, so that a piece out of its place would show in the hash. */
export async function makeFile({ files, accounts }: Store, bytes: number): Promise<MadeFile> {
  const [organization] = accounts.organizations()
  const [workspace] = accounts.workspacesOf(organization!.id)
  const block = Buffer.alloc(MIB, 'sluice')
  const hash = createHash('sha256')
  const writing = files.beginFile(organization!.id)
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
