import type { Browser } from 'playwright-core'
import { requestOnce } from '../../harness/http/connection.js'
import { ADMIN_ENVIRONMENT, MANAGEMENT_KEY } from '../../performance/gateway/calls.js'
import { apiRequest } from '../requests.js'
import { atMost, figure, over, playRounds, type Trial, type TrialContext } from '../trial.js'
import { ConsolePage, launchChromium } from './console-page.js'
import { type Caller, fillLedger } from './filled-ledger.js'

const ROWS = 1_000_000
/** Pages of the list that are gone through, as somebody does who holds the wheel. */
const PAGES = 30
const SCROLL_LIMIT_MS = 60_000
const ROUND_LIMIT_S = 300
const LIST = 'Generations'

interface Round {
  readonly firstPaint: number
  readonly signedInPaint: number
  readonly slowestScreen: number
  readonly slowestTitle: string
  readonly screens: number
  readonly filterMs: number
  readonly scrollMs: number
  readonly rowsShown: number
  readonly longestTask: number
}

/** The first record of a list. */
async function firstOf(port: number, list: string): Promise<Record<string, string>> {
  const answer = await requestOnce(port, apiRequest('GET', list, undefined, MANAGEMENT_KEY), 10_000)
  if (answer?.status !== 200) throw new Error(`${list} was answered with ${answer?.status ?? 'nothing'}`)
  return (JSON.parse(answer.body.toString()) as { data: Record<string, string>[] }).data[0]!
}

/** A server that was started once, and stopped when its first key was known. */
async function findCaller({ staging }: TrialContext, dataFolder: string): Promise<Caller> {
  const server = await staging.start({ dataFolder, environment: ADMIN_ENVIRONMENT })
  const organization = await firstOf(server.port, '/organizations')
  const key = await firstOf(server.port, '/keys')
  await server.stop()
  return { organizationId: organization.id!, workspaceId: key.workspace_id!, keyHash: key.hash! }
}

/** Every screen is opened twice: what is measured is the second time, when its program is known. */
async function navigateAll(console: ConsolePage) {
  const titles = await console.screens()
  for (const title of titles) await console.navigate(title)
  const times = []
  for (const title of titles) times.push({ title, ms: await console.navigate(title) })
  times.sort((a, b) => b.ms - a.ms)
  return { screens: titles.length, slowest: times[0]! }
}

/** The list of a million calls: filtered, and gone through for some pages. */
async function readList(console: ConsolePage) {
  const { page } = console
  await console.navigate(LIST)
  await console.takeLongestTask()
  const rows = page.locator('table tbody tr')
  const filterBegun = performance.now()
  await page.getByLabel('Outcome').selectOption('failed')
  // Those before stay until the next are there.
  await rows.filter({ hasText: 'answered' }).first().waitFor({ state: 'detached' })
  const filterMs = performance.now() - filterBegun
  await page.getByLabel('Outcome').selectOption('')
  await rows.filter({ hasText: 'answered' }).first().waitFor()
  const begunWith = await rows.count()
  let rowsShown = begunWith
  const scrollBegun = performance.now()
  // The wheel is turned until so many pages have come of themselves.
  while (rowsShown < (PAGES + 1) * begunWith) {
    if (performance.now() - scrollBegun > SCROLL_LIMIT_MS)
      throw new Error(`the list ends at ${rowsShown} rows: ${await page.locator('main').innerText()}`)
    await page.mouse.wheel(0, 5_000)
    // A long list draws a part of its rows, and tells how many there are with its heading.
    const told = await page.locator('table').getAttribute('aria-rowcount')
    rowsShown = told === null ? await rows.count() : Number(told) - 1
  }
  const scrollMs = performance.now() - scrollBegun
  return { filterMs, scrollMs, rowsShown, longestTask: await console.takeLongestTask() }
}

async function playRound(browser: Browser, port: number): Promise<Round> {
  const console = await ConsolePage.open(browser, port)
  // Nothing of it is cached yet.
  const firstPaint = await console.load('')
  await console.signIn()
  const signedInPaint = await console.load('overview')
  await console.settled()
  const { screens, slowest } = await navigateAll(console)
  const list = await readList(console)
  await console.close()
  return {
    ...{ firstPaint, signedInPaint, screens, slowestScreen: slowest.ms, slowestTitle: slowest.title },
    ...list,
  }
}

export const consoleScreens: Trial = {
  name: 'console-screens',
  summary:
    'the console in Chromium over a ledger of 1,000,000 calls: first paint, every screen, the list filtered and scrolled',
  rounds: 12,
  roundLimitS: ROUND_LIMIT_S,
  run: async (context) => {
    const browser = await launchChromium()
    if (browser === null) throw new Error('no Chromium is installed')
    try {
      const dataFolder = context.staging.freshFolder()
      const caller = await findCaller(context, dataFolder)
      context.progress(`writing ${ROWS} calls into the ledger`)
      await fillLedger(dataFolder, caller, ROWS)
      const server = await context.staging.start({ dataFolder, environment: ADMIN_ENVIRONMENT })
      const all = await playRounds(
        context,
        () => playRound(browser, server.port),
        (round) =>
          `paint ${round.firstPaint.toFixed(0)} ms, slowest ${round.slowestTitle} ${round.slowestScreen.toFixed(0)} ms, longest task ${round.longestTask.toFixed(0)} ms`,
      )
      await server.stop()
      const { median, max, min } = over(all)
      return {
        bars: [
          atMost('first paint, nothing cached, median', median('firstPaint'), 300, 'ms'),
          atMost('slowest screen of a round, median', median('slowestScreen'), 100, 'ms'),
          atMost('longest task while the list is filtered and scrolled', max('longestTask'), 100, 'ms'),
        ],
        figures: [
          figure('calls in the ledger', ROWS),
          figure('first paint, the slowest round', max('firstPaint'), 'ms'),
          figure('first paint, signed in, median', median('signedInPaint'), 'ms'),
          figure('screens', median('screens')),
          figure('rows shown', min('rowsShown')),
          figure('slowest screen of all rounds', max('slowestScreen'), 'ms'),
          figure('from a filter to its rows, median', median('filterMs'), 'ms'),
          figure(`${PAGES} pages more, median`, median('scrollMs'), 'ms'),
        ],
        notes: [`slowest screens by round: ${all.map(({ slowestTitle }) => slowestTitle).join(', ')}`],
      }
    } finally {
      await browser.close()
    }
  },
}
