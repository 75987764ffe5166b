/** Markdown as the markup of the guide's pages, with what the rest of the site has to know of it. */
import { posix } from 'node:path'
import { Marked } from 'marked'
import { codeMarkup, escapeMarkup } from './code.js'

/**
 * @typedef {object} Heading
 * @property {number} level
 * @property {string} anchor
 * @property {string} markup
 * @property {string} text
 */

/**
 * @typedef {object} Section
 * @property {string} anchor of its heading; '' before the first one and below the title
 * @property {string} heading
 * @property {string} text
 */

/**
 * @typedef {object} Rendered
 * @property {Heading} title
 * @property {string} summary the first paragraph, as text
 * @property {string} body markup of everything below the title
 * @property {readonly Heading[]} headings below the title
 * @property {readonly Section[]} sections
 */

/**
 * @typedef {object} Surroundings
 * @property {(target: string) => string | null} hrefOf address of a link as it stands in the source; null where it leads to no page
 * @property {(target: string) => { src: string, width: number, height: number }} pictureOf with its size, so that its place is kept until it has come
 * @property {(page: string, number: string) => string | null} citationOf address of a rule of the contract
 */

/**
 * @param {string} text
 * @param {Surroundings} surroundings
 * @returns {Rendered}
 */
export function render(text, { hrefOf, pictureOf, citationOf }) {
  const marked = new Marked({ gfm: true })
  const anchors = anchorMaker()
  /** @type {Heading[]} */
  const headings = []
  let isInLink = false
  let isInTable = false
  marked.use({
    renderer: {
      heading({ tokens, depth }) {
        const heading = {
          level: depth,
          anchor: anchors(plainOf(tokens)),
          markup: this.parser.parseInline(tokens),
          text: plainOf(tokens),
        }
        headings.push(heading)
        if (depth === 1) return ''
        const { anchor, markup } = heading
        return `<h${depth} id="${anchor}">${markup} <a class="anchor" href="#${anchor}" aria-label="Link to this section">#</a></h${depth}>\n`
      },
      code: ({ text, lang = '' }) => codeMarkup(text, lang),
      codespan({ text }) {
        const words = escapeMarkup(text)
        // Where a column is narrow, names are broken between their words.
        return `<code>${isInTable ? words.replace(/[_./](?=\w)/g, '$&<wbr>') : words}</code>`
      },
      html({ raw }) {
        if (!/^<!--[\s\S]*-->$/.test(raw.trim())) throw new Error(`the guide: markup within a page: ${raw}`)
        return ''
      },
      link({ href, tokens }) {
        isInLink = true
        const words = this.parser.parseInline(tokens)
        isInLink = false
        const address = hrefOf(href)
        return address === null ? words : `<a href="${escapeMarkup(address)}">${words}</a>`
      },
      image({ href, text }) {
        const { src, width, height } = pictureOf(href)
        return `<img src="${escapeMarkup(src)}" alt="${escapeMarkup(text)}" width="${width}" height="${height}" loading="lazy">`
      },
      table({ header, rows }) {
        const row = (/** @type {import('marked').Tokens.TableCell[]} */ cells, tag = 'td') =>
          `<tr>${cells
            .map(({ tokens, align }) => {
              const name = tokens.length === 0 ? 'td' : tag
              const words = this.parser.parseInline(tokens)
              const classes = [align, WORD.test(plainOf(tokens)) && 'word'].filter(Boolean).join(' ')
              return `<${name}${classes && ` class="${classes}"`}>${words}</${name}>`
            })
            .join('')}</tr>\n`
        isInTable = true
        const hasHead = header.some(({ tokens }) => tokens.length > 0)
        const head = hasHead ? `<thead>${row(header, 'th')}</thead>\n` : ''
        const body = rows.map((cells) => row(cells)).join('')
        isInTable = false
        return `<div class="table" tabindex="0"><table>${head}<tbody>${body}</tbody></table></div>\n`
      },
      text(token) {
        if ('tokens' in token && token.tokens) return this.parser.parseInline(token.tokens)
        // The lexer has escaped what it needed to, where it says so.
        const words = 'escaped' in token && token.escaped ? token.text : escapeMarkup(token.text)
        return isInLink ? words : linkCitations(words, citationOf)
      },
    },
  })
  const tokens = marked.lexer(text)
  const body = marked.parser(tokens)
  const [title, ...others] = headings
  if (title?.level !== 1) throw new Error('the guide: a page begins with its title')
  const first = tokens.find(({ type }) => type === 'paragraph')
  return {
    title,
    summary: first === undefined ? '' : plainOf([first]),
    body,
    headings: others,
    sections: sectionsOf(tokens, headings),
  }
}

