/** Runs one profile of the practice API, stage by stage. */

import { type ArrivalPattern, arrivalSchedule, type RatePhase } from '../../harness/http/arrival-schedule.js'
import { HttpLoad } from '../../harness/http/http-load.js'
import type { Destination } from '../../harness/http/raw-connection.js'
import { resolveDestination } from '../../harness/http/requests.js'
import { costBetween, readCost } from '../../harness/machine/proc.js'
import { connectionsForRate } from '../drivers/drive-command.js'
import { type DriveReport, driveReport } from '../drivers/drive-report.js'
import type { LabControl } from '../runner/control.js'
import { IdleCrowd } from './idle-crowd.js'
import { type ItemIds, newItemIds, practiceRequests } from './practice-requests.js'
import type { PracticeKind, PracticeLoad, PracticeProfile, PracticeStage, RequestMix } from './profile.js'
import { recoveryMs } from './recovery.js'

interface PracticeRunContext {
  readonly origin: string
  /** Null: stages with faults or quasi-random delays are left out. */
  readonly control: LabControl | null
  readonly serverPids: readonly number[] | null
  readonly seed: number
  /** Stretches every stage but `capacity`. */
  readonly scale: number
  /** Told which load runs, so that an interruption can end it. */
  readonly running: (load: HttpLoad) => void
  readonly interrupted: () => boolean
}

export interface PracticeResult {
  readonly label: string
  /** Requests per second that were due; null for a closed loop. */
  readonly rate: number | null
  readonly drive: DriveReport
  /** Server CPU; null where it cannot be read. */
  readonly cpuUsPerRequest: number | null
  /** Figures that only some stages have, by name. */
  readonly extras: Readonly<Record<string, number>>
}

/** What a load comes to, once the capacity is known. */
interface StagePace {
  readonly rate: number | null
  readonly pattern: ArrivalPattern
  readonly stretches: readonly RatePhase[] | null
  /** When the peak of a spike is over. */
  readonly peakEndsMs: number | null
}

const TIMEOUT_MS = 30_000
const MIB = 2 ** 20

