/** Files that lie in this server. */
import { throwFault } from '../../base/fault.js'
import { type MaybePromise, mapMaybe } from '../../base/maybe-promise.js'
import type { FileRecord, FileStore } from '../../store/file-store.js'
import { downloadReply } from './download.js'
import type { FilePlace } from './place.js'
import { receiveUpload } from './upload.js'

interface KeptFilesPorts {
  readonly files: FileStore
  readonly fileBytes: number
}

/** Those of a workspace; what lies in another one is not found. */
export function keptFiles(organizationId: string, workspaceId: string, ports: KeptFilesPorts): FilePlace {
  const { files } = ports
  const find = (id: string): MaybePromise<FileRecord> =>
    mapMaybe(files.file(id), (file) =>
      file?.workspaceId === workspaceId ? file : throwFault('item-not-found'),
    )
  return {
    create: (call) => receiveUpload(call, organizationId, workspaceId, ports),
    list: (page) => files.filesOf(workspaceId, page),
    read: find,
    remove: async (id) => {
      const found = await find(id)
      if (!(await files.removeFile(found.id))) throwFault('item-not-found')
    },
    content: async (id, call) => downloadReply(await find(id), call, files),
  }
}
