/** Search over all pages of the guide, in the browser: sections by their words, with what stands around them. */
import MiniSearch from 'minisearch'

interface Texts {
  readonly pages: readonly (readonly [path: string, title: string, part: string])[]
  readonly sections: readonly (readonly [page: number, anchor: string, heading: string, text: string])[]
}

interface Found {
  readonly href: string
  readonly heading: string
  readonly place: string
  readonly text: string
  /** Words of the section that were asked for. */
  readonly words: readonly string[]
}

const MOST_SHOWN = 24
/** Parts of the site. */
const LISTS: readonly string[] = ['Changes', 'Decisions', 'Examples']
const BEFORE = 60
const AROUND = 190

const root = document.documentElement.dataset.root!

Object.assign(globalThis, { sluiceFinder: makeFinder })

function makeFinder(texts: Texts) {
  const find = indexOf(texts)
  const dialog = document.createElement('dialog')
  dialog.className = 'finder'
  dialog.setAttribute('aria-label', 'Search')
  const input = document.createElement('input')
  // One of type search is emptied by Escape, which closes here.
  input.type = 'text'
  input.enterKeyHint = 'search'
  input.placeholder = 'Search the documentation'
  for (const [name, value] of Object.entries({
    role: 'combobox',
    'aria-label': 'Search the documentation',
    'aria-expanded': 'true',
    'aria-controls': 'found',
    'aria-autocomplete': 'list',
    autocomplete: 'off',
    spellcheck: 'false',
  })) {
    input.setAttribute(name, value)
  }
  const list = document.createElement('div')
  list.id = 'found'
  list.setAttribute('role', 'listbox')
  list.setAttribute('aria-label', 'Sections')
  const told = document.createElement('p')
  told.className = 'told'
  told.setAttribute('role', 'status')
  dialog.append(input, list, told)
  document.body.append(dialog)

  let chosen = 0
  const choose = (at: number): void => {
    const options = [...list.children]
    if (options.length === 0) {
      input.removeAttribute('aria-activedescendant')
      return
    }
    chosen = (at + options.length) % options.length
    for (const [each, option] of options.entries())
      option.setAttribute('aria-selected', String(each === chosen))
    input.setAttribute('aria-activedescendant', options[chosen]!.id)
    options[chosen]!.scrollIntoView({ block: 'nearest' })
  }
  const go = (href: string | undefined): void => {
    if (href === undefined) return
    dialog.close()
    location.assign(href)
  }
  const show = (): void => {
    const found = find(input.value)
    list.replaceChildren(...found.map((each, at) => optionOf(each, at, go)))
    told.textContent =
      input.value.trim() === ''
        ? 'Names of settings, members, errors, commands; the beginning of a word is enough.'
        : found.length === 0
          ? 'Nothing has these words.'
          : ''
    choose(0)
  }
  input.addEventListener('input', show)
  input.addEventListener('keydown', (event) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step === 0 && event.key !== 'Enter') return
    event.preventDefault()
    if (step !== 0) choose(chosen + step)
    else go(list.children[chosen]?.getAttribute('data-href') ?? undefined)
  })
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) dialog.close()
  })
  return {
    show: () => {
      if (!dialog.open) dialog.showModal()
      input.select()
      show()
    },
  }
}

/** Finds sections for what was typed: all of its words, the last of which may be a beginning. */
function indexOf({ pages, sections }: Texts): (typed: string) => Found[] {
  const index = new MiniSearch<{ id: number; title: string; heading: string; text: string }>({
    fields: ['title', 'heading', 'text'],
    searchOptions: {
      boost: { heading: 4, title: 3 },
      // Lists of everything have every word; who asks for one wants the page about it.
      boostDocument: (id) => (LISTS.includes(pages[sections[id as number]![0]]![2]) ? 0.4 : 1),
      combineWith: 'AND',
      prefix: true,
      fuzzy: fuzziness,
      weights: { prefix: 0.5, fuzzy: 0.2 },
    },
  })
  index.addAll(sections.map(([page, , heading, text], id) => ({ id, title: pages[page]![1], heading, text })))
  return (typed) =>
    index
      .search(typed)
      .slice(0, MOST_SHOWN)
      .map(({ id, terms }) => {
        const [page, anchor, heading, text] = sections[id]!
        const [path, title, part] = pages[page]!
        return {
          href: `${root}${path}${anchor && `#${anchor}`}`,
          heading,
          place: heading === title ? part : `${part} › ${title}`,
          text,
          words: terms,
        }
      })
}

/** Short words are meant as they are. */
function fuzziness(term: string): number | false {
  return term.length > 4 && !/\d/.test(term) ? 0.15 : false
}

function optionOf(
  { href, heading, place, text, words }: Found,
  at: number,
  go: (href: string) => void,
): HTMLElement {
  const option = document.createElement('div')
  option.setAttribute('role', 'option')
  option.id = `found-${at}`
  option.dataset.href = href
  const [title, where, excerpt] = ['b', 'small', 'span'].map((tag) => document.createElement(tag))
  title!.append(...marked(heading, words))
  where!.textContent = place
  excerpt!.append(...marked(excerptOf(text, words), words))
  option.append(title!, where!, excerpt!)
  option.addEventListener('click', () => go(href))
  return option
}

function excerptOf(text: string, words: readonly string[]): string {
  const at = text.search(patternOf(words, 'i'))
  const from = at <= BEFORE ? 0 : text.indexOf(' ', at - BEFORE) + 1
  const most = from + AROUND
  if (most >= text.length) return `${from > 0 ? '… ' : ''}${text.slice(from)}`
  const space = text.lastIndexOf(' ', most)
  return `${from > 0 ? '… ' : ''}${text.slice(from, space > from ? space : most)}\u00a0…`
}

/** The text with its words marked; as nodes, so it stays text. */
function marked(text: string, words: readonly string[]): Node[] {
  return text.split(patternOf(words, 'gi')).map((piece, at) => {
    if (at % 2 === 0) return document.createTextNode(piece)
    const mark = document.createElement('mark')
    mark.textContent = piece
    return mark
  })
}

function patternOf(words: readonly string[], flags: string): RegExp {
  const escaped = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  return new RegExp(`(${escaped.sort((a, b) => b.length - a.length).join('|') || '(?!)'})`, flags)
}
