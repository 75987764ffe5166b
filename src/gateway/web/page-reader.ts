/** Reads what lies at an address: a page as markdown, a PDF as text, anything else that is text as it is. */
import { cancellationOf } from '../../base/cancellation.js'
import type { Clock } from '../../base/clock.js'
import type { DocumentReader } from '../../base/document-reader.js'
import type { FetchFile, FileFetchOutcome } from '../../base/file-fetch.js'
import type { CountTokens } from '../metering/format.js'
import { cut } from './engines/results.js'
import type { PageReader, PageWish, WebCall, WebPage } from './port.js'

interface PageReaderParts {
  /** From the public web; behind the address guard. */
  readonly fetchFile: FetchFile
  /** Pages that are only here. */
  readonly simulated: { has(url: URL): boolean; readonly fetchFile: FetchFile }
  readonly documents: DocumentReader
  readonly countTokens: CountTokens
  readonly clock: Pick<Clock, 'unixSeconds'>
  readonly isOn: boolean
  /** Most bytes of a page or PDF. */
  readonly maxBytes: number
}

interface ReadText {
  readonly title: string
  readonly text: string
  readonly isCut: boolean
  readonly pageAge: string | null
}

type Unread = { readonly ok: false; readonly error: string }

const MOST_URL = 2_048
const MOST_PDF_PAGES = 200
/** No text has more characters to a token. */
const CHARS_PER_TOKEN = 8
const MOST_CHARS = 2_000_000

export function createPageReader(parts: PageReaderParts): PageReader {
  return {
    isOn: parts.isOn,
    read: (wish, call) => unlessAborted(readPage(parts, wish, call), call.signal),
  }
}

async function readPage(parts: PageReaderParts, wish: PageWish, call: WebCall): Promise<WebPage | Unread> {
  const problem = addressProblem(wish.url)
  if (problem !== null) return { ok: false, error: problem }
  const fetched = await fetchBytes(parts, wish, call)
  return 'bytes' in fetched ? readBytes(parts, wish, call, fetched) : fetched
}

/** A fetch that waits for its turn, and a thread that reads, do not end with whoever wanted the page. */
function unlessAborted(page: Promise<WebPage | Unread>, signal: AbortSignal): Promise<WebPage | Unread> {
  return new Promise((resolve, reject) => {
    const leave = (): void => resolve({ ok: false, error: 'nobody waits for it any more' })
    if (signal.aborted) leave()
    else signal.addEventListener('abort', leave, { once: true })
    page.then(resolve, reject).finally(() => signal.removeEventListener('abort', leave))
  })
}

/** Why nothing can lie there, in words that do not repeat it. */
function addressProblem(url: string): string | null {
  if (url.length > MOST_URL) return `the address is longer than ${MOST_URL} characters`
  if (!URL.canParse(url)) return 'the address is no absolute URL'
  const { protocol, username, password } = new URL(url)
  if (protocol !== 'http:' && protocol !== 'https:') return 'only http and https addresses can be fetched'
  return username === '' && password === '' ? null : 'the address holds credentials'
}

interface FetchedBytes {
  readonly bytes: Buffer
  readonly contentType: string
  readonly url: string
}

async function fetchBytes(
  parts: PageReaderParts,
  { url, isSimulated, refusal }: PageWish,
  call: WebCall,
): Promise<FetchedBytes | Unread> {
  const { simulated, isOn, maxBytes } = parts
  const isInside = isSimulated && simulated.has(new URL(url))
  if (!isInside && !isOn)
    return {
      ok: false,
      error: 'only pages of the simulated web can be fetched: tools.web_fetch is not enabled',
    }
  const { fetchFile } = isInside ? simulated : parts
  const pieces: Buffer[] = []
  const outcome: FileFetchOutcome = await fetchFile({
    url: new URL(url).href,
    sink: { write: (piece) => void pieces.push(Buffer.from(piece)) },
    maxBytes,
    timeoutMs: Math.max(0, call.deadlineAt - performance.now()),
    organizationId: call.organizationId,
    caller: cancellationOf(call.signal),
    refusal,
  })
  if (!outcome.ok) return { ok: false, error: outcome.reason }
  return { bytes: Buffer.concat(pieces), contentType: outcome.contentType, url: outcome.url }
}

