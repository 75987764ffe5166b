import { newGenerationId } from '../../base/ids.js'

const PREFIX = 'file_'
const FILE_ID = /^file_[0-9a-hjkmnp-tv-z]{26}$/

/** A new id: 10 characters of time and 16 random ones, so that ids sort by time. */
export function newFileId(unixMs: number): string {
  return PREFIX + newGenerationId(unixMs).slice('gen-'.length)
}

/** Whether a text can be an id of ours. Nothing else may become part of a path. */
export function isFileId(text: string): boolean {
  return FILE_ID.test(text)
}
