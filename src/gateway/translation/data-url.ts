/** Data URLs (RFC 2397): how chat carries media, and what the messages format takes apart. */

const LONGEST_HEADER = 1300

interface EmbeddedMedia {
  /** Lower case, without parameters. */
  readonly mediaType: string
  /** Base64. */
  readonly data: string
}

/** The media in a data URL; null for any other URL. */
export function parseDataUrl(url: string): EmbeddedMedia | null {
  if (!/^data:/i.test(url.slice(0, 5))) return null
  const comma = url.slice(0, LONGEST_HEADER).indexOf(',')
  if (comma < 0) return null
  const header = url.slice(5, comma).toLowerCase()
  const mediaType = header.split(';', 1)[0] || 'text/plain'
  const data = url.slice(comma + 1)
  return { mediaType, data: header.endsWith(';base64') ? data : encodeBase64(data) }
}

function encodeBase64(text: string): string {
  try {
    return Buffer.from(decodeURIComponent(text)).toString('base64')
  } catch {
    // A percent sign that begins no escape stands for itself.
    return Buffer.from(text).toString('base64')
  }
}

export function formatDataUrl({ mediaType, data }: EmbeddedMedia): string {
  return `data:${mediaType};base64,${data}`
}
