/** Another process that uploads into the files of a PostgreSQL, for tests that kill it. */
import { systemClock } from '../../../src/base/clock.js'
import type { FileWriter } from '../../../src/store/file-store.js'
import { createPostgresFileStore } from '../../../src/store/postgres/files.js'
import { FILE } from '../data/new-file.js'
import { openWorkerDatabase } from '../servers/postgres-databases.js'
import { type PeerProcess, servePeer, startPeer } from './peer-process.js'

type FilePeerRequest =
  | { readonly do: 'write'; readonly bytes: number }
  | { readonly do: 'commit' }
  /** Answers when the commit is on its way. */
  | { readonly do: 'begin-commit' }

export type FilePeer = PeerProcess<FilePeerRequest, string>

/** Starts a process that has begun a file in the database at `url`. */
export function startFilePeer(url: string): Promise<FilePeer> {
  return startPeer(import.meta.url, url)
}

async function answerTo(writer: FileWriter, request: FilePeerRequest): Promise<string> {
  if (request.do === 'write') await writer.write(Buffer.alloc(request.bytes, 'x'))
  if (request.do === 'commit') return (await writer.commit(FILE)).id
  if (request.do === 'begin-commit') writer.commit(FILE).catch(() => {})
  return 'done'
}

await servePeer<FilePeerRequest>(import.meta.url, (url) => {
  const database = openWorkerDatabase(url)
  const limits = { files: 1_000, fileBytes: 1_000_000_000 }
  const files = createPostgresFileStore(database, { clock: systemClock, limits, sweepMs: 0 })
  const writer = files.beginFile(FILE.organizationId)
  return {
    answer: (request) => answerTo(writer, request),
    close: async () => {
      await files.close()
      await database.close()
    },
  }
})
