/** Fields that carry or point at media: links, data URLs and base64 (contract/gateway 2.3, contract/decisions 34). */
import type { z } from 'zod'
import { stringWithRule } from '../http/fields.js'

/**
 * How many characters of the data are looked at, from the start and from the end. Media are passed on, never read
 * here: a wrong character beyond is the provider's to find, and a big picture costs no more than a small one.
 */
const CHECKED_CHARS = 4096

const HTTP_URL = /^https?:\/\/[^\s/?#]/i
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/
/** Media type and parameters of a data URL. Every part is bounded, so that nothing long is ever searched. */
const DATA_HEADER = /^data:([a-z0-9!#$&^_.+-]{1,64}\/[a-z0-9!#$&^_.+-]{1,127})((?:;[^;,\s]{1,128}){0,8})$/i
const LONGEST_HEADER = 1300

/** Non-empty standard base64, judged by its first and last characters. */
function isBase64(data: string): boolean {
  if (data.length <= CHECKED_CHARS) return data.length > 0 && data.length % 4 !== 1 && BASE64.test(data)
  const head = data.slice(0, CHECKED_CHARS)
  return BASE64.test(head) && !head.endsWith('=') && BASE64.test(data.slice(-CHECKED_CHARS))
}

interface DataUrlParts {
  readonly mediaType: string
  readonly base64: boolean
  readonly data: string
}

/** The parts of a data URL with a media type and some data (RFC 2397), or null. */
function splitDataUrl(url: string): DataUrlParts | null {
  const comma = url.slice(0, LONGEST_HEADER).indexOf(',')
  const [, mediaType, parameters] = DATA_HEADER.exec(url.slice(0, Math.max(comma, 0))) ?? []
  if (mediaType === undefined || parameters === undefined || comma + 1 === url.length) return null
  const base64 = parameters.toLowerCase().endsWith(';base64')
  return { mediaType: mediaType.toLowerCase(), base64, data: url.slice(comma + 1) }
}

/** The picture format that the first bytes belong to, for the four formats every provider takes. */
function detectPictureType(base64: string): string | null {
  const head = Buffer.from(base64.slice(0, 16), 'base64').toString('latin1')
  if (head.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png'
  if (head.startsWith('\xff\xd8\xff')) return 'image/jpeg'
  if (head.startsWith('GIF87a') || head.startsWith('GIF89a')) return 'image/gif'
  return head.startsWith('RIFF') && head.startsWith('WEBP', 8) ? 'image/webp' : null
}

const RECOGNISED = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

/** Whether the declared type contradicts the data: said to be one of the four and is not, or the reverse. */
function contradictsData({ mediaType, base64, data }: DataUrlParts): boolean {
  if (!base64 || !mediaType.startsWith('image/')) return false
  const declared = mediaType === 'image/jpg' ? 'image/jpeg' : mediaType
  const found = detectPictureType(data)
  return found === null ? RECOGNISED.has(declared) : found !== declared
}

/** An http or https link, or a data URL whose media type starts with `kind` and agrees with its data. */
export function mediaUrl(kind: 'image/' | 'video/' | ''): z.ZodType<string, string> {
  const wanted = kind === '' ? 'a data URL' : `a data URL of type ${kind}*`
  return stringWithRule((url) => {
    if (HTTP_URL.test(url)) return null
    if (!/^data:/i.test(url)) return `must be an http or https URL or ${wanted}`
    const parts = splitDataUrl(url)
    if (parts === null || (parts.base64 && !isBase64(parts.data))) return 'is a malformed data URL'
    if (!parts.mediaType.startsWith(kind)) return `must be an http or https URL or ${wanted}`
    return contradictsData(parts) ? 'has a media type that contradicts its data' : null
  })
}

/** Whether base64 data of a picture is not of the type it is said to be of. */
export function isOtherPicture(mediaType: string, data: string): boolean {
  return detectPictureType(data) !== mediaType
}

const PDF = '%PDF-'
/** Base64 of the first 1024 bytes: readers of PDF look for the mark so far. */
const PDF_HEAD = 1368

/** Whether base64 data begins as a PDF does. */
export function isPdf(data: string): boolean {
  return Buffer.from(data.slice(0, PDF_HEAD), 'base64').includes(PDF)
}

/** An http or https link. */
export const httpUrl = stringWithRule((url) => (HTTP_URL.test(url) ? null : 'must be an http or https URL'))

/** Base64 that is not empty, or a link to what is fetched for servers that take the bytes alone. */
export const base64OrUrl = stringWithRule((data) =>
  HTTP_URL.test(data) || isBase64(data) ? null : 'must be base64 and not empty, or an http or https URL',
)

/** Base64 that is not empty. */
export const base64 = stringWithRule((data) => (isBase64(data) ? null : 'must be base64 and not empty'))
