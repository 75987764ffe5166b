/** The blocks of a Markdown page that a reader can run, as a reader takes them: commands, programs, configurations. */

/** A command, and what the page shows of its output; `''` where it shows nothing. */
interface PageCommand {
  readonly line: number
  readonly command: string
  readonly printed: string
}

export interface PageBlock {
  /** Of its fence, the first being 1. */
  readonly line: number
  readonly language: string
  readonly text: string
  /** Why it is not run, as the page says in a comment right before it; null when it is. */
  readonly reason: string | null
  /** The file that the sentence before it says it is; null when it says none. */
  readonly file: string | null
}

const FENCE = /^ *```(\w*) *$/
const NOT_RUN = /^ *<!-- not run: (.+) -->$/
const FILE = /in a file `([\w.-]+)`/

/** All fenced blocks of a page. */
export function blocksOf(page: string): PageBlock[] {
  const lines = page.split('\n')
  const blocks: PageBlock[] = []
  for (let at = 0; at < lines.length; at++) {
    const [, language] = FENCE.exec(lines[at]!) ?? []
    if (language === undefined) continue
    const end = lines.findIndex((line, index) => index > at && FENCE.exec(line)?.[1] === '')
    const before = lines.slice(Math.max(0, at - 2), at)
    blocks.push({
      line: at + 1,
      language,
      text: lines.slice(at + 1, end).join('\n'),
      reason: NOT_RUN.exec(before.at(-1) ?? '')?.[1] ?? null,
      file: FILE.exec(before.join(' '))?.[1] ?? null,
    })
    at = end
  }
  return blocks
}

/** The commands of a block: behind `$ ` where the block shows what they print, otherwise all there is. */
export function commandsOf({ language, line, text }: PageBlock): PageCommand[] {
  if (language === 'sh') return [{ line: line + 1, command: text, printed: '' }]
  const commands: { line: number; command: string; printed: string }[] = []
  for (const [at, row] of text.split('\n').entries()) {
    const last = commands.at(-1)
    if (row.startsWith('$ ')) commands.push({ line: line + 1 + at, command: row.slice(2), printed: '' })
    else if (last === undefined) throw new Error(`line ${line + 1 + at} stands before the first command`)
    else if (last.printed === '' && isOpen(last.command)) last.command += `\n${row}`
    else last.printed += `${row}\n`
  }
  return commands
}

/** Whether a command goes on in the next line. */
function isOpen(command: string): boolean {
  return command.endsWith('\\') || (command.match(/'/g) ?? []).length % 2 === 1
}

/** Whether a page shows that a command is refused. */
export function isShownRefused(printed: string): boolean {
  return /^HTTP\/1\.1 [45]|^\{"(?:error|detail)":|^\{"type":"error"|would be refused/m.test(printed)
}

const FIELD = /"(\w+)":"([^"\n…]{8,})/g

/**
 * What stands in the page for something that is different each time (ids, keys, tokens), with what it is this time:
 * fields of the same name are taken to be the same, in their order.
 */
export function idsPrinted(printed: string, actual: string): [string, string][] {
  const found = new Map<string, string[]>()
  for (const [, name = '', value = ''] of actual.matchAll(FIELD))
    found.set(name, [...(found.get(name) ?? []), value])
  const pairs: [string, string][] = []
  for (const [, name = '', value = ''] of printed.matchAll(FIELD)) {
    const now = found.get(name)?.shift()
    if (now !== undefined && now !== value && /\d/.test(value)) pairs.push([value, now])
  }
  return pairs
}
