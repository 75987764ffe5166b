/** Versions of records, as the headers ETag and If-Match tell them (RFC 9110, 8.8.3 and 13.1.1). */
import { createHash } from 'node:crypto'

/** The strong tag of what is shown of a record: the same on every machine, another one when anything of it changes. */
export function entityTagOf(shown: object): string {
  return `"${createHash('sha256').update(JSON.stringify(shown)).digest('base64url').slice(0, 22)}"`
}

const TAGS = /^\s*(?:(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"\s*(?:,\s*|$))+$/
const TAG = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g

/**
 * Whether a change that is meant for the versions of an If-Match may be made to the one of this tag. Without the header
 * it may; `*` means any version, a weak tag none, and so does what is no list of tags.
 */
export function ifMatchAllows(header: string, tag: string): boolean {
  if (header === '' || header.trim() === '*') return true
  return TAGS.test(header) && (header.match(TAG)?.includes(tag) ?? false)
}