async function readBytes(
  parts: PageReaderParts,
  { maxTokens }: PageWish,
  call: WebCall,
  fetched: FetchedBytes,
): Promise<WebPage | Unread> {
  const maxChars = Math.min(MOST_CHARS, maxTokens * CHARS_PER_TOKEN)
  const retrievedAt = new Date(parts.clock.unixSeconds() * 1000).toISOString()
  const read = await textOf(parts.documents, fetched, maxChars, call)
  if (!('text' in read)) return read
  const text = await cutToTokens(parts.countTokens, read.text, maxTokens, call)
  const isCut = read.isCut || text.length < read.text.length
  return { ok: true, url: fetched.url, retrievedAt, title: read.title, text, isCut, pageAge: read.pageAge }
}

/** What the bytes are is told by the bytes first: servers say all sorts of things. */
function textOf(
  documents: DocumentReader,
  { bytes, contentType, url }: FetchedBytes,
  maxChars: number,
  call: WebCall,
): Promise<ReadText | Unread> | ReadText | Unread {
  const type = contentType.split(';', 1)[0]!.trim().toLowerCase()
  const charset = /charset\s*=\s*"?([\w:-]{1,40})/i.exec(contentType)?.[1] ?? null
  const reading = { organizationId: call.organizationId, caller: cancellationOf(call.signal) }
  const head = bytes.subarray(0, 1024).toString('latin1')
  // Some have bytes in front of it, and some pages and texts speak of it.
  if (/^\s*%PDF-/.test(head) || (head.includes('%PDF-') && !type.startsWith('text/')))
    return documents
      .readPdf({ bytes, maxPages: MOST_PDF_PAGES, maxChars }, reading)
      .then((pdf) => (pdf.readable ? pdfText(pdf) : unread(pdf.reason)))
  if (type === 'application/pdf') return unread('is called a PDF and is none')
  if (head.includes('\0') && charset === null) return unread('is neither a page nor a text nor a PDF')
  if (/html/.test(type) || /^\s*<(!doctype\s+html|html)\b/i.test(head))
    return documents
      .readPage({ bytes, charset, url, maxChars }, reading)
      .then((page) =>
        page.readable
          ? { title: page.title, text: page.text, isCut: page.isCut, pageAge: page.publishedAt }
          : unread(page.reason),
      )
  if (type !== '' && !/^text\/|json|xml|javascript|octet-stream|yaml/.test(type))
    return unread('is neither a page nor a text nor a PDF')
  const text = decode(bytes, charset)
  return { title: '', text: cut(text, maxChars), isCut: text.length > maxChars, pageAge: null }
}

function unread(reason: string): Unread {
  return { ok: false, error: `it ${reason}` }
}

function pdfText({
  title,
  pages,
  isCut,
}: {
  title: string
  pages: readonly string[]
  isCut: boolean
}): ReadText {
  return { title, text: pages.join('\n\n').trim(), isCut, pageAge: null }
}

function decode(bytes: Buffer, charset: string | null): string {
  try {
    return new TextDecoder(charset ?? 'utf-8').decode(bytes)
  } catch {
    return bytes.toString()
  }
}

async function cutToTokens(
  countTokens: CountTokens,
  text: string,
  maxTokens: number,
  { organizationId, signal }: WebCall,
): Promise<string> {
  // A token has a byte at least.
  if (Buffer.byteLength(text) <= maxTokens) return text
  const { counts } = await countTokens([text], organizationId, cancellationOf(signal))
  const [count = 0] = counts
  return count <= maxTokens ? text : cut(text, Math.floor((text.length * maxTokens) / count))
}
