import { setTimeout as sleep } from 'node:timers/promises'
import { median } from '../../harness/figures/statistics.js'
import { Connection, requestOnce } from '../../harness/http/connection.js'
import type { HttpResponse } from '../../harness/http/raw-connection.js'
import { cpuMs, residentBytes } from '../../harness/machine/proc.js'
import type { SluiceServer } from '../../harness/server/sluice-server.js'
import { quietRounds, watchProcesses } from '../disturbance.js'
import { closedLoop, countStatuses, openLoop } from '../load.js'
import { HEALTH, hashRequest } from '../requests.js'
import {
  atLeast,
  atMost,
  exactly,
  figure,
  over,
  type RoundValue,
  type Trial,
  type TrialContext,
} from '../trial.js'

/** How much of the capacity is offered. */
const FACTOR = 10
/** How long it is offered. */
const OVERLOAD_S = 20

const HASH = hashRequest('overload', 10_000)
const CAPACITY_S = 5
const MIB = 2 ** 20

/** One overload and what came before and after it. Rates are per second, times milliseconds. */
type OverloadRound = Awaited<ReturnType<typeof overloadRound>>

/** Median time of `count` hashes one after the other, milliseconds; NaN when one of them was not answered with 200. */
async function medianHashMs(port: number, count: number): Promise<number> {
  const connection = await Connection.open(port)
  const times: number[] = []
  for (let i = 0; i < count; i++) {
    const sent = performance.now()
    const answer = await connection.send(HASH)
    times.push(answer.status === 200 ? performance.now() - sent : Number.NaN)
  }
  connection.drop()
  return times.includes(Number.NaN) ? Number.NaN : median(times)
}

/**
 * The admission bound is about one second of work, so that many requests wait inside the server. With fewer
 * connections than that the generator would be the one that waits, and nothing would ever be refused.
 */
const connectionsFor = (capacity: number): number => Math.min(2_048, Math.max(256, Math.ceil(capacity * 2)))

const hasRetryAfter = (answer: HttpResponse): boolean => /^\d+$/.test(answer.headers.get('retry-after') ?? '')

async function offerOverload(server: SluiceServer, perSecond: number, connections: number) {
  const processes = server.pids
  /** Resident memory of all server processes at each full second, MiB. */
  const resident: number[] = []
  const sample = (): void => {
    if (resident.length <= OVERLOAD_S) resident.push(residentBytes(processes) / MIB)
  }
  let sampler: NodeJS.Timeout | undefined
  let started = 0
  let acceptedInTime = 0
  let slowestAcceptedMs = 0
  let badRefusals = 0
  const load = await openLoop({
    port: server.port,
    connections,
    seconds: OVERLOAD_S,
    perSecond,
    whenBusy: 'skip',
    request: HASH,
    onStart: () => {
      started = performance.now()
      sample()
      sampler = setInterval(sample, 1_000)
    },
    onAnswer: (answer, ms) => {
      if (answer.status === 200) {
        if (performance.now() - started <= OVERLOAD_S * 1_000) acceptedInTime++
        slowestAcceptedMs = Math.max(slowestAcceptedMs, ms)
      } else if (answer.status === 503 && !hasRetryAfter(answer)) badRefusals++
    },
  })
  clearInterval(sampler)
  return { load, acceptedInTime, slowestAcceptedMs, badRefusals, resident }
}

/** Milliseconds until health answers and a hash takes at most 1.5 times as long as unloaded; infinite after 10 s. */
async function msUntilRecovered(port: number, calmMs: number): Promise<number> {
  const since = performance.now()
  while (performance.now() - since < 10_000) {
    const healthy = (await requestOnce(port, HEALTH))?.status === 200
    if (healthy && (await medianHashMs(port, 5)) <= calmMs * 1.5) return performance.now() - since
    await sleep(20)
  }
  return Number.POSITIVE_INFINITY
}

/** Hashes per second of a closed loop that keeps the pool busy, and per second of server CPU. */
async function measureCapacity({ port, pids }: SluiceServer) {
  const before = cpuMs(pids)
  const load = await closedLoop({ port, connections: 4, seconds: CAPACITY_S, request: HASH })
  const hashes = countStatuses(load, 200)
  return { perSecond: hashes / load.seconds, perCpuSecond: (1_000 * hashes) / (cpuMs(pids) - before) }
}

/**
 * One round on a fresh server: unloaded latency, capacity, overload, recovery, capacity again.
 * Faults: ConnectionLost, Error.
 */
