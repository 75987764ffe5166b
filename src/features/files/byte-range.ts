/** Range requests (RFC 9110 sections 13.1.5 and 14.2). */

export interface ByteRange {
  readonly start: number
  readonly length: number
}

/** One range of bytes; several at once are answered with everything, which the RFC allows. */
const SINGLE_RANGE = /^bytes=(?:(\d{1,15})-(\d{1,15})?|-(\d{1,15}))$/

/** What of `size` bytes is asked for; `all` when the field is absent or cannot be read; `none` when it lies outside. */
export function parseByteRange(field: string, size: number): ByteRange | 'all' | 'none' {
  const match = SINGLE_RANGE.exec(field)
  if (match === null) return 'all'
  const [, first, last, suffix] = match
  if (suffix !== undefined) {
    const length = Math.min(Number(suffix), size)
    return length === 0 ? 'none' : { start: size - length, length }
  }
  const start = Number(first)
  const end = last === undefined ? size - 1 : Math.min(Number(last), size - 1)
  if (last !== undefined && Number(last) < start) return 'all'
  return start >= size ? 'none' : { start, length: end - start + 1 }
}

/** Whether a range counts under its condition: the same strong tag, or exactly the same time. Without one it does. */
export function rangeApplies(ifRange: string, etag: string, lastModified: string): boolean {
  return ifRange === '' || ifRange === etag || ifRange === lastModified
}

/** Whether `If-None-Match` names the tag; weak tags count as well (section 13.1.2). */
export function matchesEtag(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch.trim() === '*') return true
  return ifNoneMatch.split(',').some((each) => each.trim().replace(/^W\//, '') === etag)
}
