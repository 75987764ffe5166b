/** Plays scenarios on a fleet under load, one after the other, and judges what callers and books have seen. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Complaint, type DrillVerdict, weighComplaints } from '../verdict.js'
import { auditBooks } from './books.js'
import { DRILL_MACHINES, type FleetObservation, type FleetScenario, sentBetween } from './fleet-scenario.js'
import type { FleetLoad } from './load.js'
import type { FleetStage } from './stage.js'

export interface FleetResult {
  readonly scenario: Pick<FleetScenario, 'id' | 'name'>
  readonly verdict: DrillVerdict
  /** How long the fault lasted, and how long the fleet took to serve again everywhere. */
  readonly outageMs: number
  readonly recoveryMs: number | null
  readonly served: number
  readonly refused: number
  readonly complaints: readonly string[]
}

/** Over all machines. */
const CALLS_PER_SECOND = 90
const STEADY_MS = 2_000
/** Before it fails: leases follow the rate at which they are used, which has to be known first. */
const WARM_UP_MS = 4_000
/** Far more than a scenario can spend. */
const CREDIT_CALLS = 100_000
const RECOVERY_MS = 5_000
/** How long it is looked whether a fleet comes back at all. */
const GIVEN_UP_MS = 30_000
/** Machines serve again when each of them has served so many calls in a row. */
const IN_A_ROW = 5
/** A refusal may take as long as a statement, with room for a machine that has other things to do. */
const LONGEST_MS = 4_500

/**
 * Plays one scenario on a stage whose machines all serve, and leaves it so. `slack` multiplies the times that are
 * allowed, for machines that have other things to do.
 */
export async function playFleetScenario(
  stage: FleetStage,
  scenario: FleetScenario,
  slack = 1,
): Promise<FleetResult> {
  const payer = await stage.addPayer(CREDIT_CALLS)
  const spare = await stage.addKey(payer.managementKey)
  const load = stage.load(payer, CALLS_PER_SECOND)
  await sleep(WARM_UP_MS)
  const from = performance.now()
  const mend = await scenario.strike(stage)
  const asked = scenario.meanwhile?.(stage, payer, spare) ?? Promise.resolve([])
  await sleep(scenario.lastsMs)
  await mend()
  const to = performance.now()
  const recoveryMs = await awaitRecovery(load, to)
  const meanwhile = await asked
  await sleep(STEADY_MS)
  await load.stop()
  const books = await auditBooks(stage, payer, load.calls)
  const seen = { calls: load.calls, outage: { from, to }, recoveryMs, meanwhile, books }
  const complaints = judgeObservation(scenario, seen, slack)
  return {
    scenario,
    verdict: weighComplaints(complaints),
    outageMs: Math.round(to - from),
    recoveryMs: recoveryMs === null ? null : Math.round(recoveryMs),
    served: load.served.length,
    refused: load.calls.length - load.served.length,
    complaints: complaints.map(({ sentence }) => sentence),
  }
}

/**
 * Milliseconds from `to` until the first of a row of served calls of the slowest machine was sent; null when that took
 * more than half a minute.
 */
export async function awaitRecovery(load: FleetLoad, to: number): Promise<number | null> {
  const recoveredAt = (machine: number): number | null => {
    // They stand in the order of their ends: of many only the last ones are looked at.
    const since = load.calls.findLastIndex(({ endedAt }) => endedAt < to) + 1
    const later = load.calls.slice(since).filter((call) => call.machine === machine && call.sentAt >= to)
    const lastFailure = later.findLastIndex(({ status }) => status !== 200)
    const row = later.slice(lastFailure + 1)
    return row.length >= IN_A_ROW ? row[0]!.sentAt : null
  }
  for (const end = performance.now() + GIVEN_UP_MS; performance.now() < end; await sleep(50)) {
    const times = Array.from({ length: DRILL_MACHINES }, (_, machine) => recoveredAt(machine))
    if (times.every((time) => time !== null)) return Math.max(...times) - to
  }
  return null
}

/** Everything that is not as the scenario asks for it. */
export function judgeObservation(
  scenario: FleetScenario,
  seen: FleetObservation,
  slack = 1,
): readonly Complaint[] {
  const say = (severity: Complaint['severity'], sentences: readonly string[]): Complaint[] =>
    sentences.map((sentence) => ({ severity, sentence }))
  return [
    ...say('harm', seen.books),
    ...say('harm', findMisled(scenario, seen, LONGEST_MS * slack)),
    ...say('outcome', seen.meanwhile),
    ...say('outcome', findFailures(scenario, seen, RECOVERY_MS * slack)),
    ...say('truth', findUntoldTimes(seen)),
  ]
}

/** Callers that were told what is not so, or left waiting. */
function findMisled(
  { struck }: FleetScenario,
  { calls, recoveryMs }: FleetObservation,
  longestMs: number,
): string[] {
  const unpaid = calls.filter(({ status }) => status === 402).length
  const late = calls.filter((call) => call.machine !== struck && call.endedAt - call.sentAt > longestMs)
  const most = Math.max(0, ...late.map(({ sentAt, endedAt }) => endedAt - sentAt))
  return [
    ...(unpaid === 0 ? [] : [`${unpaid} calls were answered with 402, and there were credits`]),
    ...(late.length === 0
      ? []
      : [`${late.length} calls took longer than ${longestMs} ms, up to ${Math.round(most)}`]),
    ...(recoveryMs === null ? [`not all machines served again within ${GIVEN_UP_MS / 1_000} s`] : []),
  ]
}

function findFailures(
  scenario: FleetScenario,
  { calls, outage, recoveryMs }: FleetObservation,
  soonMs: number,
): string[] {
  const { serving, struck, servingMs = Number.POSITIVE_INFINITY } = scenario
  const { from, to } = outage
  const during = sentBetween(calls, { from, to: Math.min(to, from + servingMs) })
  const unserved = during.filter(({ machine, status }) => serving.includes(machine) && status !== 200)
  const strange = calls.filter(
    ({ machine, status }) => ![200, 402, 503].includes(status) && !(status === 0 && machine === struck),
  )
  const broken = scenario.breaksAll === true ? strange.filter(({ status }) => status !== 0) : strange
  return [
    ...(unserved.length === 0
      ? []
      : [
          `${unserved.length} calls were not served by machines that had to: ${countStatuses(unserved)}; the first said ${unserved[0]!.said}`,
        ]),
    ...(broken.length === 0 ? [] : [`calls came to nothing: ${countStatuses(broken)}`]),
    ...(recoveryMs !== null && recoveryMs > soonMs
      ? [`all machines served again ${Math.round(recoveryMs)} ms after it was over`]
      : []),
  ]
}

function findUntoldTimes({ calls }: FleetObservation): string[] {
  const untold = calls.filter(({ status, hasRetryAfter }) => status === 503 && !hasRetryAfter).length
  return untold === 0 ? [] : [`${untold} answers of 503 did not say when to come again`]
}

/** `503 of machine 2 (14), none of machine 1 (3)`. */
function countStatuses(calls: readonly { readonly status: number; readonly machine: number }[]): string {
  const counts = new Map<string, number>()
  for (const { status, machine } of calls) {
    const what = `${status === 0 ? 'none' : status} of machine ${machine + 1}`
    counts.set(what, (counts.get(what) ?? 0) + 1)
  }
  return [...counts].map(([what, count]) => `${what} (${count})`).join(', ')
}
