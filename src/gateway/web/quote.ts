/** Words from the web, put before a question: quoted line by line under their origin, so that none can pass for ours. */

interface Quotation {
  readonly url: string
  readonly title: string
  readonly content: string
}

/** `> ` before each line, whatever it ends with. */
export function quoteSources(introduction: string, sources: readonly Quotation[]): string {
  const quoted = sources.map(
    ({ url, title, content }, at) =>
      `[${at + 1}] ${url}\n${quoteLines(title === '' ? content : `${title}\n\n${content}`)}`,
  )
  return [introduction, ...quoted].join('\n\n')
}

function quoteLines(text: string): string {
  return text
    .split(/\r\n|[\n\r\u0085\u2028\u2029\v\f]/)
    .map((line) => `> ${line}`)
    .join('\n')
}
