/**
 * The port of the files: records of what was uploaded or made here, and their contents. A content is written once,
 * before its record, and never changed; times are Unix milliseconds.
 */
import type { MaybePromise } from '../base/maybe-promise.js'

/** Who put it there. Only what the server made may be downloaded (contract/gateway 8.1). */
type FileOrigin = 'uploaded' | 'created'

export interface FileRecord {
  /** `file_` and 26 characters that sort by time. */
  readonly id: string
  readonly organizationId: string
  readonly workspaceId: string
  readonly filename: string
  /** Told by the content, not by who sent it. */
  readonly mimeType: string
  readonly sizeBytes: number
  readonly origin: FileOrigin
  /** What the caller said it is for; null when nothing. */
  readonly purpose: string | null
  readonly createdAt: number
}

/** What is known of a file before its bytes. */
export type NewFileDetails = Pick<
  FileRecord,
  'organizationId' | 'workspaceId' | 'filename' | 'origin' | 'purpose'
>

/** A file on its way to the disk; no reader sees it before `commit` has resolved. */
export interface FileWriter {
  /**
   * Takes bytes, in order; they are borrowed for the call. While a promise is open nothing more should be written. It
   * rejects with `unavailable` when the disk cannot take them.
   */
  write(piece: Uint8Array): void | Promise<void>
  /**
   * Puts content and record on the disk, in this order. Fails with `unavailable` when the store cannot take it, with
   * `forbidden` when the organization has no room for it.
   */
  commit(file: NewFileDetails): Promise<FileRecord>
  /** Removes what was written. Harmless after `commit`, and while a `write` is under way. */
  abandon(): Promise<void>
}

/** A page of a list. `after` and `before` are ids that need not exist. */
export interface FileListQuery {
  readonly newestFirst: boolean
  /** Entries that follow this id in the order of the list. */
  readonly after: string | null
  /** Entries that stand before this id, the nearest ones; not together with `after`. */
  readonly before: string | null
  readonly limit: number
}

export interface FileListPage {
  readonly files: readonly FileRecord[]
  /** Whether there are more in the direction that was asked for. */
  readonly hasMore: boolean
}

/** The bytes of a stored file, piece by piece. */
export interface FileReader {
  /** The next piece, at most 512 KiB; empty at the end. Good until the next `read` or the `close`. */
  read(): Promise<Uint8Array>
  close(): void
}

/** What a sweep has done, in files. */
interface SweepResult {
  /** Unfinished uploads of processes that have gone. */
  readonly removed: number
  /** Contents without a record; they lie in `asideFolder` now. */
  readonly setAside: number
  /** Contents that had been set aside and have their record again. */
  readonly putBack: number
  readonly asideFolder: string
}

/** Reads of records see every change that was acknowledged before, by any process; records are frozen. */
export interface FileStore {
  /** Null for what is no id as well. */
  file(id: string): MaybePromise<FileRecord | null>
  filesOf(workspaceId: string, page: FileListQuery): MaybePromise<FileListPage>
  /** Fails with `forbidden` when the organization has as many files, or bytes in them, as it may have. */
  requireRoom(organizationId: string): MaybePromise<void>
  /** Begins a file of that organization. Whether there is room for its bytes is asked as they come. */
  beginFile(organizationId: string): FileWriter
  /** Stores bytes that are at hand: for files that the server makes. */
  createFile(file: NewFileDetails, content: Uint8Array): Promise<FileRecord>
  /** Record first, then content; a reading under way goes on. True when this call removed it. */
  removeFile(id: string): Promise<boolean>
  /** Whether the content is where it should be, with the size it should have. */
  isIntact(file: FileRecord): Promise<boolean>
  /** Opens `length` bytes of a content from `start` on. */
  openContent(file: FileRecord, start: number, length: number): Promise<FileReader>
  /**
   * Brings contents and records together after a crash, or after the database was lost or replaced. Only what never
   * became a content is removed; a content without a record is set aside, and put back once its record is there again.
   */
  sweep(): Promise<SweepResult>
}
