/** The files of a caller's workspace, and the texts that models keep in it, as tools and models have them. */
import { Fault } from '../base/fault.js'
import { type MaybePromise, mapMaybe } from '../base/maybe-promise.js'
import type { Principal } from '../base/principal.js'
import type { WorkspaceTexts } from '../gateway/tools/memory/memory.js'
import type { CreatedFile, ToolFiles } from '../gateway/tools/port/tool.js'
import type { FileListPage, FileRecord, FileStore } from '../store/file-store.js'
import type { Store } from '../store/store.js'

type FileStores = Pick<Store, 'files' | 'accounts'>

/** What each caller has. A management key has no workspace: its organization's first one is taken. */
export function workspaceFiles(stores: FileStores): (caller: Principal) => ToolFiles {
  return (caller) => filesOf(stores, caller)
}

export function workspaceTexts(stores: Pick<Store, 'memory' | 'accounts'>): WorkspaceTexts {
  const { memory } = stores
  return {
    read: (caller, work) => memory.read(workspaceOf(caller, stores) ?? '', work),
    change: (caller, work) => memory.change(workspaceOf(caller, stores) ?? '', work),
  }
}

/** The workspace a caller's files lie in; null for an organization that has none. */
export function workspaceOf(
  { organizationId, workspaceId }: Principal,
  { accounts }: Pick<Store, 'accounts'>,
): string | null {
  return workspaceId ?? accounts.workspacesOf(organizationId)[0]?.id ?? null
}

function filesOf(stores: FileStores, caller: Principal): ToolFiles {
  const { files } = stores
  const ownOf = (file: FileRecord | null): FileRecord | null =>
    file !== null && file.workspaceId === workspaceOf(caller, stores) ? file : null
  const own = (id: string): MaybePromise<FileRecord | null> => mapMaybe(files.file(id), ownOf)
  return {
    find: (id) => mapMaybe(own(id), (file) => (file === null ? null : toCreatedFile(file))),
    list: (limit) => {
      const page = { newestFirst: true, after: null, before: null, limit }
      return mapMaybe(files.filesOf(workspaceOf(caller, stores) ?? '', page), toListedFiles)
    },
    read: async (id, maxBytes) => {
      const file = await own(id)
      if (file === null || file.sizeBytes > maxBytes) return null
      const bytes = await readContent(files, file, 0, file.sizeBytes)
      return bytes === null ? null : { file: toCreatedFile(file), bytes }
    },
    readPart: async (id, offset, length) => {
      const file = await own(id)
      if (file === null) return null
      return readContent(files, file, offset, Math.max(0, Math.min(length, file.sizeBytes - offset)))
    },
    create: async (filename, bytes) => {
      const workspaceId = workspaceOf(caller, stores)
      if (workspaceId === null) throw new Fault('internal', { detail: 'an organization without a workspace' })
      const { organizationId } = caller
      const name = plainName(filename)
      const details = {
        organizationId,
        workspaceId,
        filename: name,
        origin: 'created',
        purpose: null,
      } as const
      return toCreatedFile(await files.createFile(details, bytes))
    },
    remove: async (id) => (await own(id)) !== null && files.removeFile(id),
  }
}

/** Null where the content has gone, or is not as long as its record says. */
async function readContent(
  files: FileStore,
  file: FileRecord,
  start: number,
  length: number,
): Promise<Buffer | null> {
  const reader = await files.openContent(file, start, length).catch(() => null)
  if (reader === null) return null
  const bytes = Buffer.allocUnsafeSlow(length)
  let at = 0
  try {
    for (;;) {
      const piece = await reader.read()
      if (piece.byteLength === 0) return at === bytes.length ? bytes : null
      bytes.set(piece, at)
      at += piece.byteLength
    }
  } catch {
    return null
  } finally {
    reader.close()
  }
}

const LONGEST_NAME = 255

/** Names come from models and tools: without folders and control characters, and no longer than a disk takes them. */
function plainName(filename: string): string {
  const last = filename.split(/[/\\]/).at(-1)!
  return (
    last
      .replace(/\p{Cc}/gu, '_')
      .slice(0, LONGEST_NAME)
      .toWellFormed() || 'file'
  )
}

function toListedFiles({ files }: FileListPage): readonly (CreatedFile & { readonly createdAt: number })[] {
  return files.map((file) => ({ ...toCreatedFile(file), createdAt: file.createdAt }))
}

function toCreatedFile({ id, filename, mimeType, sizeBytes }: FileRecord): CreatedFile {
  return { id, filename, mimeType, sizeBytes }
}
