/** Where files lie: in this server, or in the caller's account at a provider. */
import type { MaybePromise } from '../../base/maybe-promise.js'
import type { HttpCall, Reply } from '../../http/endpoint.js'
import type { FileListQuery, FileRecord } from '../../store/file-store.js'

/** What is told of a file. */
export type ToldFile = Omit<FileRecord, 'organizationId' | 'workspaceId'>

export interface ToldFilePage {
  readonly files: readonly ToldFile[]
  readonly hasMore: boolean
}

/** The files that one call is about. Fails with `item-not-found` for a file that is not among them. */
export interface FilePlace {
  /** Reads the form of an upload. */
  create(call: HttpCall): Promise<ToldFile>
  list(page: FileListQuery): MaybePromise<ToldFilePage>
  read(id: string): MaybePromise<ToldFile>
  remove(id: string): Promise<void>
  content(id: string, call: HttpCall): Promise<Reply>
}
