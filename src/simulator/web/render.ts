/** Pages of the simulated web as the bytes that a server would send. */
import type { SimulatedPage } from './pages.js'

interface RenderedPage {
  readonly contentType: string
  readonly bytes: Buffer
}

export function render(page: SimulatedPage, titleOf: (url: string) => string): RenderedPage {
  if (page.kind === 'pdf') return { contentType: 'application/pdf', bytes: pdf(page) }
  return { contentType: 'text/html; charset=utf-8', bytes: Buffer.from(html(page, titleOf)) }
}

function html({ title, published, paragraphs, links = [] }: SimulatedPage, titleOf: (url: string) => string) {
  const items = links.map((url) => `<li><a href="${url}">${escaped(titleOf(url))}</a></li>`)
  const more = items.length === 0 ? '' : `<h2>See also</h2>\n<ul>${items.join('')}</ul>`
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>${escaped(title)}</title>
<meta property="article:published_time" content="${published}"></head>
<body><nav><a href="/">Home</a> <a href="/about">About</a></nav>
<main><article><h1>${escaped(title)}</h1>
${paragraphs.map((text) => `<p>${escaped(text)}</p>`).join('\n')}
${more}</article></main>
<footer>A page of the simulated web.</footer></body></html>`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

const LINE_CHARS = 84

/** One page to a paragraph, in the font that every reader has. */
function pdf({ title, paragraphs }: SimulatedPage): Buffer {
  const objects = new Map<number, string>([
    [1, '<</Type/Catalog/Pages 2 0 R>>'],
    [3, '<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>'],
    [4, `<</Title${literal(title)}>>`],
  ])
  const kids = paragraphs.map((text, at) => {
    const content = pdfText(at === 0 ? [title, '', ...wrapped(text)] : wrapped(text))
    const number = 5 + 2 * at
    objects.set(
      number,
      `<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents ${number + 1} 0 R/Resources<</Font<</F1 3 0 R>>>>>>`,
    )
    objects.set(number + 1, `<</Length ${content.length}>>\nstream\n${content}\nendstream`)
    return `${number} 0 R`
  })
  objects.set(2, `<</Type/Pages/Kids[${kids.join(' ')}]/Count ${kids.length}>>`)
  return pdfFile(objects)
}

function pdfText(lines: readonly string[]): string {
  return `BT /F1 11 Tf 60 770 Td 15 TL ${lines.map((line) => `${literal(line)} Tj T*`).join(' ')} ET`
}

function literal(text: string): string {
  return `(${text.replace(/[()\\]/g, '\\$&')})`
}

function wrapped(text: string): readonly string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + word.length >= LINE_CHARS) {
      lines.push(`${line} `)
      line = ''
    }
    line = line === '' ? word : `${line} ${word}`
  }
  return [...lines, line]
}

function pdfFile(objects: ReadonlyMap<number, string>): Buffer {
  let file = '%PDF-1.4\n'
  const offsets: string[] = []
  for (const number of [...objects.keys()].sort((one, other) => one - other)) {
    offsets.push(`${String(file.length).padStart(10, '0')} 00000 n \n`)
    file += `${number} 0 obj\n${objects.get(number)}\nendobj\n`
  }
  const size = objects.size + 1
  const table = `xref\n0 ${size}\n0000000000 65535 f \n${offsets.join('')}`
  return Buffer.from(
    `${file}${table}trailer\n<</Size ${size}/Root 1 0 R/Info 4 0 R>>\nstartxref\n${file.length}\n%%EOF`,
    'latin1',
  )
}
