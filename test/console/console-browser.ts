/**
 * A browser at a console: pages in either theme and any width, and what must hold of each of them: no problem told by the
 * browser, no request elsewhere, nothing that its policy has stopped, nothing that jumps, nothing that axe finds.
 */
import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { type Browser, chromium, type Page } from 'playwright-core'
import type { Test } from 'tap'
import { findChromium } from '../../bench/harness/machine/chromium.js'
import { MANAGEMENT_KEY } from '../support/servers/server-process.js'

const CHROMIUM = findChromium()
/** For tests that need a browser. */
export const SKIP = CHROMIUM === null ? { skip: 'no Chromium is installed' } : {}

const ARTEFACTS = fileURLToPath(new URL('../../../.artefacts/console/', import.meta.url))
const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
/** A machine that runs other tests beside is slow at times. */
const PATIENCE_MS = 60_000

export const THEMES = ['light', 'dark'] as const
export const WIDTHS = [360, 1280, 2560] as const
const HEIGHT = 900

/** What the page gathers of itself from its first moment on. */
const GATHER = `
window.gathered = { moved: [], stopped: [] }
new PerformanceObserver((list) => {
  for (const { hadRecentInput, value, sources } of list.getEntries())
    if (!hadRecentInput) window.gathered.moved.push(value + ' ' + sources.map(({ node }) =>
      (node?.parentElement?.outerHTML ?? node?.outerHTML ?? '?').slice(0, 160)).join(' | '))
}).observe({ type: 'layout-shift', buffered: true })
document.addEventListener('securitypolicyviolation', (event) => {
  window.gathered.stopped.push(event.violatedDirective + ' ' + event.blockedURI)
})
`

/**
 * What axe may load again by itself: sound, and no styles, which only a rule that is off looks at, and which a page on a
 * disk cannot be asked for. Only what is wrong is told in full.
 */
const AXE_OPTIONS = `{ preload: { assets: ['media'] }, resultTypes: ['violations'] }`

/** What axe finds, what has jumped, what was stopped, and by how much the page is wider than its window. */
const JUDGE = `(async () => {
  const { violations } = await axe.run(document, ${AXE_OPTIONS})
  const { scrollWidth, clientWidth } = document.documentElement
  return {
    found: violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html.slice(0, 160))),
    ...gathered,
    beyond: scrollWidth - clientWidth,
  }
})()`

/** How what has the focus is called. */
const NAME_OF_FOCUSED = `(({ labels, ariaLabel, innerText }) => labels?.[0]?.innerText ?? ariaLabel ?? innerText ?? '')(document.activeElement)`
/** More than any screen has to be passed over. */
const MOST_PRESSES = 80

/** What of a page is still on its way. */
const UNSETTLED = '[aria-busy="true"], .skeleton'

interface Look {
  readonly theme?: (typeof THEMES)[number]
  readonly width?: number
}

/** One browser for the tests of a file; it ends with the file. */
export class ConsoleBrowser {
  #browser: Promise<Browser> | null = null

  /** A page of its own, with cookies of its own, that is nowhere yet. */
  async page(t: Test, url: string, { theme = 'light', width = 1280 }: Look = {}): Promise<ConsolePage> {
    this.#browser ??= chromium.launch({
      executablePath: CHROMIUM!,
      // A graphics processor that software plays draws nothing better, and slower.
      args: ['--no-sandbox', '--disable-gpu', '--host-resolver-rules=MAP console.test 127.0.0.1'],
      timeout: PATIENCE_MS,
    })
    const context = await (await this.#browser).newContext({
      viewport: { width, height: HEIGHT },
      colorScheme: theme,
      reducedMotion: 'reduce',
      permissions: ['clipboard-write', 'clipboard-read'],
    })
    t.after(() => context.close())
    context.setDefaultTimeout(PATIENCE_MS)
    await context.addInitScript({ content: GATHER })
    await context.addInitScript({ content: AXE })
    return new ConsolePage(await context.newPage(), url)
  }

  async close(): Promise<void> {
    await (await this.#browser)?.close()
  }
}

