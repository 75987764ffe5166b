/** The PDFs of a request of either format, and how something else is put in their place. */
import { asObject, type JsonObject } from '../../formats/json-values.js'

/** Where a part stands: the message, the part, and the part within it where it stands in a result of a tool. */
type PartPlace = readonly [message: number, part: number, inner?: number]

/** A file as a request names it; one of `data`, `url` and `id` is there. */
export interface FilePart {
  readonly place: PartPlace
  /** A data URL, or base64. */
  readonly data?: string
  readonly url?: string
  readonly id?: string
  /** `''` where the request has none. */
  readonly name: string
  /** As the request says; null where it does not. */
  readonly mimeType: string | null
}

interface Talk {
  readonly messages: readonly { readonly content?: unknown }[]
}

/** All files, in order. */
export function findFiles({ messages }: Talk): readonly FilePart[] {
  const found: FilePart[] = []
  messages.forEach(({ content }, message) => {
    forEachPart(content, (part, at) => {
      const file = asFile(part, [message, at])
      if (file !== null) found.push(file)
      if (part.type !== 'tool_result') return
      forEachPart(part.content, (inner, within) => {
        const nested = asFile(inner, [message, at, within])
        if (nested !== null) found.push(nested)
      })
    })
  })
  return found
}

function forEachPart(content: unknown, take: (part: JsonObject, at: number) => void): void {
  if (!Array.isArray(content)) return
  content.forEach((part: unknown, at) => {
    const block = asObject(part)
    if (block !== null) take(block, at)
  })
}

function asFile(part: JsonObject, place: PartPlace): FilePart | null {
  if (part.type === 'file') return chatFile(asObject(part.file) ?? {}, place)
  if (part.type !== 'document') return null
  const { type, data, url, file_id: id, media_type: mimeType } = asObject(part.source) ?? {}
  const said = { place, name: text(part.title) ?? '', mimeType: text(mimeType) ?? null }
  if (type === 'base64' && typeof data === 'string') return { ...said, data }
  if (type === 'url' && typeof url === 'string') return { ...said, url, name: said.name || nameOf(url) }
  return type === 'file' && typeof id === 'string' ? { ...said, id } : null
}

function chatFile({ file_data: data, file_id: id, filename }: JsonObject, place: PartPlace): FilePart | null {
  const name = text(filename) ?? ''
  if (typeof id === 'string') return { place, id, name, mimeType: null }
  if (typeof data !== 'string') return null
  if (/^https?:/i.test(data)) return { place, url: data, name: name || nameOf(data), mimeType: null }
  return { place, data, name, mimeType: /^data:([^;,]*)/i.exec(data)?.[1]?.toLowerCase() ?? null }
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

function nameOf(url: string): string {
  return URL.canParse(url) ? (new URL(url).pathname.split('/').at(-1) ?? '') : ''
}

/** Whether the request says that it is a PDF. */
export function isCalledPdf({ mimeType, name }: FilePart): boolean {
  return mimeType === 'application/pdf' || /\.pdf$/i.test(name)
}

/** The bytes of a part that has them with it; null where they are no base64. */
export function bytesOf(data: string): Buffer | null {
  const base64 = /^data:/i.test(data) ? data.slice(data.indexOf(',') + 1) : data
  const bytes = Buffer.from(base64, 'base64')
  return bytes.length === 0 ? null : bytes
}

const SIGNATURE = '%PDF-'
/** Readers take a PDF that has something in front of it. */
const SIGNATURE_WITHIN = 1_024

export function beginsAsPdf(bytes: Buffer): boolean {
  return bytes.subarray(0, SIGNATURE_WITHIN).includes(SIGNATURE)
}

/** The request with texts in the place of the parts at `texts`. */
export function withTexts<R extends Talk>(request: R, texts: ReadonlyMap<string, string>): R {
  const replace = (part: unknown, ...place: PartPlace): unknown => {
    const read = texts.get(place.join())
    if (read !== undefined) return { type: 'text', text: read }
    const block = asObject(part)
    if (block?.type !== 'tool_result' || !Array.isArray(block.content)) return part
    const inner = block.content.map((each: unknown, at) => {
      const text = texts.get([...place, at].join())
      return text === undefined ? each : { type: 'text', text }
    })
    return { ...block, content: inner }
  }
  const messages = request.messages.map((message, at) =>
    Array.isArray(message.content)
      ? { ...message, content: message.content.map((part: unknown, index) => replace(part, at, index)) }
      : message,
  )
  return { ...request, messages }
}
