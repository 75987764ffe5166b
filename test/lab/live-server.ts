/** A control listener of one page: the files of the live page, and events that a test makes up. */
import { createServer, type ServerResponse } from 'node:http'
import type { LiveEvent } from '../../src/lab/live-event.js'
import { findPageAsset, PAGE_POLICY } from '../../src/lab/page/page.js'
import type { SeriesStep } from '../../src/lab/run-summary.js'
import { judgeReport } from '../../src/lab/verdict/judge.js'
import { formatValidityReport } from '../../src/lab/verdict/validity-report.js'
import type { Lifetime } from '../support/data/temp-folder.js'
import { listen } from '../support/servers/listen.js'
import { EXAMPLE } from './verdict/reference-runs.js'

export interface LiveServer {
  readonly url: string
  /** Paths that were asked for, in order. */
  readonly requestedPaths: readonly string[]
  readonly send: (event: LiveEvent) => void
  /** Ends every reader's stream, as a restart would. */
  readonly endStreams: () => void
}

/** Readers get `first` when they connect. */
export async function startLiveServer(lifetime: Lifetime, first: () => LiveEvent): Promise<LiveServer> {
  const readers = new Set<ServerResponse>()
  const asked: string[] = []
  const server = createServer((request, response) => {
    const path = request.url ?? ''
    asked.push(path)
    if (path === '/lab/v1/live') {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' })
      response.write(`retry: 100\ndata: ${JSON.stringify(first())}\n\n`)
      readers.add(response)
      response.on('close', () => readers.delete(response))
      return
    }
    const file = findPageAsset(path.replace(/^\/lab\/?/, ''), 'http://127.0.0.1:9000')
    response.writeHead(file === null ? 404 : 200, {
      'Content-Type': file?.type ?? 'text/plain',
      'Content-Security-Policy': PAGE_POLICY,
    })
    response.end(file?.body)
  })
  return {
    url: `http://127.0.0.1:${await listen(lifetime, server)}/lab`,
    requestedPaths: asked,
    send: (event) => {
      for (const reader of readers) reader.write(`data: ${JSON.stringify(event)}\n\n`)
    },
    endStreams: () => {
      for (const reader of readers) reader.end()
    },
  }
}

export const EMPTY_EVENT: LiveEvent = { run: null, steps: [], percentiles: {}, verdict: null, validity: null }

/** A run after `elapsedMs`: 200 calls a second, a hold of a second from the fifth on. `judged`: its report is there. */
export function liveEvent(
  elapsedMs: number,
  { fromMs = 0, judged = false, label = 'hold, round 1' } = {},
): LiveEvent {
  const steps = stepsBetween(fromMs, elapsedMs)
  const arrivals = Math.round(Math.max(0, elapsedMs - 2000) / 5)
  const held = elapsedMs > 5000 && elapsedMs < 6000
  const verdict = judged ? judgeReport(EXAMPLE.truth, [], EXAMPLE.report) : null
  return {
    run: {
      id: '7f3a19c2',
      label,
      expect: { loop: 'open', rate: 200, connections: 20, pattern: 'constant' },
      state: elapsedMs < 2000 ? 'warm-up' : judged ? 'stopped' : 'measuring',
      seed: 42,
      delays: 'quasi',
      marks: [],
      elapsedMs,
      warmupMs: 2000,
      measureMs: 20_000,
      totals: { arrivals, completed: arrivals - 3, aborted: 1, inFlight: 2, errors: 4, rate: 199.8 },
      connections: { now: 20, peak: 22, opened: 22 },
      workers: [1, 2].map((worker) => ({
        worker,
        cpuShare: 0.04 * worker,
        lag: { count: 1000, mean: 0.2, max: 2.7, percentiles: { p50: 0.12, p99: 1.31 } },
      })),
      stalls:
        elapsedMs < 5000
          ? []
          : [1, 2].map((worker) => ({
              kind: 'hold' as const,
              worker,
              fromMs: 5000,
              toMs: held ? null : 6000,
            })),
      faults: judged ? [] : ['hold GET /api/v1/health, 1000 ms'],
    },
    steps,
    percentiles: {
      health: percentileCurve(0.018, elapsedMs > 6000 ? 1000 : 0.4),
      report: percentileCurve(180, 500),
    },
    verdict,
    validity: verdict === null ? null : formatValidityReport(EXAMPLE.truth, EXAMPLE.report, verdict),
  }
}

function stepsBetween(fromMs: number, toMs: number): SeriesStep[] {
  return Array.from({ length: Math.floor((toMs - fromMs) / 100) }, (_, index) => {
    const atMs = fromMs + index * 100
    const held = atMs >= 5000 && atMs < 6000
    const arrivals = 20 + (Math.round(atMs / 100) % 7 === 0 ? 1 : 0)
    return {
      atMs,
      arrivals,
      completions: held ? 0 : atMs === 6000 ? 220 : arrivals,
      errors: atMs % 3100 === 0 ? 1 : 0,
      inFlightMax: held ? Math.round((atMs - 4900) / 5) : 2,
      connections: 20,
      lagMax: 0.4 + Math.abs(Math.sin(atMs / 230)),
      cpuShare: 0.05,
      p50: 0.03 + 0.05 * Math.exp(-atMs / 900),
      p99: atMs === 6000 ? 990 : 0.1 + 0.03 * Math.abs(Math.sin(atMs / 600)),
    }
  })
}

/** Points from the median up, the last ones rising to `most`. */
function percentileCurve(median: number, most: number): [number, number][] {
  return Array.from({ length: 40 }, (_, index): [number, number] => {
    const nines = (index / 39) * 3.5
    const rise = Math.max(0, (nines - 0.9) / 2.6)
    return [100 * (1 - 10 ** -nines), Math.min(most, median * (most / median) ** Math.sqrt(rise))]
  })
}