export class ConsolePage {
  /** What the browser complains of; that nobody is signed in it is told by a 401, which is no complaint. */
  readonly problems: string[] = []

  constructor(
    readonly page: Page,
    private readonly url: string,
  ) {
    page.on('pageerror', (error) => this.problems.push(String(error)))
    page.on('console', (message) => {
      const { url } = message.location()
      const isExpected = url.endsWith('/api/v1/session') && message.text().includes('401')
      if (['error', 'warning'].includes(message.type()) && !isExpected) this.problems.push(message.text())
    })
    page.on('request', (request) => {
      const address = request.url()
      if (!address.startsWith(url) && !/^(data|blob):/.test(address)) this.problems.push(`asked ${address}`)
    })
  }

  /** Opens a place of the console, as `keys?new=key`; `''` is the first screen. */
  async open(place = ''): Promise<void> {
    await this.page.goto(`${this.url}/console${place && `/${place}`}`)
  }

  /** Signs in with a key, at whatever place the page is. */
  async signIn(key = MANAGEMENT_KEY): Promise<void> {
    await this.page.getByLabel('Management key').fill(key)
    await this.page.keyboard.press('Enter')
    await this.page.locator('main#content').waitFor()
  }

  /** Opens a place and resolves when its title is there and nothing is on its way any more. */
  async settle(place: string, title: string): Promise<void> {
    await this.open(place)
    await this.page.getByRole('heading', { level: 1, name: title }).waitFor()
    await this.page.locator(UNSETTLED).first().waitFor({ state: 'detached' })
  }

  /** How what has the focus is called: by its label, or by what stands in it. */
  async focusedName(): Promise<string> {
    return (await this.page.evaluate<string>(NAME_OF_FOCUSED)).trim()
  }

  /** By the tabulator, until something has the focus that is called so. */
  async reach(name: string): Promise<void> {
    for (let presses = 0; presses < MOST_PRESSES; presses++) {
      if ((await this.focusedName()) === name) return
      await this.page.keyboard.press('Tab')
    }
    throw new Error(`the tabulator does not reach ${name}`)
  }

  /** By the tabulator to a field, in whose place of what stands there a text is put. */
  async type(name: string, text: string): Promise<void> {
    await this.reach(name)
    await this.page.keyboard.press('Control+a')
    await this.page.keyboard.insertText(text)
  }

  /** Resolves when a part of the page has the focus. */
  async focused(selector: string): Promise<void> {
    await this.page.locator(`${selector}:focus`).waitFor()
  }

  /** Keeps the page as a picture, for people to look at. */
  async picture(name: string): Promise<void> {
    mkdirSync(ARTEFACTS, { recursive: true })
    await this.page.screenshot({ path: `${ARTEFACTS}${name}.png`, animations: 'disabled' })
  }

  /** What somebody has set off may move things: a slow machine does it later than the half second browsers allow. */
  async forgiveMoves(): Promise<void> {
    await this.page.evaluate('gathered.moved.length = 0')
  }

  /** Keeps and judges the page as it is in each theme, which costs less than to load it in each. */
  async judgeThemes(t: Test, name: string): Promise<void> {
    for (const theme of THEMES) {
      await this.page.emulateMedia({ colorScheme: theme })
      await this.picture(`${name}-${theme}`)
      await this.judge(t, `${name}, ${theme}`)
    }
    await this.page.emulateMedia({ colorScheme: THEMES[0] })
  }

  /** What must hold of the page as it is. */
  async judge(t: Test, name: string): Promise<void> {
    const seen = await this.page.evaluate(JUDGE)
    const wanted = { found: [], moved: [], stopped: [], beyond: 0 }
    t.same(seen, wanted, `${name}: nothing that axe, policy or eye minds`)
    t.same(this.problems, [], `${name}: the browser has nothing to complain of`)
  }
}
