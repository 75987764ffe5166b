import { Script } from 'node:vm'
import tap, { type Test, test } from 'tap'
import { findChromium } from '../../bench/harness/machine/chromium.js'
import { findPageAsset } from '../../src/lab/page/page.js'
import { type BrowserTab, HeadlessBrowser } from './headless-browser.js'
import { EMPTY_EVENT, type LiveServer, liveEvent, startLiveServer } from './live-server.js'

const CHROMIUM = findChromium()
const SKIP = CHROMIUM === null ? { skip: 'no Chromium is installed' } : {}

/** Whether a canvas has anything but its ground on it. */
const PAINTED = `[...document.querySelectorAll('canvas')].length >= 3 && [...document.querySelectorAll('canvas')].every((canvas) => {
  const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data
  return pixels.some((value) => value > 0)
})`

/** One for all tests: it takes seconds to start. */
let browser: HeadlessBrowser | null = null
tap.teardown(() => browser?.close())

async function openPage(t: Test, server: LiveServer): Promise<BrowserTab> {
  browser ??= new HeadlessBrowser(CHROMIUM!)
  const tab = await browser.open(server.url)
  t.teardown(() => tab.close())
  return tab
}

/** Milliseconds to the load event. The best of three: a machine that runs other tests beside is slow at times. */
async function quickestLoad(tab: BrowserTab): Promise<number> {
  const times: number[] = []
  for (let attempt = 0; attempt < 10 && !times.some((ms) => ms < 1000); attempt++) {
    if (attempt > 0) await tab.evaluate('location.reload()')
    times.push(Number(await tab.until('performance.getEntriesByType("navigation")[0].loadEventEnd')))
  }
  return Math.min(...times)
}

const text = (id: string) => `document.getElementById('${id}').textContent`

test('every file of the page is there, loads nothing from outside, and its scripts are scripts', async (t) => {
  const markup = String(findPageAsset('', '')?.body)
  const files = [...markup.matchAll(/(?:src|href)="\/lab\/([^"]+)"/g)].map(([, name]) => name!)
  t.same(files.sort(), ['charts.js', 'echarts.js', 'live.css', 'live.js'])
  for (const name of files) {
    const file = findPageAsset(name, '')!
    t.match(file.type, /^text\/(css|javascript); charset=utf-8$/)
    if (name !== 'echarts.js') t.notMatch(String(file.body), /https?:\/\//)
    if (name.endsWith('.js')) t.ok(new Script(Buffer.from(file.body).toString()), name)
  }
  t.notMatch(markup, /https?:\/\//)
  t.equal(findPageAsset('other', ''), null)
  t.equal(findPageAsset('__proto__', ''), null)
  t.equal(findPageAsset('../package.json', ''), null)
})

test('a page without a run says how to start one', SKIP, async (t) => {
  const server = await startLiveServer(t, () => EMPTY_EVENT)
  const tab = await openPage(t, server)
  await tab.until(`!document.getElementById('empty').hidden`)
  t.equal(await tab.evaluate('document.title'), 'Sluice lab')
  t.match(
    await tab.evaluate(text('compare')),
    /^npm run bench -- compare --quick --target http:\/\/127\.0\.0\.1:9000 --control http:\/\/127\.0\.0\.1:\d+$/,
  )
  t.match(await tab.evaluate(text('example')), /curl -X POST http:\/\/127\.0\.0\.1:\d+\/lab\/v1\/runs/)
  t.equal(await tab.evaluate(`document.getElementById('content').hidden`), true)
  t.same(tab.problems, [])
})

test('a run is shown as it happens: head, figures, charts, stalls, verdict', SKIP, async (t) => {
  const server = await startLiveServer(t, () => liveEvent(4500))
  const tab = await openPage(t, server)
  await tab.until(PAINTED)
  t.match(await tab.evaluate(text('run')), /hold, round 1.*open loop, 200\/s constant, 20 connections/)
  t.equal(await tab.evaluate(text('state')), 'measuring')
  t.match(await tab.evaluate(text('balance')), /500 arrivals = 497 completed \+ 1 aborted \+ 2 in flight/)
  t.match(await tab.evaluate(text('workers')), /worker 2/)
  server.send(liveEvent(5400, { fromMs: 4500 }))
  await tab.until(`${text('stalls')}.includes('goes on')`)
  server.send(liveEvent(9000, { fromMs: 5400, judged: true }))
  await tab.until(`${text('verdict-body')}.includes('latency invalid')`)
  t.equal(await tab.evaluate(`document.querySelectorAll('.checks li').length`), 17)
  t.match(await tab.evaluate(text('validity-text')), /VERDICT latency invalid/)
  t.equal(
    await tab.evaluate(
      `echarts.getInstanceByDom(document.getElementById('series')).getOption().series[0].data.length`,
    ),
    90,
  )
  t.ok((await quickestLoad(tab)) < 1000, 'loads within a second')
  t.same(tab.problems, [])
  t.same([...new Set(server.requestedPaths)].sort(), [
    '/lab',
    '/lab/charts.js',
    '/lab/echarts.js',
    '/lab/live.css',
    '/lab/live.js',
    '/lab/v1/live',
  ])
})

test('after a lost connection the page goes on, and no step is there twice', SKIP, async (t) => {
  let connections = 0
  const server = await startLiveServer(t, () => liveEvent(++connections === 1 ? 4000 : 4700))
  const tab = await openPage(t, server)
  const count = `echarts.getInstanceByDom(document.getElementById('series'))?.getOption()?.series?.[0]?.data.length`
  await tab.until(`${count} === 40`)
  server.endStreams()
  await tab.until(`${count} === 47`)
  t.equal(connections, 2)
})

test('words from outside are text and nothing else', SKIP, async (t) => {
  const server = await startLiveServer(t, () =>
    liveEvent(3000, { label: '<img src=x onerror="window.hit=1">' }),
  )
  const tab = await openPage(t, server)
  await tab.until(PAINTED)
  t.match(await tab.evaluate(text('run')), '<img src=x')
  t.equal(await tab.evaluate('window.hit'), undefined)
  t.same(tab.problems, [])
})
