import { existsSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { Fault } from '../../../base/fault.js'
import type { FileRecord, FileStore, Swept } from '../../file-store.js'
import { Blocks } from '../../files/blocks.js'
import { ContentFolder } from '../../files/content-folder.js'
import { newFileId } from '../../files/file-id.js'
import { ContentReading } from '../../files/file-reading.js'
import { ContentWriting } from '../../files/file-writing.js'
import type { Environment } from '../environment.js'
import { FILE_TABLE } from './file-layout.js'
import { FileRecords } from './file-records.js'

/** The files of a store whose environment was opened with `FILE_TABLE`; contents lie in `files` beside it. */
export function openFiles(
  env: Environment,
  dataDir: string,
  unixSeconds: () => number,
): { readonly store: FileStore; readonly idle: () => Promise<void> } {
  const records = new FileRecords(env, env.byteTable(FILE_TABLE))
  const contents = new ContentFolder(dataDir)
  const blocks = new Blocks()
  const unixMs = (): number => Math.floor(unixSeconds() * 1000)

  const record = (file: FileRecord): Promise<void> =>
    records.add(file, () => existsSync(contents.placeOf(file.id)))

  const begin = async (): Promise<ContentWriting> => {
    const id = newFileId(unixMs())
    const handle = await contents.begin(id).catch((cause: unknown) => {
      throw new Fault('unavailable', { detail: 'the disk refused a file', cause })
    })
    return new ContentWriting(id, handle, { contents, blocks, record, unixMs })
  }

  /** A record cannot be added while its content is being set aside: that happens inside a transaction. */
  const sweep = async (): Promise<Swept> => {
    const incoming = await contents.clearIncoming()
    let { setAside } = incoming
    const orphans = (await contents.settled()).filter((id) => records.find(id) === null)
    if (orphans.length > 0) {
      await records.whereMissing(orphans, (id) => {
        if (contents.setAsideNow(id)) setAside++
      })
    }
    let putBack = 0
    for (const id of await contents.aside()) {
      if (records.find(id) !== null && (await contents.putBack(id))) putBack++
    }
    return { removed: incoming.removed, setAside, putBack, asideFolder: contents.asideFolder }
  }

  const store: FileStore = {
    file: (id) => records.find(id),
    filesOf: (workspaceId, page) => records.list(workspaceId, page),
    begin,
    create: async (file, content) => {
      const writing = await begin()
      try {
        await writing.write(content)
        return await writing.commit(file)
      } finally {
        await writing.abandon()
      }
    },
    remove: async (id) => {
      const removed = await records.remove(id)
      // What cannot be removed now has no record any more: a later start sets it aside.
      if (removed !== null) await contents.remove(id).catch(() => {})
      return removed !== null
    },
    intact: async ({ id, sizeBytes }) => (await contents.sizeOf(id)) === sizeBytes,
    open: async ({ id }, start, length) =>
      new ContentReading(await open(contents.placeOf(id), 'r'), start, length),
    sweep,
  }
  return { store, idle: () => records.idle() }
}
