/** The console in a Chromium, signed in, and what the page tells of its own speed. */
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { findChromium } from '../../harness/machine/chromium.js'
import { MANAGEMENT_KEY } from '../../performance/gateway/calls.js'

/** What of a page is still on its way. */
const UNSETTLED = '[aria-busy="true"], .skeleton'
const VIEWPORT = { width: 1280, height: 900 }
const PATIENCE_MS = 60_000

/** Long tasks of the main thread since the page began or `takeLongestTask` was called, in milliseconds. */
const WATCH_TASKS = `
window.longest = 0
new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) window.longest = Math.max(window.longest, duration)
}).observe({ type: 'longtask', buffered: true })
`

/** Clicks a link of the navigation and resolves with the milliseconds until its screen, whole, was painted. */
const NAVIGATE = `(title) => new Promise((resolve, reject) => {
  const link = [...document.querySelectorAll('nav.side a')].find(({ textContent }) => textContent === title)
  const begun = performance.now()
  const look = () => {
    const isThere = document.title.startsWith(title + ' ') && document.querySelector('#content h1') !== null
    if (isThere && document.querySelector(${JSON.stringify(`#content :is(${UNSETTLED})`)}) === null)
      requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - begun)))
    else if (performance.now() - begun > ${PATIENCE_MS}) reject(new Error(title + ' is not there in time'))
    else requestAnimationFrame(look)
  }
  link.click()
  look()
})`

const FIRST_PAINT = `new Promise((resolve) => new PerformanceObserver((list) => {
  const paint = list.getEntriesByName('first-contentful-paint')[0]
  if (paint) resolve(paint.startTime)
}).observe({ type: 'paint', buffered: true }))`

/** Null where no Chromium is installed. */
export async function launchChromium(): Promise<Browser | null> {
  const executablePath = findChromium()
  if (executablePath === null) return null
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'], timeout: PATIENCE_MS })
}

/** One console in a window of its own; nothing of others is cached or known. */
export class ConsolePage {
  private constructor(
    readonly page: Page,
    readonly context: BrowserContext,
    private readonly url: string,
  ) {}

  static async open(browser: Browser, port: number): Promise<ConsolePage> {
    const context = await browser.newContext({ viewport: VIEWPORT })
    context.setDefaultTimeout(PATIENCE_MS)
    await context.addInitScript({ content: WATCH_TASKS })
    const page = await context.newPage()
    const origin = `http://127.0.0.1:${port}`
    // A window has a process of its own from its first page on: its start is the browser's, and not the console's.
    await page.goto(`${origin}/api/v1/health`)
    return new ConsolePage(page, context, `${origin}/console`)
  }

  /** Loads a place anew, `''` the first one, and resolves with the milliseconds until something of it was painted. */
  async load(place: string): Promise<number> {
    await this.page.goto(`${this.url}${place && `/${place}`}`)
    return Number(await this.page.evaluate(FIRST_PAINT))
  }

  async signIn(): Promise<void> {
    await this.page.getByLabel('Management key').fill(MANAGEMENT_KEY)
    await this.page.keyboard.press('Enter')
    await this.page.locator('main#content h1').waitFor()
    await this.settled()
  }

  async settled(): Promise<void> {
    await this.page.locator(UNSETTLED).first().waitFor({ state: 'detached' })
  }

  /** The screens that the navigation names. */
  screens(): Promise<string[]> {
    return this.page.locator('nav.side a').allInnerTexts()
  }

  async navigate(title: string): Promise<number> {
    return Number(await this.page.evaluate(`(${NAVIGATE})(${JSON.stringify(title)})`))
  }

  /** The longest task of the main thread since this was asked last, in milliseconds; 0 where none took 50. */
  async takeLongestTask(): Promise<number> {
    return Number(await this.page.evaluate('(({ longest }) => ((window.longest = 0), longest))(window)'))
  }

  close(): Promise<void> {
    return this.context.close()
  }
}
