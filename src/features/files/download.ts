/** The content of a file as an answer. */
import { Fault } from '../../base/fault.js'
import type { HttpCall, Reply } from '../../http/endpoint.js'
import { jsonReply } from '../../http/reply.js'
import type { FileRecord, FileStore } from '../../store/file-store.js'

/** Headers a download looks at. */
export const DOWNLOAD_HEADERS = ['range', 'if-range', 'if-none-match'] as const

/** Public clients insist on it for every content (contract/gateway 8.1). */
const MEDIA_TYPE = 'application/octet-stream'
const NOT_DOWNLOADABLE = new Fault('bad-request', {
  note: 'Only files that the server has made can be downloaded',
})
const UNSATISFIABLE = { error: { code: 416, message: 'Range not satisfiable' } }

/** Fails when the file was uploaded, and with `internal` when its content is not what the record says. */
export async function downloadReply(file: FileRecord, call: HttpCall, files: FileStore): Promise<Reply> {
  if (file.origin !== 'created') throw NOT_DOWNLOADABLE
  // A content never changes, so its id is as good a tag as a hash, and costs no upload anything.
  const etag = `"${file.id}"`
  const lastModified = new Date(file.createdAt).toUTCString()
  const validators = [['ETag', etag] as const, ['Last-Modified', lastModified] as const]
  const ifNoneMatch = call.header('if-none-match')
  if (ifNoneMatch !== '' && matchesEtag(ifNoneMatch, etag))
    return { status: 304, headers: validators, body: null }
  if (!(await files.isIntact(file)))
    throw new Fault('internal', { detail: 'the content of a file is not there' })
  const asked = rangeApplies(call.header('if-range'), etag, lastModified) ? call.header('range') : ''
  const range = parseByteRange(asked, file.sizeBytes)
  if (range === 'none') return jsonReply(416, UNSATISFIABLE, [['Content-Range', `bytes */${file.sizeBytes}`]])
  const { start, length } = range === 'all' ? { start: 0, length: file.sizeBytes } : range
  return {
    status: range === 'all' ? 200 : 206,
    headers: [
      ['Content-Type', MEDIA_TYPE],
      ['Content-Disposition', contentDisposition(file.filename)],
      // A browser must not guess what the bytes are.
      ['X-Content-Type-Options', 'nosniff'],
      ['Cache-Control', 'private, no-cache'],
      ['Accept-Ranges', 'bytes'],
      ...validators,
      ...(range === 'all' ? [] : [contentRange(range, file.sizeBytes)]),
    ],
    body: { size: length, open: () => files.openContent(file, start, length) },
  }
}

function contentRange({ start, length }: ByteRange, size: number): readonly [string, string] {
  return ['Content-Range', `bytes ${start}-${start + length - 1}/${size}`]
}

/** The name as a saved file (RFC 6266), in both forms. Characters that could end the quoted one are replaced. */
function contentDisposition(filename: string): string {
  const plain = filename.replace(/[^ !#-[\]-~]/gu, '_')
  const encoded = encodeURIComponent(filename.toWellFormed()).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`
}

// ── Range requests (RFC 9110 sections 13.1.5 and 14.2) ───────────────────────

interface ByteRange {
  readonly start: number
  readonly length: number
}

/** One range of bytes; several at once are answered with everything, which the RFC allows. */
const SINGLE_RANGE = /^bytes=(?:(\d{1,15})-(\d{1,15})?|-(\d{1,15}))$/

/** What of `size` bytes is asked for; `all` when the field is absent or cannot be read; `none` when it lies outside. */
function parseByteRange(field: string, size: number): ByteRange | 'all' | 'none' {
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
function rangeApplies(ifRange: string, etag: string, lastModified: string): boolean {
  return ifRange === '' || ifRange === etag || ifRange === lastModified
}

/** Whether `If-None-Match` names the tag; weak tags count as well (section 13.1.2). */
function matchesEtag(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch.trim() === '*') return true
  return ifNoneMatch.split(',').some((each) => each.trim().replace(/^W\//, '') === etag)
}