async function overloadRound(context: TrialContext) {
  const server = await context.staging.start()
  const { port, pids } = server
  await medianHashMs(port, 50)
  const calmMs = await medianHashMs(port, 200)
  const endWatch = watchProcesses(context, pids)
  const early = await measureCapacity(server)
  const connections = connectionsFor(early.perSecond)
  context.progress(
    `capacity ${early.perSecond.toFixed(0)} hashes/s; offering ${FACTOR} times that over ${connections} connections`,
  )
  const cpuBefore = cpuMs(pids)
  const { load, acceptedInTime, ...rest } = await offerOverload(server, early.perSecond * FACTOR, connections)
  const cpuDuring = cpuMs(pids) - cpuBefore
  const recoveredMs = await msUntilRecovered(port, calmMs)
  const late = await measureCapacity(server)
  const disturbed = endWatch()
  await server.stop()
  const hashed = countStatuses(load, 200)
  const refused = countStatuses(load, 503)
  const calmPerCpu = (early.perCpuSecond + late.perCpuSecond) / 2
  return {
    ...rest,
    connections,
    /** The mean of the capacities before and after, so that a drift of the machine cancels out. */
    capacity: (early.perSecond + late.perSecond) / 2,
    capacityBefore: early.perSecond,
    capacityAfter: late.perSecond,
    offered: load.answered / OVERLOAD_S,
    notOffered: load.notOffered,
    accepted: acceptedInTime / OVERLOAD_S,
    refused,
    otherAnswers: load.answered - hashed - refused,
    lost: load.lost,
    lateMs: load.lateness.quantile(0.99),
    /** Hashes for each second of server CPU: other programs on the machine cannot touch these figures. */
    calmPerCpu,
    loadedPerCpu: (1_000 * hashed) / cpuDuring,
    /** What one refusal cost the server beside the hashes, microseconds of CPU. */
    refusalUs: (1_000 * (cpuDuring - (1_000 * hashed) / calmPerCpu)) / refused,
    calmMs,
    recoveredMs,
    disturbed,
  }
}

function residentAt(second: number): (round: OverloadRound) => number {
  return ({ resident }) => resident.at(second) ?? Number.NaN
}

/** Medians over the rounds that explain the bars. */
const METERS: readonly (readonly [name: string, value: RoundValue<OverloadRound>, unit: string])[] = [
  ['capacity before', 'capacityBefore', '/s'],
  ['capacity after', 'capacityAfter', '/s'],
  ['accepted', 'accepted', '/s'],
  ['offered', 'offered', '/s'],
  ['due but not offered, every connection busy', 'notOffered', ''],
  ['refused with 503', 'refused', ''],
  ['connections', 'connections', ''],
  ['hashes by CPU time at capacity', 'calmPerCpu', '/s'],
  ['hashes by CPU time under overload', 'loadedPerCpu', '/s'],
  ['server CPU of a refusal', 'refusalUs', 'µs'],
  ['unloaded hash p50', 'calmMs', 'ms'],
  ['resident at the start', residentAt(0), 'MiB'],
  ['resident at 10 s', residentAt(10), 'MiB'],
  ['resident at the end', residentAt(-1), 'MiB'],
  ['requests sent late, p99', 'lateMs', 'ms'],
]

export const overload: Trial = {
  name: 'overload',
  summary: 'ten times the hash capacity for 20 s: 200 or 503 only, 90 % of the capacity served, memory flat',
  rounds: 1,
  roundLimitS: 360,
  pinned: true,
  run: async (context) => {
    const { kept, figures, notes } = await quietRounds(
      context,
      () => overloadRound(context),
      ({ accepted, capacity }) => `${accepted.toFixed(0)} of ${capacity.toFixed(0)} hashes/s accepted`,
    )
    const { sum, median: middle, max } = over(kept)
    const accepted = middle((round) => round.accepted / round.capacity)
    const growth = max((round) => residentAt(-1)(round) - residentAt(5)(round))
    return {
      bars: [
        exactly('answers other than 200 and 503', sum('otherAnswers'), 0),
        exactly('requests without an answer', sum('lost'), 0),
        exactly('503 without an integer Retry-After', sum('badRefusals'), 0),
        atLeast('503 answers (else there was no overload)', sum('refused'), 1),
        atLeast('accepted rate / capacity', accepted, 0.9),
        atMost('growth of resident memory, 5 s to 20 s', growth, 32, 'MiB'),
        atMost('back to 1.5 times the unloaded latency', max('recoveredMs'), 2_000, 'ms'),
      ],
      figures: [
        ...METERS.map(([name, value, unit]) => figure(name, middle(value), unit)),
        figure('slowest accepted answer', max('slowestAcceptedMs'), 'ms'),
        ...figures,
      ],
      notes,
    }
  },
}