/** Yields the result of each stage as soon as it is there. */
export async function* runPractice(
  profile: PracticeProfile,
  ground: PracticeRunContext,
): AsyncGenerator<PracticeResult> {
  const ids = newItemIds(profile.seedItems)
  const to = await resolveDestination(new URL(ground.origin))
  let capacity = 0
  for (const stage of profile.stages) {
    if (ground.interrupted()) return
    if (ground.control === null && (stage.faults !== undefined || stage.quasi)) continue
    const result = await runStage(profile, stage, ids, capacity, to, ground)
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
  ground: PracticeRunContext,
): Promise<PracticeResult> {
  const { origin, control, serverPids, seed } = ground
  const mix = stage.mix ?? profile.mix
  const seconds = stageSeconds(stage, ground.scale)
  const pace = stagePace(stage.load, seconds, capacity, mix)
  const { kinds, request } = practiceRequests(mix, ids, seed, new URL(origin).host)
  const samples: [dueMs: number, latencyMs: number][] = []
  const extras: Record<string, number> = {}
  const crowd = await gatherIdleCrowd(stage.idle, to, serverPids, extras)
  const run = await startControlRun(control, profile, stage, seconds, pace, seed)
  const connections =
    stage.load.kind === 'closed' ? stage.load.connections : connectionsForRate(pace.rate ?? 1)
  const load = new HttpLoad({
    to,
    schedule: pace.stretches === null ? null : arrivalSchedule(pace.stretches, pace.pattern, seed),
    seconds,
    connections,
    mostConnections: 10_000,
    timeoutMs: TIMEOUT_MS,
    kinds,
    request,
    labHeaders: control !== null,
    ...(stage.requestsPerConnection !== undefined && { requestsPerConnection: stage.requestsPerConnection }),
    ...(pace.peakEndsMs !== null && { onSample: (dueMs, _kind, ms) => samples.push([dueMs, ms]) }),
  })
  ground.running(load)
  const before = serverPids === null ? null : readCost(serverPids)
  const outcome = await load.run()
  const after = serverPids === null ? null : readCost(serverPids)
  crowd?.leave()
  const faults = await stopControlRun(control, run)
  const drive = driveReport(outcome, {
    argv: ['profile', profile.name, stage.label],
    kinds,
    loop: pace.stretches === null ? 'closed' : 'open',
    ...(pace.rate !== null && { rate: pace.rate }),
    connections,
    timeoutMs: TIMEOUT_MS,
  })
  if (pace.peakEndsMs !== null) extras.recoveryMs = recoveryMs(samples, pace.peakEndsMs, seconds * 1000)
  if (before !== null && after !== null && before.rssBytes > 0) {
    extras.rssMiB = after.rssBytes / MIB
    extras.rssSlope =
      (((after.rssBytes - before.rssBytes) / before.rssBytes) * 100 * 60) / Math.max(outcome.seconds, 0.1)
  }
  const wait = waitRatio(stage.load, capacity, drive)
  if (wait !== null) extras.waitRatio = wait
  if (faults !== null) extras.faultGap = Math.abs(serverFailures(drive) - faults)
  const cpuMs = costBetween(before?.cpuMs, after?.cpuMs)
  const cpuUsPerRequest =
    cpuMs === null || outcome.figures.done === 0 ? null : (cpuMs * 1000) / outcome.figures.done
  return { label: stage.label, rate: pace.rate, drive, cpuUsPerRequest, extras }
}

function stagePace(load: PracticeLoad, seconds: number, capacity: number, mix: RequestMix): StagePace {
  const at = (rate: number): RatePhase[] => [{ seconds, rate }]
  switch (load.kind) {
    case 'closed':
      return { rate: null, pattern: 'constant', stretches: null, peakEndsMs: null }
    case 'open':
      return { rate: load.rate, pattern: load.pattern, stretches: at(load.rate), peakEndsMs: null }
    case 'share': {
      const rate = Math.max(1, capacity * load.share * mixPerKind(mix, load.of))
      return { rate, pattern: load.pattern, stretches: at(rate), peakEndsMs: null }
    }
    case 'spike': {
      const rate = Math.max(1, capacity * load.share)
      const around = Math.max(0.1, (seconds - load.peakS) / 2)
      const stretches = [
        { seconds: around, rate },
        { seconds: load.peakS, rate: rate * load.factor },
        { seconds: around, rate },
      ]
      return { rate, pattern: 'constant', stretches, peakEndsMs: (around + load.peakS) * 1000 }
    }
  }
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

/** Opens the silent connections, and says what each of them costs the server in memory. */
async function gatherIdleCrowd(
  count: number | undefined,
  to: Destination,
  serverPids: readonly number[] | null,
  extras: Record<string, number>,
): Promise<IdleCrowd | null> {
  if (count === undefined) return null
  const crowd = new IdleCrowd()
  const before = serverPids === null ? null : readCost(serverPids)
  await crowd.gather(to, count)
  const after = serverPids === null ? null : readCost(serverPids)
  extras.idle = crowd.size
  if (before !== null && after !== null && crowd.size > 0) {
    extras.bytesPerIdle = Math.max(0, after.rssBytes - before.rssBytes) / crowd.size
  }
  return crowd
}

async function startControlRun(
  control: LabControl | null,
  profile: PracticeProfile,
  stage: PracticeStage,
  seconds: number,
  { rate, pattern }: StagePace,
  seed: number,
): Promise<string | null> {
  if (control === null) return null
  const expect = rate === null ? ({ loop: 'closed' } as const) : ({ loop: 'open', rate, pattern } as const)
  const { id } = await control.start({
    label: `profile ${profile.name}: ${stage.label}`,
    expect,
    warmupS: 0,
    measureS: seconds + TIMEOUT_MS / 1000 + 10,
    seed,
    delays: stage.quasi ? 'quasi' : 'random',
  })
  for (const fault of stage.faults ?? []) await control.plan(fault)
  return id
}

/** Answers that a fault turned into failures, by the server's own count; null where none was planned. */
async function stopControlRun(control: LabControl | null, run: string | null): Promise<number | null> {
  if (control === null || run === null) return null
  await control.clearFaults()
  const { total } = await control.stop(run)
  const { error = 0, reset = 0 } = total.faults
  return error + reset
}

/** Answers of 500 and above, and requests without an answer. */
export function serverFailures({ report }: DriveReport): number {
  const bad = Object.entries(report.statuses).filter(([status]) => Number(status) >= 500)
  const lost = Object.values(report.errors).reduce((sum, count) => sum + count, 0)
  return bad.reduce((sum, [, count]) => sum + count, 0) + lost
}
