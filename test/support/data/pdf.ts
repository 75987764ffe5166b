/** Small PDFs, made by hand. */
import { deflateSync } from 'node:zlib'

/** A PDF with these texts, one to a page; a newline begins another line. */
export function pdfOf(...pages: string[]): Buffer {
  return pdfWithContents(pages.map(textOperators))
}

function textOperators(text: string): Buffer {
  const lines = text.split('\n').map((line) => `(${line.replace(/[()\\]/g, '\\$&')}) Tj 0 -14 Td`)
  return Buffer.from(`BT /F1 12 Tf 72 700 Td ${lines.join(' ')} ET`)
}

/** One page that says "end" after so many bytes of blanks. */
export function pdfBomb(bytes: number): Buffer {
  return pdfWithContents(
    [deflateSync(Buffer.concat([Buffer.alloc(bytes, 0x20), textOperators('end')]))],
    '/Filter/FlateDecode',
  )
}

function pdfWithContents(contents: readonly Buffer[], filter = ''): Buffer {
  const kids = contents.map((_, at) => `${10 + 2 * at} 0 R`).join(' ')
  const pieces: Uint8Array[] = [
    Buffer.from(
      `%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[${kids}]/Count ${contents.length}>>endobj\n3 0 obj<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>endobj\n4 0 obj<</Title(A small report)>>endobj\n`,
    ),
  ]
  for (const [at, content] of contents.entries()) {
    const number = 10 + 2 * at
    pieces.push(
      Buffer.from(
        `${number} 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents ${number + 1} 0 R/Resources<</Font<</F1 3 0 R>>>>>>endobj\n${number + 1} 0 obj<</Length ${content.length}${filter}>>stream\n`,
      ),
      content,
      Buffer.from('\nendstream endobj\n'),
    )
  }
  return Buffer.concat([...pieces, Buffer.from('trailer<</Root 1 0 R/Info 4 0 R>>')])
}
