/**
 * What a page of the guide has more where scripts run: themes, search, buttons that copy, the place of the reader in
 * the contents. Loaded before the first paint, as it knows the theme; a classic script, as pages are also read from a disk.
 */
import { applyTheme, nextTheme, type Theme, themeOf } from './theme.ts'

const root = document.documentElement

applyTheme()
// What needs scripts is shown only where they run, and before anything is: nothing on the page moves.
root.dataset.script = ''
// The server has pages of its own; another place that keeps the guide has none.
if (/\/docs\/guide\//.test(location.pathname)) root.dataset.served = ''

document.addEventListener('DOMContentLoaded', () => {
  document.querySelector('button.find')!.addEventListener('click', openSearch)
  document.addEventListener('keydown', findByKeys)
  prepareThemes(document.querySelector<HTMLButtonElement>('button.theme')!)
  for (const code of document.querySelectorAll<HTMLElement>('.code')) code.append(copyButton(code))
  followContents()
  showPlace()
})

/** Scrolls the list of pages, and it alone, to the page that is shown. */
function showPlace(): void {
  const side = document.querySelector<HTMLElement>('.side')!
  const place = side.querySelector<HTMLElement>('[aria-current]')
  if (place !== null) side.scrollTop = place.offsetTop - side.clientHeight / 2
}

function findByKeys(event: KeyboardEvent): void {
  const isTyping = event.target instanceof Element && event.target.matches('input, textarea')
  const isAsked = (event.key === 'k' && (event.ctrlKey || event.metaKey)) || (event.key === '/' && !isTyping)
  if (!isAsked) return
  event.preventDefault()
  openSearch()
}

interface Finder {
  show(): void
}

let finder: Promise<Finder> | null = null

/** The search and what it knows come with the first question. */
function openSearch(): void {
  finder ??= loadFinder()
  finder.then(
    ({ show }) => show(),
    () => {
      // It is loaded anew when it is wanted the next time.
      finder = null
    },
  )
}

async function loadFinder(): Promise<Finder> {
  const [search = '', texts = ''] = root.dataset.search!.split(' ')
  const scope = globalThis as unknown as {
    sluiceTexts: (texts: unknown) => void
    sluiceFinder: (texts: unknown) => Finder
  }
  const known = new Promise((resolve) => {
    scope.sluiceTexts = resolve
  })
  await Promise.all([load(search), load(texts)])
  return scope.sluiceFinder(await known)
}

interface ScriptUrlPolicy {
  createScriptURL(url: string): string
}
declare const trustedTypes:
  | { createPolicy(name: string, rules: ScriptUrlPolicy): ScriptUrlPolicy }
  | undefined

/** The two scripts of the search are all that a page ever adds to itself. */
const policy =
  typeof trustedTypes === 'undefined'
    ? null
    : trustedTypes.createPolicy('guide', { createScriptURL: (url) => url })

function load(path: string): Promise<void> {
  const url = root.dataset.root! + path
  return new Promise((resolve, reject) => {
    const script = document.createElement('script')
    script.src = policy === null ? url : policy.createScriptURL(url)
    script.addEventListener('load', () => resolve())
    script.addEventListener('error', () => reject(new Error(`${path} cannot be loaded`)))
    document.head.append(script)
  })
}

const THEMES: Readonly<Record<Theme, string>> = { system: 'as the system', light: 'light', dark: 'dark' }

function prepareThemes(button: HTMLButtonElement): void {
  const show = (): void => {
    button.title = `Theme: ${THEMES[themeOf()]}`
    button.setAttribute('aria-label', button.title)
  }
  button.addEventListener('click', () => {
    nextTheme()
    show()
  })
  show()
}

/** Copies what is typed: neither the sign before a command nor what it prints. */
function copyButton(code: HTMLElement): HTMLButtonElement {
  const button = document.createElement('button')
  button.type = 'button'
  button.className = 'copy'
  button.textContent = 'Copy'
  const tell = (word: string): void => {
    button.textContent = word
    setTimeout(() => {
      button.textContent = 'Copy'
    }, 1600)
  }
  button.addEventListener('click', () => {
    navigator.clipboard.writeText(typedIn(code)).then(
      () => tell('Copied'),
      () => tell('Not copied'),
    )
  })
  return button
}

function typedIn(code: HTMLElement): string {
  const copied = code.querySelector('code')!.cloneNode(true) as HTMLElement
  const printed = copied.querySelectorAll('.prompt, .printed')
  if (printed.length === 0) return copied.textContent!
  for (const each of printed) each.remove()
  return copied.textContent!.replace(/\n\s*(?=\n|$)/g, '').trim()
}

/** Open where there is room beside the text, with the section that is read marked. */
function followContents(): void {
  const contents = document.querySelector<HTMLDetailsElement>('.contents details')
  if (contents === null) return
  const wide = matchMedia('(min-width: 1180px)')
  const open = (): void => {
    contents.open = wide.matches
  }
  wide.addEventListener('change', open)
  open()
  const links = new Map(
    [...contents.querySelectorAll('a')].map((link) => [decodeURIComponent(link.hash.slice(1)), link]),
  )
  const headings = [...document.querySelectorAll<HTMLElement>('main [id]')].filter(({ id }) => links.has(id))
  let current: HTMLAnchorElement | undefined
  const mark = (): void => {
    const read = headings.filter((heading) => heading.getBoundingClientRect().top < 120).at(-1)
    const link = links.get(read?.id ?? '')
    if (link === current) return
    current?.removeAttribute('aria-current')
    link?.setAttribute('aria-current', 'true')
    current = link
  }
  addEventListener('scroll', () => requestAnimationFrame(mark), { passive: true })
  mark()
}