/** What stands alone in a cell and is not broken: a number, a date, a short name. */
const WORD = /^[\w.-]{1,14}$/

/** The anchors of a page, as the hosts of repositories make them: a test holds that links to them arrive. */
function anchorMaker() {
  /** @type {Map<string, number>} */
  const used = new Map()
  return (/** @type {string} */ text) => {
    const anchor = text
      .toLowerCase()
      .replace(/[^\p{L}\p{M}\p{N}\s_-]/gu, '')
      .trim()
      .replace(/\s/g, '-')
    const before = used.get(anchor) ?? 0
    used.set(anchor, before + 1)
    return before === 0 ? anchor : `${anchor}-${before}`
  }
}

const CITATION = /\bcontract\/([a-z]+) (\d+(?:\.\d+)?(?:(?:, | and | to )\d+(?:\.\d+)?)*)/g

/**
 * @param {string} words
 * @param {Surroundings['citationOf']} citationOf
 */
function linkCitations(words, citationOf) {
  return words.replace(CITATION, (_, page, numbers) => {
    let isFirst = true
    return numbers.replace(/\d+(?:\.\d+)?/g, (/** @type {string} */ number) => {
      const shown = isFirst ? `contract/${page} ${number}` : number
      isFirst = false
      const address = citationOf(page, number)
      return address === null ? shown : `<a href="${address}">${shown}</a>`
    })
  })
}

/**
 * What stands below each heading, as text.
 *
 * @param {readonly import('marked').Token[]} tokens
 * @param {readonly Heading[]} headings
 */
function sectionsOf(tokens, headings) {
  const left = [...headings]
  /** @type {{ anchor: string, heading: string, words: string[] }[]} */
  const sections = []
  for (const token of tokens) {
    if (token.type === 'heading') {
      const { level, anchor, text } = /** @type {Heading} */ (left.shift())
      sections.push({ anchor: level === 1 ? '' : anchor, heading: text, words: [] })
    } else sections.at(-1)?.words.push(plainOf([token]))
  }
  return sections.map(({ words, ...section }) => ({
    ...section,
    text: words.join(' ').replace(/\s+/g, ' ').trim(),
  }))
}

/**
 * Words without their markup.
 *
 * @param {readonly import('marked').Token[]} tokens
 * @returns {string}
 */
function plainOf(tokens) {
  return tokens
    .map((token) => {
      if (token.type === 'html') return ''
      if (token.type === 'table') {
        const { header, rows } = /** @type {import('marked').Tokens.Table} */ (token)
        return [header, ...rows]
          .map((cells) => cells.map((cell) => plainOf(cell.tokens)).join(' · '))
          .join('\n')
      }
      if (token.type === 'list')
        return token.items.map((/** @type {any} */ item) => plainOf(item.tokens)).join('\n')
      if ('tokens' in token && token.tokens) return plainOf(token.tokens) + (isBlock(token) ? '\n' : '')
      return 'text' in token ? unescaped(String(token.text)) : ''
    })
    .join('')
}

/** @param {import('marked').Token} token */
function isBlock({ type }) {
  return type === 'paragraph' || type === 'blockquote'
}

/** @param {string} text */
function unescaped(text) {
  return text.replace(
    /&(lt|gt|amp|quot|#39);/g,
    (_, name) => ({ lt: '<', gt: '>', amp: '&', quot: '"' })[/** @type {'lt'} */ (name)] ?? "'",
  )
}

/**
 * Path of a file as seen from another one.
 *
 * @param {string} from
 * @param {string} to
 */
export function relativePath(from, to) {
  return posix.relative(posix.dirname(from), to)
}
