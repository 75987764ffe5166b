import { setTimeout as sleep } from 'node:timers/promises'
import { medianInterval } from '../../harness/figures/statistics.js'
import { cpuMs } from '../../harness/machine/proc.js'
import { CheckedStreamFigures, checkedStreamLoop } from '../../harness/sse/checked-streams.js'
import { callBytes, SLUICE_CHAT } from '../../performance/gateway/calls.js'
import { CALM_MS } from '../../performance/gateway/mock-models.js'
import { expectedStream, stageGateway } from '../gateway/gateway-stage.js'
import { atMost, exactly, figure, over, playRounds, type Trial } from '../trial.js'
import { ConsolePage, launchChromium } from './console-page.js'
import { FeedReader } from './feed-reader.js'

const STREAMS = 2_000
const MODEL = 'bench/calm-100-tagged'
/** As long as a stream, so that as many end in every second. */
const SPREAD_MS = 100 * CALM_MS
const WINDOW_MS = 2_000
/** After a reader has come or gone, until a window begins. */
const SETTLE_MS = 500
const ROUND_LIMIT_S = 60
/** How long a page is watched. */
const PAGE_MS = 20_000

/** Streams without an end, so many at a time; resolves when all run. */
async function beginStreams(port: number) {
  const figures = new CheckedStreamFigures()
  const expected = (index: number) => expectedStream(MODEL, index)
  const request = (index: number): Buffer => callBytes(SLUICE_CHAT, MODEL, expected(index).tag)
  const plan = { port, streams: STREAMS, seconds: 24 * 60 * 60, spreadMs: SPREAD_MS, request, expected }
  let onAllBegun = (): void => {}
  const begun = new Promise<void>((resolve) => {
    onAllBegun = resolve
  })
  const loop = checkedStreamLoop({ ...plan, onAllBegun: () => onAllBegun() }, figures)
  const ended = loop.run()
  await begun
  return {
    figures,
    end: async (): Promise<void> => {
      loop.interrupt()
      await ended
    },
  }
}

interface Window {
  /** Points of a core. */
  readonly cpu: number
  readonly messagesPerSecond: number
  readonly bytesPerSecond: number
}

/** All processes of the server for a while, with a reader of the feed or without. */
async function measure(port: number, pids: () => readonly number[], reads: boolean): Promise<Window> {
  const reader = reads ? await FeedReader.open(port) : null
  await sleep(SETTLE_MS)
  const { messages, bytes } = reader ?? { messages: 0, bytes: 0 }
  const begun = performance.now()
  const cpu = cpuMs(pids())
  await sleep(WINDOW_MS)
  const ms = performance.now() - begun
  const window = {
    cpu: ((cpuMs(pids()) - cpu) / ms) * 100,
    messagesPerSecond: (((reader?.messages ?? 0) - messages) / ms) * 1_000,
    bytesPerSecond: (((reader?.bytes ?? 0) - bytes) / ms) * 1_000,
  }
  reader?.close()
  await sleep(SETTLE_MS)
  return window
}

/**
 * Milliseconds of the main thread of an open overview for each message of the feed, as the thread's own clock has them;
 * null where no Chromium is installed.
 */
async function measurePage(port: number): Promise<number | null> {
  const browser = await launchChromium()
  if (browser === null) return null
  try {
    const console = await ConsolePage.open(browser, port)
    await console.load('')
    await console.signIn()
    await console.load('overview')
    await console.settled()
    const { page, context } = console
    const devTools = await context.newCDPSession(page)
    await devTools.send('Performance.enable', { timeDomain: 'threadTicks' })
    const busyMs = async (): Promise<number> => {
      const { metrics } = await devTools.send('Performance.getMetrics')
      return metrics.find(({ name }) => name === 'TaskDuration')!.value * 1_000
    }
    const reader = await FeedReader.open(port)
    const { messages } = reader
    const begun = await busyMs()
    await sleep(PAGE_MS)
    const perMessage = ((await busyMs()) - begun) / (reader.messages - messages)
    reader.close()
    return perMessage
  } finally {
    await browser.close()
  }
}

export const consoleFeed: Trial = {
  name: 'console-feed',
  summary:
    '2,000 streams on one worker, with a reader of the live feed and without, in paired windows of 2 s',
  rounds: 40,
  roundLimitS: ROUND_LIMIT_S,
  run: async (context) => {
    const stage = await stageGateway(context)
    const { port } = stage.server
    const pids = (): readonly number[] => stage.server.pids
    const streams = await beginStreams(port)
    const all = await playRounds(
      context,
      async (number) => {
        const readsFirst = number % 2 === 0
        const first = await measure(port, pids, readsFirst)
        const second = await measure(port, pids, !readsFirst)
        const [off, on] = readsFirst ? [second, first] : [first, second]
        return { off, on, more: on.cpu - off.cpu }
      },
      ({ off, on, more }) =>
        `${off.cpu.toFixed(1)} points of a core without, ${on.cpu.toFixed(1)} with: ${more.toFixed(1)}`,
    )
    const page = await measurePage(port)
    await streams.end()
    await stage.stop()
    const more = medianInterval(all.map((round) => round.more))!
    const { median } = over(all)
    return {
      bars: [
        atMost('CPU of the server for the feed, median', more.median, 1, 'points of a core'),
        atMost(
          'messages of the feed',
          median(({ on }) => on.messagesPerSecond),
          10,
          '/s',
        ),
        ...(page === null ? [] : [atMost('main thread of an open page for each message', page, 4, 'ms')]),
        exactly('incomplete streams', streams.figures.incomplete, 0),
      ],
      figures: [
        figure('streams at a time', STREAMS),
        figure('CPU for the feed, lower end of the interval', more.low, 'points of a core'),
        figure('CPU for the feed, upper end of the interval', more.high, 'points of a core'),
        figure(
          'CPU without a reader',
          median(({ off }) => off.cpu),
          'points of a core',
        ),
        figure(
          'feed',
          median(({ on }) => on.bytesPerSecond / 1024),
          'KiB/s',
        ),
      ],
      notes: [
        ...streams.figures.notes,
        ...(page === null ? ['no Chromium is installed: no page was opened'] : []),
      ],
    }
  },
}
