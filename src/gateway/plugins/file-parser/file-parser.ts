/** `file-parser`: PDFs become text before the model sees them (contract/tools 4.2). */
import { cancellationOf } from '../../../base/cancellation.js'
import type { DocumentReader } from '../../../base/document-reader.js'
import { Fault, invalidInput } from '../../../base/fault.js'
import type { FetchFile } from '../../../base/file-fetch.js'
import type { Catalog } from '../../catalog/catalog.js'
import type { RoutedRequest } from '../../formats/canonical.js'
import type { ParsedFile } from '../../formats/tooling.js'
import type { Plugin, PluginRun, QuestionChange } from '../port/plugin.js'
import { loadFile } from './load-file.js'
import type { Ocr } from './ocr.js'
import { fileAnnotation, hashOf, type Reader, withFileAnnotations } from './parsed-files.js'
import { beginsAsPdf, type FilePart, findFiles, isCalledPdf, withTexts } from './parts.js'

const ID = 'file-parser'

type Engine = 'mistral-ocr' | 'cloudflare-ai' | 'native' | 'pdf-text'

/** Names of services: whichever is asked for, the one that is configured reads. */
const OCR_ENGINES: ReadonlySet<Engine | undefined> = new Set(['mistral-ocr', 'cloudflare-ai'])

export interface FileParserPorts {
  readonly catalog: () => Catalog
  readonly documents: DocumentReader
  readonly fetchFile: FetchFile
  /** `plugins.file-parser.ocr` of the moment; null where it says nothing. */
  readonly ocr: () => Ocr | null
  /** Most bytes of all files of a request. */
  readonly maxBytes: number
}

export function createFileParser(ports: FileParserPorts): Plugin {
  return {
    id: ID,
    prepare: ({ options }, { request }) => {
      const { engine } = (options.pdf ?? {}) as { readonly engine?: Engine }
      const ocr = OCR_ENGINES.has(engine) ? ports.ocr() : null
      if (OCR_ENGINES.has(engine) && ocr === null) {
        const refused = `${engine} is not configured: set plugins.${ID}.ocr, or take pdf-text`
        return { refused, member: ['pdf', 'engine'] }
      }
      const known = request.tooling?.parsedFiles ?? []
      return {
        before: async ({ request: asked }, run) => {
          if (engine === 'native' || (engine === undefined && readsFiles(ports.catalog(), asked)))
            return { request: asked }
          const left = { bytes: ports.maxBytes, chars: MOST_CHARS }
          return readFiles(asked, { ...ports, run, ocr: () => ocr, left }, known)
        },
      }
    },
  }
}

/** Where the request names no engine, models that read files themselves are given them. */
function readsFiles(catalog: Catalog, { model }: RoutedRequest): boolean {
  return model !== undefined && catalog.model(model)?.inputModalities.includes('file') === true
}

/** Most files that one request has read. */
const MOST_FILES = 32
/** Most that are got from elsewhere to see what they are. */
const MOST_GOT = 64
/** Most pages of one. */
const MOST_PAGES = 2_000
/** Most characters of text that all files of a request give together. */
const MOST_CHARS = 2_000_000

interface Reading extends FileParserPorts {
  readonly run: PluginRun
  /** What the files of the request have left of it. */
  readonly left: { bytes: number; chars: number }
}

/** What came of one file. */
interface ReadFile extends ParsedFile {
  /** Null where it was read before. */
  readonly pages: number | null
  /** Nano-dollars. */
  readonly cost: number
}

async function readFiles(
  request: RoutedRequest,
  reading: Reading,
  known: readonly ParsedFile[],
): Promise<QuestionChange | Fault> {
  const talk = request as RoutedRequest & { readonly messages: readonly { readonly content?: unknown }[] }
  const texts = new Map<string, string>()
  const read: ReadFile[] = []
  let got = 0
  for (const part of findFiles(talk)) {
    if (!mayBePdf(part)) continue
    if (part.data === undefined && ++got > MOST_GOT)
      return invalidInput(['body', 'messages'], `has more than ${MOST_GOT} files to be fetched`)
    if (reading.run.signal.aborted) return busy()
    const file = await readPart(part, reading, known)
    if (file instanceof Fault) return withFileAnnotations(file, read.map(fileAnnotation))
    if (file === null) continue
    if (read.length === MOST_FILES)
      return invalidInput(['body', 'messages'], `has more than ${MOST_FILES} PDFs`)
    read.push(file)
    reading.left.chars -= file.text.length
    texts.set(part.place.join(), quoted(file))
  }
  if (read.length === 0) return { request }
  const cost = read.reduce((sum, file) => sum + file.cost, 0)
  const files = read.map(({ name, hash, pages }) => ({ name, hash, pages, reused: pages === null }))
  return {
    request: withTexts(talk, texts),
    annotations: read.map(fileAnnotation),
    pipeline: {
      type: 'plugin',
      name: ID,
      summary: `${read.length} PDF${read.length === 1 ? '' : 's'} read: ${files.map(({ name }) => name).join(', ')}`,
      data: { files },
      ...(cost > 0 && { cost }),
    },
  }
}

