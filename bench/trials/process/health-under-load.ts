/** Whether the health operation stays quick while others keep the server busy: with hashes in its pool, or with searches. */
import { fileURLToPath } from 'node:url'
import { Histogram } from '../../../src/base/histogram.js'
import type { HttpResponse } from '../../harness/http/raw-connection.js'
import { pinnedCommand } from '../../harness/machine/pinning.js'
import { cpuMs } from '../../harness/machine/proc.js'
import type { SluiceServer } from '../../harness/server/sluice-server.js'
import { quietRounds, watchCores, watchProcesses } from '../disturbance.js'
import { closedLoop, countStatuses, failedRequests, type LoadResult, openLoop } from '../load.js'
import { apiRequest, HEALTH, hashRequest } from '../requests.js'
import {
  atLeast,
  below,
  exactly,
  figure,
  over,
  type Trial,
  type TrialContext,
  type TrialFigure,
} from '../trial.js'

const SECONDS = 5

/** The light caller beside the load. */
function callHealth(port: number): Promise<LoadResult> {
  return openLoop({ port, connections: 8, perSecond: 100, seconds: SECONDS, request: HEALTH })
}

/** What the light caller saw in all rounds. */
function healthLatency(loads: readonly LoadResult[]): Histogram {
  return loads.reduce((all, { latency }) => all.merge(latency.histogram()), new Histogram())
}

function healthFigures(health: Histogram, loads: readonly LoadResult[]): TrialFigure[] {
  return [
    figure('health p50, from the due time', health.quantile(0.5), 'ms'),
    figure('health max, from the due time', health.max, 'ms'),
    figure('health requests', health.count),
    figure('health requests sent late, max', Math.max(...loads.map(({ lateness }) => lateness.max)), 'ms'),
  ]
}

const PBKDF2_ROUNDS = 10_000
const HASH_CONNECTIONS = 8
const HASH = hashRequest('overload', PBKDF2_ROUNDS)
const BARE_HASH = fileURLToPath(new URL('./bare-hash.js', import.meta.url))
/**
 * At some 600 calls a second the engine goes on compiling for about ten seconds, in threads that share the core:
 * 60 us a call at first, 10 us in the end. What is wanted is the rate that stays.
 */
const HASH_WARM_UP_SECONDS = 15
const POOL_THREADS = 1

