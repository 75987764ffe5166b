/** Runs one profile of the practice API, stage by stage. */

import { connect, type Socket } from 'node:net'
import { quantile } from '../../harness/figures/statistics.js'
import { type ArrivalPattern, arrivalSchedule, type RatePhase } from '../../harness/http/arrival-schedule.js'
import { HttpLoad, type LoadPlan } from '../../harness/http/http-load.js'
import type { Destination } from '../../harness/http/raw-connection.js'
import { resolveDestination } from '../../harness/http/requests.js'
import { readCost } from '../../harness/machine/proc.js'
import { connectionsForRate } from '../drivers/drive-command.js'
import { type DriveReport, driveReport } from '../drivers/drive-report.js'
import type { Interruptible } from '../drivers/running.js'
import type { LabControl } from '../runner/control.js'
import { type ItemIds, newItemIds, practiceRequests } from './practice-requests.js'
import type { PracticeKind, PracticeLoad, PracticeProfile, PracticeStage, RequestMix } from './profile.js'

/** What the stages of a profile are run with. */
export interface ProfileRunContext {
  readonly origin: string
  readonly control: LabControl
  readonly serverPids: readonly number[]
  readonly seed: number
  /** Stretches every stage but `capacity`. */
  readonly scale: number
  /** Told which load runs, so that an interruption can end it. */
  readonly running: (load: Interruptible) => void
  readonly interrupted: () => boolean
}

export type PracticeResult = Awaited<ReturnType<typeof runStage>>

/** What a load comes to, once the capacity is known. */
interface StagePace {
  readonly rate: number | null
  readonly pattern: ArrivalPattern
  /** Null: a closed loop. */
  readonly phases: readonly RatePhase[] | null
  /** When the peak of a spike is over. */
  readonly peakEndsMs?: number
}

export const TIMEOUT_MS = 30_000
export const MIB = 2 ** 20

/** Yields the result of each stage as soon as it is there. */
export async function* runPractice(
  profile: PracticeProfile,
  context: ProfileRunContext,
): AsyncGenerator<PracticeResult> {
  const ids = newItemIds(profile.seedItems)
  const to = await resolveDestination(new URL(context.origin))
  let capacity = 0
  for (const stage of profile.stages) {
    if (context.interrupted()) return
    const result = await runStage(profile, stage, ids, capacity, to, context)
    if (stage.label === 'capacity') capacity = result.drive.report.rps
    yield result
  }
}

/** Seconds that a profile takes at most, for a forecast. */
export function practiceSeconds(profile: PracticeProfile, scale: number): number {
  return profile.stages.reduce((sum, stage) => sum + stageSeconds(stage, scale) + 0.5, 0)
}

const stageSeconds = ({ label, seconds }: PracticeStage, scale: number): number =>
  label === 'capacity' ? seconds : seconds * scale

async function runStage(
  profile: PracticeProfile,
  stage: PracticeStage,
  ids: ItemIds,
  capacity: number,
  to: Destination,
  context: ProfileRunContext,
) {
  const { origin, control, serverPids, seed } = context
  const { load, label, requestsPerConnection } = stage
  const mix = stage.mix ?? profile.mix
  const seconds = stageSeconds(stage, context.scale)
  const pace = stagePace(load, seconds, capacity, mix)
  const { rate, phases, peakEndsMs } = pace
  const { kinds, request } = practiceRequests(mix, ids, seed, new URL(origin).host)
  const samples: [dueMs: number, latencyMs: number][] = []
  const extras: Record<string, number> = {}
  const crowd = stage.idle === undefined ? [] : await gatherIdleCrowd(stage.idle, to, serverPids, extras)
  const run = await control.start({
    label: `profile ${profile.name}: ${label}`,
    expect: rate === null ? { loop: 'closed' } : { loop: 'open', rate, pattern: pace.pattern },
    measureS: seconds + TIMEOUT_MS / 1000 + 10,
    seed,
    delays: stage.quasi ? 'quasi' : 'random',
  })
  for (const fault of stage.faults ?? []) await control.plan(fault)
  const connections = load.kind === 'closed' ? load.connections : connectionsForRate(rate ?? 1)
  const plan: LoadPlan = {
    to,
    schedule: phases === null ? null : arrivalSchedule(phases, pace.pattern, seed),
    seconds,
    connections,
    mostConnections: 10_000,
    timeoutMs: TIMEOUT_MS,
    kinds,
    request,
    labHeaders: true,
    ...(requestsPerConnection !== undefined && { requestsPerConnection }),
    ...(peakEndsMs !== undefined && { onSample: (dueMs, _kind, ms) => samples.push([dueMs, ms]) }),
  }
  const http = new HttpLoad(plan)
  context.running(http)
  const before = readCost(serverPids)
  const outcome = await http.run()
  const after = readCost(serverPids)
  for (const socket of crowd) socket.destroy()
  await control.clearFaults()
  const { total } = await control.stop(run)
  const drive = driveReport(outcome, plan, ['profile', profile.name, label], rate)
  if (peakEndsMs !== undefined) extras.recoveryMs = recoveryMs(samples, peakEndsMs, seconds * 1000)
  const known = before !== null && after !== null
  if (known && before.rssBytes > 0) {
    const growth = (after.rssBytes - before.rssBytes) / before.rssBytes
    extras.rssMiB = after.rssBytes / MIB
    extras.rssSlope = (growth * 100 * 60) / Math.max(outcome.seconds, 0.1)
  }
  const wait = waitRatio(load, capacity, drive)
  if (wait !== null) extras.waitRatio = wait
  // Answers that a fault turned into failures, by the server's own count.
  const { error = 0, reset = 0 } = total.faults
  extras.faultGap = Math.abs(serverFailures(drive) - error - reset)
  const { done } = outcome.figures
  const cpuUsPerRequest = known && done > 0 ? ((after.cpuMs - before.cpuMs) * 1000) / done : null
  return {
    label,
    /** Requests per second that were due; null for a closed loop. */
    rate,
    drive,
    /** Server CPU; null where it cannot be read. */
    cpuUsPerRequest,
    /** Figures that only some stages have, by name. */
    extras,
  }
}

