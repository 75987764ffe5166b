/**
 * Contents as files: `files/<two characters>/<id>`, the last two of the id, which are random. A content is written to
 * `files/incoming/<process>-<id>`, synced, renamed to its place, and the folder synced, before anything speaks of it.
 * What has no record lies in `files/set-aside`: in the same file system, so that a rename takes it there.
 */
import { existsSync, mkdirSync, readdirSync, renameSync } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { newGenerationId } from '../../base/ids.js'
import { isProcessAlive, ownProcessIdentity } from '../../base/process-identity.js'
import { openNewFile } from './block-writer.js'

const FILES = 'files'
const INCOMING = 'incoming'
const SET_ASIDE = 'set-aside'
const INCOMING_NAME = /^(\d+\.\d+)-(file_[0-9a-z]{26})$/

/** Process numbers come again, after a restart of the machine say; no upload takes this long. */
const STALE_AFTER_MS = 60 * 60 * 1000

const FILE_ID = /^file_[0-9a-hjkmnp-tv-z]{26}$/

/** A new id: 10 characters of time and 16 random ones, so that ids sort by time. */
export function newFileId(unixMs: number): string {
  return `file_${newGenerationId(unixMs).slice('gen-'.length)}`
}

/** Whether a text can be an id of ours. Nothing else may become part of a path. */
export function isFileId(text: string): boolean {
  return FILE_ID.test(text)
}

/** Whether contents of files lie in the folder of a store. */
export function hasStoredContents(dataDir: string): boolean {
  const root = join(dataDir, FILES)
  if (!existsSync(root)) return false
  const folders = readdirSync(root, { withFileTypes: true }).filter(
    (entry) => entry.isDirectory() && entry.name.length === 2,
  )
  return folders.some(({ name }) => readdirSync(join(root, name)).some(isFileId))
}

export class ContentFolder {
  readonly #root: string

  /** `dataDir`: the folder of the store. */
  constructor(dataDir: string) {
    this.#root = join(dataDir, FILES)
  }

  /** Where contents go that have no record. */
  get asideFolder(): string {
    return join(this.#root, SET_ASIDE)
  }

  /** Where a content lies. Only for ids of ours. */
  pathOf(id: string): string {
    if (!isFileId(id)) throw new TypeError('not the id of a file')
    return join(this.#folderOf(id), id)
  }

  /** Creates the file that a new content is written to, for this process. */
  createIncoming(id: string): Promise<FileHandle> {
    return openNewFile(join(this.#root, INCOMING), incomingName(id), 'wx')
  }

  /** Moves a new content that is on the disk to its place; resolves when its name is on the disk too. */
  async publish(id: string): Promise<void> {
    const folder = this.#folderOf(id)
    const made = await mkdir(folder, { recursive: true })
    await rename(this.#incomingPath(id), join(folder, id))
    await syncFolder(folder)
    if (made !== undefined) await syncFolder(this.#root)
  }

  async discardIncoming(id: string): Promise<void> {
    await rm(this.#incomingPath(id), { force: true })
  }

  async remove(id: string): Promise<void> {
    await rm(this.pathOf(id), { force: true })
  }

  /**
   * Takes a content out of its place without losing a byte; false when it has gone. For the inside of a
   * transaction.
   */
  setAside(id: string): boolean {
    return this.#moveAside(this.pathOf(id), id)
  }

  /** Ids of the contents that were set aside. */
  async idsSetAside(): Promise<string[]> {
    return (await listFolder(this.asideFolder)).filter(isFileId)
  }

  /** Puts a content that was set aside back in its place, unless one lies there; false when nothing was moved. */
  async putBack(id: string): Promise<boolean> {
    if ((await this.sizeOf(id)) >= 0) return false
    await mkdir(this.#folderOf(id), { recursive: true })
    await rename(join(this.asideFolder, id), this.pathOf(id))
    return true
  }

  /** Bytes of a content; -1 when there is none. */
  async sizeOf(id: string): Promise<number> {
    const found = await stat(this.pathOf(id)).catch(() => null)
    return found?.size ?? -1
  }

  /** Ids of all contents that have a place. */
  async publishedIds(): Promise<string[]> {
    const ids: string[] = []
    for (const folder of await listFolder(this.#root)) {
      if (folder.length === 2) ids.push(...(await listFolder(join(this.#root, folder))).filter(isFileId))
    }
    return ids
  }

  /**
   * Removes what processes that have gone left unfinished: the names say that these never became a content. Files of
   * other names are none of ours, so they are set aside.
   */
  async clearIncoming(): Promise<{ readonly removed: number; readonly setAside: number }> {
    let removed = 0
    let setAside = 0
    for (const name of await listFolder(join(this.#root, INCOMING))) {
      const path = join(this.#root, INCOMING, name)
      const process = INCOMING_NAME.exec(name)?.[1]
      if (process === undefined) {
        if (this.#moveAside(path, name)) setAside++
      } else if (!isProcessAlive(process) || !(await isRecentlyWritten(path))) {
        await rm(path, { force: true })
        removed++
      }
    }
    return { removed, setAside }
  }

  /** Never over another: a name that is taken gets a number. */
  #moveAside(path: string, name: string): boolean {
    mkdirSync(this.asideFolder, { recursive: true })
    for (let n = 0; ; n++) {
      const target = join(this.asideFolder, n === 0 ? name : `${name}.${n}`)
      if (existsSync(target)) continue
      try {
        renameSync(path, target)
        return true
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
        throw error
      }
    }
  }

  #folderOf(id: string): string {
    return join(this.#root, id.slice(-2))
  }

  #incomingPath(id: string): string {
    return join(this.#root, INCOMING, incomingName(id))
  }
}

function incomingName(id: string): string {
  return `${ownProcessIdentity()}-${id}`
}

/** Without this a rename may be lost in a power failure although the file itself was synced. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

function listFolder(path: string): Promise<string[]> {
  return readdir(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
}

/** What has gone meanwhile counts as fresh: there is nothing to remove. */
async function isRecentlyWritten(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => null)
  return found === null || Date.now() - found.mtimeMs < STALE_AFTER_MS
}