/** Bare threads in a process of their own. Faults: Error when it prints no rate. */
async function measureBareHash({ staging, cores }: TrialContext) {
  const line = [process.execPath, BARE_HASH, POOL_THREADS, PBKDF2_ROUNDS, SECONDS].map(String)
  const command = pinnedCommand(cores === null ? null : [cores.server], line)
  let cpu = 0
  const endWatch = watchCores(cores, () => cpu)
  const child = staging.children.start(command, { stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  for await (const chunk of child.stdout!) text += chunk
  const [perSecond = 0, perCpuSecond = 0, totalCpuMs = 0] = text.split(' ').map(Number)
  if (!(perSecond > 0)) throw new Error('the bare threads reported no rate')
  cpu = totalCpuMs
  // Derivations by CPU time: the noise of other programs cannot touch them.
  return { perSecond, perCpuSecond, disturbed: endWatch() }
}

async function measureServerHash({ port, pids }: SluiceServer, context: TrialContext) {
  const before = cpuMs(pids)
  const endWatch = watchProcesses(context, pids)
  const [hashes, health] = await Promise.all([
    closedLoop({ port, connections: HASH_CONNECTIONS, seconds: SECONDS, request: HASH }),
    callHealth(port),
  ])
  const disturbed = endWatch()
  const derived = countStatuses(hashes, 200)
  const perCpuSecond = (1_000 * derived) / (cpuMs(pids) - before)
  const ours = { perSecond: derived / hashes.seconds, perCpuSecond, disturbed }
  return { ours, health, failures: failedRequests(hashes) + failedRequests(health) }
}

export const healthUnderHash: Trial = {
  name: 'health-under-hash',
  summary: 'pool saturated with hashes: health p99 under 20 ms, hash rate at least 95 % of bare threads',
  rounds: 3,
  roundLimitS: 300,
  pinned: true,
  run: async (context) => {
    const server = await context.staging.start({ poolThreads: POOL_THREADS })
    const { port } = server
    const seconds = HASH_WARM_UP_SECONDS
    await closedLoop({ port, connections: HASH_CONNECTIONS, seconds, request: HASH })
    const measure = async (number: number) => {
      const early = number % 2 === 1 ? await measureBareHash(context) : null
      const loaded = await measureServerHash(server, context)
      const bare = early ?? (await measureBareHash(context))
      return { bare, ...loaded, disturbed: Math.max(bare.disturbed, loaded.ours.disturbed) }
    }
    const { kept, figures, notes } = await quietRounds(
      context,
      measure,
      ({ bare, ours }) => `${bare.perSecond.toFixed(0)} hashes/s bare, ${ours.perSecond.toFixed(0)} ours`,
    )
    await server.stop()
    const loads = kept.map((round) => round.health)
    const health = healthLatency(loads)
    const bare = over(kept.map((round) => round.bare))
    const ours = over(kept.map((round) => round.ours))
    const ratio = ours.median('perSecond') / bare.median('perSecond')
    return {
      bars: [
        below('health p99, from the due time', health.quantile(0.99), 20, 'ms'),
        atLeast('hash rate / rate of bare threads', ratio, 0.95),
        exactly('failed requests', over(kept).sum('failures'), 0),
      ],
      figures: [
        figure('hashes, bare', bare.median('perSecond'), '/s'),
        figure('hashes, ours', ours.median('perSecond'), '/s'),
        figure('hashes by CPU time, bare', bare.median('perCpuSecond'), '/s'),
        figure('hashes by CPU time, ours', ours.median('perCpuSecond'), '/s'),
        figure('pool threads', POOL_THREADS),
        ...healthFigures(health, loads),
        ...figures,
      ],
      notes,
    }
  },
}

const ITEMS = 100_000
const SEARCHERS = 4
const SEARCH = apiRequest('GET', '/search?q=no%20such%20cargo')

/** Counts answers that are not an empty list after visiting every item. */
class ScanCheck {
  wrong = 0

  readonly see = (answer: HttpResponse): void => {
    const complete = answer.headers.get('x-items-scanned') === String(ITEMS)
    if (answer.status !== 200 || !complete || answer.body.toString() !== '[]') this.wrong++
  }
}

async function measureSearches({ port, pids }: SluiceServer, check: ScanCheck, context: TrialContext) {
  const settings = { port, seconds: SECONDS, request: SEARCH, onAnswer: check.see }
  const before = cpuMs(pids)
  const endAlone = watchProcesses(context, pids)
  const alone = await closedLoop({ ...settings, connections: 1 })
  const aloneDisturbed = endAlone()
  const aloneCpu = (cpuMs(pids) - before) / alone.answered
  const endCrowded = watchProcesses(context, pids)
  const [searches, health] = await Promise.all([
    closedLoop({ ...settings, connections: SEARCHERS }),
    callHealth(port),
  ])
  return {
    /** Median latency of one search at a time, milliseconds. */
    aloneP50: alone.latency.quantile(0.5),
    /** Server CPU of one search, milliseconds. */
    aloneCpu,
    /** Searches per second of several connections. */
    rate: searches.answered / searches.seconds,
    health,
    failures: over([alone, searches, health]).sum(failedRequests),
    disturbed: Math.max(aloneDisturbed, endCrowded()),
  }
}

export const healthUnderSearch: Trial = {
  name: 'health-under-search',
  summary:
    '100,000 items under four endless searches: health p99 under 10 ms; nanoseconds for each item visited',
  rounds: 3,
  roundLimitS: 360,
  pinned: true,
  run: async (context) => {
    const check = new ScanCheck()
    const server = await context.staging.start({ seedItems: ITEMS })
    const startMs = (performance.now() - server.spawnedAt).toFixed(0)
    context.progress(`${ITEMS} items seeded, listening after ${startMs} ms`)
    await closedLoop({ port: server.port, connections: 1, seconds: 1, request: SEARCH })
    const { kept, figures, notes } = await quietRounds(
      context,
      () => measureSearches(server, check, context),
      ({ aloneP50, health }) =>
        `one search ${aloneP50.toFixed(2)} ms, health p99 ${health.latency.quantile(0.99).toFixed(2)} ms`,
    )
    await server.stop()
    const loads = kept.map((round) => round.health)
    const health = healthLatency(loads)
    const { median, sum } = over(kept)
    const perItem = (ms: number): number => (ms * 1e6) / ITEMS
    return {
      bars: [
        below('health p99, from the due time', health.quantile(0.99), 10, 'ms'),
        exactly('searches that did not visit every item and find none', check.wrong, 0),
        exactly('failed requests', sum('failures'), 0),
      ],
      figures: [
        figure('latency of an item visited, one search at a time', perItem(median('aloneP50')), 'ns'),
        figure('server CPU of an item visited', perItem(median('aloneCpu')), 'ns'),
        figure('one search alone, p50', median('aloneP50'), 'ms'),
        figure(`searches at ${SEARCHERS} connections`, median('rate'), '/s'),
        ...healthFigures(health, loads),
        ...figures,
      ],
      notes,
    }
  },
}
