/**
 * Citations of the contract, found and followed. A citation is the name of a page behind `contract` and a slash, then
 * a number; further numbers of the page follow with commas, `and` or `to`. What looks like one and is written
 * otherwise is told as well, because nobody would find it by searching.
 */

/** Texts by path. */
export type Texts = Readonly<Record<string, string>>

/** Numbers of the headings of each page, by its name. */
export type Pages = ReadonlyMap<string, ReadonlySet<string>>

const HEADING = /^#{2,4} (\d+(?:\.\d+)?)\.? \S/gm

/** The numbers that a page gives to its headings. Throws for one that is given twice. */
export function numbersOf(page: string): ReadonlySet<string> {
  const numbers = new Set<string>()
  for (const [, number = ''] of page.matchAll(HEADING)) {
    if (numbers.has(number)) throw new Error(`the number ${number} is given twice`)
    numbers.add(number)
  }
  return numbers
}

/** Blanks, and the end of a line with the mark of a comment or a quotation on the next. */
const GAP = String.raw`(?:[ \t]|\r?\n[ \t]*(?:\*(?!\/)|\/\/|>|#)?)+`
const NUMBER = String.raw`\d+(?:\.\d+)?`
/** A path goes on behind the name of the page; a citation does not. */
const CITED = /(?<![\w/.-])contract\/([a-z][\w-]*)(?![\w-]|\.[a-z]|\/)/gi
const NUMBERS = new RegExp(
  `${GAP}(${NUMBER}(?:(?:,|${GAP})(?:${GAP})?(?:(?:and|to|or)${GAP})?${NUMBER})*)`,
  'y',
)
const OTHERWISE = [
  new RegExp(String.raw`(?<![\w/[-])decisions?${GAP}(?:no\.${GAP})?\d+`, 'gi'),
  new RegExp(String.raw`(?<![\w/-])(?:practice|gateway|decisions)\.md,?${GAP}(?:sections?${GAP})?\d+`, 'gi'),
  new RegExp(String.raw`\bcontract(?:['’]s)?${GAP}sections?${GAP}\d+`, 'gi'),
]

/** One sentence for each citation that leads nowhere or is written otherwise, with its file and line. */
export function brokenCitations(texts: Texts, pages: Pages): string[] {
  const broken: string[] = []
  for (const [path, text] of Object.entries(texts)) {
    const tell = (at: number, sentence: string): void => {
      broken.push(`${path}:${lineOf(text, at)}: ${sentence}`)
    }
    for (const cited of text.matchAll(CITED)) {
      const fault = faultOf(cited, text, pages)
      if (fault !== null) tell(cited.index, fault)
    }
    for (const form of OTHERWISE) {
      for (const { 0: words, index } of text.matchAll(form)) {
        tell(index, `“${inOneLine(words)}” does not name its page as a citation does`)
      }
    }
  }
  return broken
}

/** How many citations there are. */
export function countCitations(texts: Texts): number {
  return Object.values(texts).reduce((sum, text) => sum + [...text.matchAll(CITED)].length, 0)
}

function faultOf(cited: RegExpExecArray, text: string, pages: Pages): string | null {
  const [whole, name = ''] = cited
  const known = pages.get(name)
  if (known === undefined || whole !== `contract/${name}`) return `${whole} is no page of the contract`
  NUMBERS.lastIndex = cited.index + whole.length
  const [, list] = NUMBERS.exec(text) ?? []
  if (list === undefined) return `${whole} needs a number`
  for (const [number] of list.matchAll(new RegExp(NUMBER, 'g'))) {
    if (!known.has(number)) return `${whole} has no number ${number}`
  }
  return null
}

/** References of a page to its own numbers: “section 5.6”, “(5.6)”. */
const OWN = new RegExp(String.raw`(?<!RFC \d+ )\bsections?${GAP}(${NUMBER})|\((\d+\.\d+)\)`, 'g')

/** One sentence for each reference of a page to a number that it does not have. */
export function brokenReferences(path: string, page: string): string[] {
  const numbers = numbersOf(page)
  return [...page.matchAll(OWN)].flatMap(({ 1: section, 2: bracketed, index }) => {
    const number = section ?? bracketed ?? ''
    return numbers.has(number) ? [] : [`${path}:${lineOf(page, index)}: there is no section ${number}`]
  })
}

function lineOf(text: string, at: number): number {
  return text.slice(0, at).split('\n').length
}

function inOneLine(words: string): string {
  return words.replace(new RegExp(GAP, 'g'), ' ')
}
