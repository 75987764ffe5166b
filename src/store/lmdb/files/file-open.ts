import { existsSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { Fault } from '../../../base/fault.js'
import type { FileRecord, FileStore, SweepResult } from '../../file-store.js'
import { BlockPool } from '../../files/block-pool.js'
import { ContentFolder } from '../../files/content-folder.js'
import { ContentReader } from '../../files/content-reader.js'
import { ContentWriter } from '../../files/content-writer.js'
import { newFileId } from '../../files/file-id.js'
import type { LmdbEnvironment } from '../environment.js'
import { FILE_TABLE_NAME } from './file-layout.js'
import { FileRecords } from './file-records.js'

/** The files of a store whose environment was opened with `FILE_TABLE`; contents lie in `files` beside it. */
export function openFiles(
  env: LmdbEnvironment,
  dataDir: string,
  unixSeconds: () => number,
): { readonly store: FileStore; readonly idle: () => Promise<void> } {
  const records = new FileRecords(env, env.byteTable(FILE_TABLE_NAME))
  const contents = new ContentFolder(dataDir)
  const blocks = new BlockPool()
  const unixMs = (): number => Math.floor(unixSeconds() * 1000)

  const record = (file: FileRecord): Promise<void> =>
    records.add(file, () => existsSync(contents.pathOf(file.id)))

  const begin = async (): Promise<ContentWriter> => {
    const id = newFileId(unixMs())
    const handle = await contents.createIncoming(id).catch((cause: unknown) => {
      throw new Fault('unavailable', { detail: 'the disk refused a file', cause })
    })
    return new ContentWriter(id, handle, { contents, blocks, record, unixMs })
  }

  /** A record cannot be added while its content is being set aside: that happens inside a transaction. */
  const sweep = async (): Promise<SweepResult> => {
    const incoming = await contents.clearIncoming()
    let { setAside } = incoming
    const orphans = (await contents.publishedIds()).filter((id) => records.find(id) === null)
    if (orphans.length > 0) {
      await records.forEachMissing(orphans, (id) => {
        if (contents.setAside(id)) setAside++
      })
    }
    let putBack = 0
    for (const id of await contents.idsSetAside()) {
      if (records.find(id) !== null && (await contents.putBack(id))) putBack++
    }
    return { removed: incoming.removed, setAside, putBack, asideFolder: contents.asideFolder }
  }

  const store: FileStore = {
    file: (id) => records.find(id),
    filesOf: (workspaceId, page) => records.list(workspaceId, page),
    beginFile: begin,
    createFile: async (file, content) => {
      const writing = await begin()
      try {
        await writing.write(content)
        return await writing.commit(file)
      } finally {
        await writing.abandon()
      }
    },
    removeFile: async (id) => {
      const removed = await records.remove(id)
      // What cannot be removed now has no record any more: a later start sets it aside.
      if (removed !== null) await contents.remove(id).catch(() => {})
      return removed !== null
    },
    isIntact: async ({ id, sizeBytes }) => (await contents.sizeOf(id)) === sizeBytes,
    openContent: async ({ id }, start, length) =>
      new ContentReader(await open(contents.pathOf(id), 'r'), start, length),
    sweep,
  }
  return { store, idle: () => records.idle() }
}
