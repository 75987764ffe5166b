/** How a page or a PDF is read: what whoever wants its text sees. The bytes are a stranger's. */
import type { Cancellation } from './cancellation.js'

/** Why there is no text; goes on from "it": "is no PDF", "takes too long to read". */
export interface UnreadDocument {
  readonly readable: false
  readonly reason: string
  /** Nothing is wrong with it: too many are being read. */
  readonly isBusy?: boolean
}

interface ReadPage {
  readonly readable: true
  /** May be empty. */
  readonly title: string
  /** The article of the page, as markdown; links are absolute. */
  readonly text: string
  /** There was more text than was asked for. */
  readonly isCut: boolean
  /** As the page says it, in no certain format; null where it does not. */
  readonly publishedAt: string | null
}

interface ReadPdfPages {
  readonly readable: true
  readonly title: string
  /** Text of each page, of the first ones where it is cut. A page may have none: a scan. */
  readonly pages: readonly string[]
  /** Pages of the document. */
  readonly pageCount: number
  readonly isCut: boolean
}

/** For whom a document is read: organizations that wait have equal shares. */
export interface Reading {
  readonly organizationId: string
  readonly caller: Cancellation
}

/** Never rejects; settles within seconds of a document's turn. */
export interface DocumentReader {
  readPage(
    page: {
      readonly bytes: Uint8Array
      /** As the head of the answer says; null leaves it to the page. */
      readonly charset: string | null
      /** Where it stands, for its relative links. */
      readonly url: string
      readonly maxChars: number
    },
    reading: Reading,
  ): Promise<ReadPage | UnreadDocument>
  readPdf(
    pdf: { readonly bytes: Uint8Array; readonly maxPages: number; readonly maxChars: number },
    reading: Reading,
  ): Promise<ReadPdfPages | UnreadDocument>
}