function stagePace(load: PracticeLoad, seconds: number, capacity: number, mix: RequestMix): StagePace {
  if (load.kind === 'closed') return { rate: null, pattern: 'constant', phases: null }
  if (load.kind === 'spike') {
    const rate = Math.max(1, capacity * load.share)
    const around = { seconds: Math.max(0.1, (seconds - load.peakS) / 2), rate }
    const peak = { seconds: load.peakS, rate: rate * load.factor }
    const peakEndsMs = (around.seconds + load.peakS) * 1000
    return { rate, pattern: 'constant', phases: [around, peak, around], peakEndsMs }
  }
  const rate =
    load.kind === 'open' ? load.rate : Math.max(1, capacity * load.share * mixPerKind(mix, load.of))
  return { rate, pattern: load.pattern, phases: [{ seconds, rate }] }
}

/** Requests of the whole mix for each of one kind. */
function mixPerKind(mix: RequestMix, kind: PracticeKind | undefined): number {
  if (kind === undefined) return 1
  return Object.values(mix).reduce((sum, weight) => sum + weight, 0) / (mix[kind] ?? 1)
}

/** Of the mean wait to that of M/D/1, whose time of service the capacity tells; null for loads that are no such queue. */
export function waitRatio(
  load: PracticeLoad,
  capacity: number,
  { kinds }: Pick<DriveReport, 'kinds'>,
): number | null {
  if (load.kind !== 'share' || load.of === undefined || load.pattern !== 'poisson' || load.share >= 1)
    return null
  const serviceMs = 1000 / capacity
  const expectedMs = (load.share * serviceMs) / (2 * (1 - load.share))
  return ((kinds[load.of]?.mean ?? 0) - serviceMs) / expectedMs
}

const RECOVERY_STEP_MS = 250
/** Back is less than this many times the p99 before the peak; and what is below this many milliseconds is no trouble. */
const BACK_FACTOR = 1.5
const UNTROUBLED_MS = 2

/**
 * Milliseconds from `peakEndsMs` to the begin of the first step from which on every step has a p99 as before the peak.
 * `samples` are due times and latencies; the time before the peak is taken to be as long as the time behind it.
 */
export function recoveryMs(
  samples: readonly (readonly [dueMs: number, latencyMs: number])[],
  peakEndsMs: number,
  endMs: number,
): number {
  const p99Between = (from: number, to: number): number => {
    const within = samples.filter(([dueMs]) => dueMs >= from && dueMs < to)
    return within.length === 0
      ? 0
      : quantile(
          within.map(([, ms]) => ms),
          0.99,
        )
  }
  const limit = Math.max(UNTROUBLED_MS, p99Between(0, endMs - peakEndsMs) * BACK_FACTOR)
  let back = peakEndsMs
  for (let from = peakEndsMs; from < endMs; from += RECOVERY_STEP_MS) {
    if (p99Between(from, from + RECOVERY_STEP_MS) > limit) back = from + RECOVERY_STEP_MS
  }
  return back - peakEndsMs
}

const CONNECTS_AT_ONCE = 200

/**
 * Opens a connection that says nothing, into `open`, where it stays while it is open; resolves when it is or has
 * failed.
 */
function openSilent({ address, port }: Destination, open: Set<Socket>): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect({ host: address, port })
    socket.once('connect', () => {
      open.add(socket)
      resolve()
    })
    socket.on('error', () => resolve())
    socket.on('close', () => open.delete(socket))
    socket.resume()
  })
}

/** Opens up to `count` silent connections, and says what each of them costs the server in memory. */
async function gatherIdleCrowd(
  count: number,
  to: Destination,
  serverPids: readonly number[],
  extras: Record<string, number>,
): Promise<ReadonlySet<Socket>> {
  const crowd = new Set<Socket>()
  const before = readCost(serverPids)
  for (let opened = 0; opened < count; opened += CONNECTS_AT_ONCE) {
    const some = Math.min(CONNECTS_AT_ONCE, count - opened)
    await Promise.all(Array.from({ length: some }, () => openSilent(to, crowd)))
  }
  const after = readCost(serverPids)
  extras.idle = crowd.size
  if (before !== null && after !== null && crowd.size > 0) {
    extras.bytesPerIdle = Math.max(0, after.rssBytes - before.rssBytes) / crowd.size
  }
  return crowd
}

/** Answers of 500 and above, and requests without an answer. */
export function serverFailures({ report }: DriveReport): number {
  const bad = Object.entries(report.statuses).filter(([status]) => Number(status) >= 500)
  const lost = Object.values(report.errors).reduce((sum, count) => sum + count, 0)
  return bad.reduce((sum, [, count]) => sum + count, 0) + lost
}
