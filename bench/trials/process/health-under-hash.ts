import { fileURLToPath } from 'node:url'
import { Histogram } from '../../../src/base/histogram.js'
import { median } from '../../harness/figures/statistics.js'
import { type CorePlan, onGeneratorCore, pinnedCommand } from '../../harness/machine/pinning.js'
import type { SluiceServer } from '../../harness/server/sluice-server.js'
import { cpuClockOf, type QuietRounds, quietRounds, type WatchedRound, watchCores } from '../disturbance.js'
import { closedLoop, countStatuses, failedRequests, type LoadResult, openLoop } from '../load.js'
import { HEALTH, hashRequest } from '../requests.js'
import type { Staging } from '../staging.js'
import {
  atLeast,
  below,
  exactly,
  figure,
  type Trial,
  type TrialContext,
  type TrialOutcome,
} from '../trial.js'

const THREADS = 1
const PBKDF2_ROUNDS = 10_000
const SECONDS = 5
const HASH_CONNECTIONS = 8
/**
 * At some 600 calls a second the engine goes on compiling for about ten seconds, in threads that share the core:
 * 60 us a call at first, 10 us in the end. What is wanted is the rate that stays.
 */
const WARM_UP_SECONDS = 15
const HEALTH_CONNECTIONS = 8
const HEALTH_PER_SECOND = 100
const HASH = hashRequest('overload', PBKDF2_ROUNDS)

/** A rate of derivations, and what the noise of other programs cannot touch: derivations per second of CPU time. */
interface HashRate extends WatchedRound {
  readonly perSecond: number
  readonly perCpuSecond: number
}

interface HashRound extends WatchedRound {
  readonly bare: HashRate
  readonly ours: HashRate
  readonly health: LoadResult
  readonly failures: number
}

/** Bare threads in a process of their own. Faults: Error when it prints no rate. */
async function measureBareHash(staging: Staging, cores: CorePlan | null): Promise<HashRate> {
  const program = fileURLToPath(new URL('./bare-hash.js', import.meta.url))
  const line = [process.execPath, program, THREADS, PBKDF2_ROUNDS, SECONDS].map(String)
  const command = pinnedCommand(cores === null ? null : [cores.server], line)
  let cpu = 0
  const endWatch = watchCores(cores, () => cpu)
  const child = staging.children.start(command, { stdio: ['ignore', 'pipe', 'inherit'] })
  let text = ''
  for await (const chunk of child.stdout!) text += chunk
  const [perSecond = 0, perCpuSecond = 0, totalCpuMs = 0] = text.split(' ').map(Number)
  if (!(perSecond > 0)) throw new Error('the bare threads reported no rate')
  cpu = totalCpuMs
  return { perSecond, perCpuSecond, disturbed: endWatch() }
}

async function measureServerHash(
  server: SluiceServer,
  cores: CorePlan | null,
): Promise<Omit<HashRound, 'bare' | 'disturbed'>> {
  const { port } = server
  const cpu = cpuClockOf(server.pids)
  const before = cpu()
  const endWatch = watchCores(cores, cpu)
  const [hashes, health] = await Promise.all([
    closedLoop({ port, connections: HASH_CONNECTIONS, seconds: SECONDS, request: () => HASH }),
    openLoop({
      port,
      connections: HEALTH_CONNECTIONS,
      perSecond: HEALTH_PER_SECOND,
      seconds: SECONDS,
      whenBusy: 'wait',
      request: () => HEALTH,
    }),
  ])
  const disturbed = endWatch()
  const derived = countStatuses(hashes, 200)
  const ours = {
    perSecond: derived / hashes.seconds,
    perCpuSecond: (1_000 * derived) / (cpu() - before),
    disturbed,
  }
  return { ours, health, failures: failedRequests(hashes) + failedRequests(health) }
}

async function measureRounds(context: TrialContext): Promise<QuietRounds<HashRound>> {
  const { staging, cores, progress } = context
  const server = await staging.start({ workers: 1, poolThreads: THREADS, core: cores?.server ?? null })
  await closedLoop({
    port: server.port,
    connections: HASH_CONNECTIONS,
    seconds: WARM_UP_SECONDS,
    request: () => HASH,
  })
  const results = await quietRounds(context, async (number) => {
    const early = number % 2 === 1 ? await measureBareHash(staging, cores) : null
    const loaded = await measureServerHash(server, cores)
    const bare = early ?? (await measureBareHash(staging, cores))
    progress(
      `round ${number}: ${bare.perSecond.toFixed(0)} hashes/s bare, ${loaded.ours.perSecond.toFixed(0)} ours`,
    )
    return { bare, ...loaded, disturbed: Math.max(bare.disturbed, loaded.ours.disturbed) }
  })
  await server.stop()
  return results
}

async function run(context: TrialContext): Promise<TrialOutcome> {
  const quiet = await onGeneratorCore(context.cores, () => measureRounds(context))
  const rounds = quiet.kept
  const health = rounds.reduce((all, round) => all.merge(round.health.latency.histogram()), new Histogram())
  const middle = (value: (round: HashRound) => number): number => median(rounds.map(value))
  const bare = middle((round) => round.bare.perSecond)
  const ours = middle((round) => round.ours.perSecond)
  const failed = rounds.reduce((sum, round) => sum + round.failures, 0)
  return {
    bars: [
      below('health p99, from the due time', health.quantile(0.99), 20, 'ms'),
      atLeast('hash rate / rate of bare threads', ours / bare, 0.95),
      exactly('failed requests', failed, 0),
    ],
    figures: [
      figure('hashes, bare', bare, '/s'),
      figure('hashes, ours', ours, '/s'),
      figure(
        'hashes by CPU time, bare',
        middle((round) => round.bare.perCpuSecond),
        '/s',
      ),
      figure(
        'hashes by CPU time, ours',
        middle((round) => round.ours.perCpuSecond),
        '/s',
      ),
      figure('pool threads', THREADS),
      figure('health p50, from the due time', health.quantile(0.5), 'ms'),
      figure('health max, from the due time', health.max, 'ms'),
      figure('health requests', health.count),
      figure('health requests sent late, max', Math.max(...rounds.map((r) => r.health.lateness.max)), 'ms'),
      ...quiet.figures,
    ],
    notes: quiet.notes,
  }
}

export const healthUnderHash: Trial = {
  name: 'health-under-hash',
  summary: 'pool saturated with hashes: health p99 under 20 ms, hash rate at least 95 % of bare threads',
  rounds: 3,
  roundLimitS: 300,
  run,
}
