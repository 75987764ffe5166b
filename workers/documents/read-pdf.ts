/** A PDF to the text of its pages. The file is a stranger's: pages, characters and what it unpacks to have bounds. */
import { definePDFJSModule, getDocumentProxy } from 'unpdf'
import type { ReadPdf, TaskInput, TaskOutcome, UnreadableDocument } from '../tasks.js'
import { boundBuffers, resetBufferBudget } from './bounded-buffers.js'
import { boundedTitle, cutText } from './bounded-text.js'

boundBuffers()
// Of a broken file the library leaves promises without an owner. What went wrong is told by those that it hands out; the
// others would end the thread, and with it a document that is not broken.
process.on('unhandledRejection', () => {})
// Loaded before the first job: a thread may be ended while it works on one, and must not be amid loading then.
await definePDFJSModule(() => import('unpdf/pdfjs'))

type PdfDocument = Awaited<ReturnType<typeof getDocumentProxy>>

/** Errors only to whoever called: the library writes warnings about each oddity of a file to the console. */
const QUIET = 0

export async function readPdf({
  bytes,
  maxPages,
  maxChars,
}: TaskInput<'read-pdf'>): Promise<TaskOutcome<'read-pdf'>> {
  resetBufferBudget()
  const document = await openPdf(bytes)
  if ('readable' in document) return { ok: true, value: document }
  try {
    return { ok: true, value: await pagesOf(document, maxPages, maxChars) }
  } finally {
    await document.loadingTask.destroy()
    // The other tasks of the thread are not bounded by what a PDF has taken.
    resetBufferBudget()
  }
}

async function openPdf(bytes: Uint8Array): Promise<PdfDocument | UnreadableDocument> {
  try {
    return await getDocumentProxy(bytes, {
      verbosity: QUIET,
      useSystemFonts: false,
      stopAtErrors: false,
    })
  } catch (error) {
    const isLocked = error instanceof Error && error.name === 'PasswordException'
    return { readable: false, reason: isLocked ? 'is a PDF with a password' : 'is no PDF' }
  }
}

async function pagesOf(document: PdfDocument, maxPages: number, maxChars: number): Promise<ReadPdf> {
  const pages: string[] = []
  let left = maxChars
  const last = Math.min(document.numPages, maxPages)
  let isCut = document.numPages > last
  for (let number = 1; number <= last && left > 0; number++) {
    const text = await pageText(document, number)
    isCut ||= text.length > left
    pages.push(cutText(text, left))
    left -= text.length
  }
  isCut ||= pages.length < last
  return { readable: true, title: await titleOf(document), pages, pageCount: document.numPages, isCut }
}

/** Empty where the page is broken: the others may be whole. */
async function pageText(document: PdfDocument, number: number): Promise<string> {
  try {
    const page = await document.getPage(number)
    const { items } = await page.getTextContent()
    page.cleanup()
    let text = ''
    for (const item of items) if ('str' in item) text += item.hasEOL ? `${item.str}\n` : item.str
    return text.trim()
  } catch {
    return ''
  }
}

async function titleOf(document: PdfDocument): Promise<string> {
  try {
    const { info } = await document.getMetadata()
    return boundedTitle((info as { readonly Title?: unknown }).Title)
  } catch {
    return ''
  }
}
