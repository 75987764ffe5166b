/**
 * How records of files lie in their table.
 *
 *     'f' id                 ->  record
 *     'w' workspace, id      ->  id       lists: ids sort by time
 */
import type { FileRecord } from '../../file-store.js'

export const FILE_TABLE_NAME = 'files'

/** Ends a workspace's id, so that no id is taken for the beginning of another. */
const END = '\0'
/** Sorts behind every id: they are ASCII. */
const LAST = Buffer.of(0xff)

export function fileKey(id: string): Buffer {
  return Buffer.from(`f${id}`)
}

export function workspaceIndexPrefix(workspaceId: string): Buffer {
  return Buffer.from(`w${workspaceId}${END}`)
}

export function workspaceIndexEnd(workspaceId: string): Buffer {
  return Buffer.concat([workspaceIndexPrefix(workspaceId), LAST])
}

export function workspaceIndexKey({ workspaceId, id }: Pick<FileRecord, 'workspaceId' | 'id'>): Buffer {
  return Buffer.concat([workspaceIndexPrefix(workspaceId), Buffer.from(id)])
}