function mayBePdf(part: FilePart): boolean {
  return part.mimeType === null || isCalledPdf(part)
}

/** Null for what is no PDF and is not called one. */
async function readPart(
  part: FilePart,
  reading: Reading,
  known: readonly ParsedFile[],
): Promise<ReadFile | Fault | null> {
  const [message, at, inner] = part.place
  const loc = ['body', 'messages', message, 'content', at, ...(inner === undefined ? [] : ['content', inner])]
  const loaded = await loadFile(part, { ...reading, maxBytes: reading.left.bytes })
  if ('problem' in loaded) return invalidInput(loc, loaded.problem)
  if ('fault' in loaded) return loaded.fault
  const { bytes, name } = loaded
  if (part.data === undefined) reading.left.bytes -= bytes.length
  if (!beginsAsPdf(bytes)) return isCalledPdf({ ...part, name }) ? invalidInput(loc, 'is no PDF') : null
  const ocr = reading.ocr()
  const reader: Reader = ocr === null ? 'text' : 'ocr'
  const hash = await hashOf(bytes, reader)
  const before = known.find((file) => file.hash === hash)
  if (before !== undefined) return { hash, name, text: before.text, pages: null, cost: 0 }
  const text = await readPdf(bytes, reading)
  if (!text.readable) return text.isBusy ? busy() : invalidInput(loc, `cannot be read: it ${text.reason}`)
  if (ocr === null) return { hash, name, text: joinPages(text), pages: text.pageCount, cost: 0 }
  if (text.pageCount > MOST_PAGES) return invalidInput(loc, `has more than ${MOST_PAGES} pages`)
  return readByService(bytes, { hash, name, pages: text.pageCount }, ocr, reading.run)
}

function readPdf(bytes: Buffer, { documents, run, left }: Reading): ReturnType<DocumentReader['readPdf']> {
  const pdf = { bytes, maxPages: MOST_PAGES, maxChars: Math.max(0, left.chars) }
  const { caller, signal } = run
  return documents.readPdf(pdf, { organizationId: caller.organizationId, caller: cancellationOf(signal) })
}

function busy(): Fault {
  return new Fault('unavailable', {
    note: 'Too many documents are being read',
    metadata: { error_type: 'server' },
    retryAfter: 1,
  })
}

/** Pays for the pages that our own reader has counted, whether the service then reads them or not (contract/tools 1.4). */
async function readByService(
  bytes: Buffer,
  file: { readonly hash: string; readonly name: string; readonly pages: number },
  ocr: Ocr,
  run: PluginRun,
): Promise<ReadFile | Fault> {
  const cost = ocr.pricePerPage * file.pages
  if (cost > 0 && !(await run.charge({ name: ID, charged: cost, units: { ocr_pages: file.pages } })))
    return new Fault('payment-required', { metadata: { error_type: 'payment_required' } })
  const outcome = await ocr.read(bytes, run)
  if (outcome.ok) return { ...file, text: joinPages({ pages: outcome.pages, isCut: false }), cost }
  const metadata = { error_type: 'provider_unavailable' } as const
  return new Fault('unavailable', {
    note: 'The OCR service did not answer',
    metadata,
    detail: outcome.reason,
  })
}

function joinPages({ pages, isCut }: { readonly pages: readonly string[]; readonly isCut: boolean }): string {
  const texts = pages.map((page) => page.trim()).filter((page) => page !== '')
  if (texts.length === 0) return isCut ? UNREAD : NO_TEXT
  return `${texts.join('\n\n')}${isCut ? '\n\n(It goes on; this is its beginning.)' : ''}`.slice(
    0,
    MOST_CHARS,
  )
}

const NO_TEXT = '(There is no text in it: it may be a scan.)'
const UNREAD = '(It was not read: the files before it are too long.)'

/** What is read stands in the place of the file, under its name. No word of it can end the file and go on as the user. */
function quoted({ name, text }: ParsedFile): string {
  return `<file name=${JSON.stringify(name)}>\n${text.replace(/<(?=\/?file\b)/gi, '&lt;')}\n</file>`
}
