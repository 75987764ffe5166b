import { setTimeout as sleep } from 'node:timers/promises'
import { Connection } from './connection.js'
import { onGeneratorCore } from './cores.js'
import { cpuOf, quietRounds, type Watched, watchCores } from './disturbance.js'
import { closedLoop, countStatuses, type LoadResult, openLoop } from './load.js'
import { residentBytes } from './process-tree.js'
import { HEALTH, hashOf } from './requests.js'
import type { Answer } from './response-reader.js'
import type { ServerProcess } from './server-process.js'
import {
  atLeast,
  atMost,
  exactly,
  figure,
  median,
  type Outcome,
  type Trial,
  type TrialContext,
} from './trial.js'

const HASH = hashOf('overload', 10_000)
const FACTOR = 10
const SECONDS = 20
const MIB = 2 ** 20

interface Assault {
  readonly load: LoadResult
  readonly acceptedInTime: number
  readonly acceptedSlowestMs: number
  readonly badRefusals: number
  /** Resident bytes of all server processes at each full second. */
  readonly resident: readonly number[]
}

interface Round extends Assault, Watched {
  readonly capacity: number
  readonly connections: number
  readonly calmMs: number
  readonly recoveredMs: number
  /** Hashes for each second of server CPU, which other programs on the machine cannot touch. */
  readonly calmPerCpu: number
  readonly loadedPerCpu: number
}

/** Median time of `count` hashes one after the other, milliseconds; NaN when one of them was not answered with 200. */
async function hashTime(port: number, count: number): Promise<number> {
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
function connectionsFor(capacity: number): number {
  return Math.min(2_048, Math.max(256, Math.ceil(capacity * 2)))
}

function isGoodRefusal(answer: Answer): boolean {
  return /^\d+$/.test(answer.headers.get('retry-after') ?? '')
}

async function assault(server: ServerProcess, perSecond: number, connections: number): Promise<Assault> {
  const processes = server.processes()
  const resident: number[] = []
  const sample = (): void => {
    if (resident.length <= SECONDS) resident.push(residentBytes(processes))
  }
  let sampler: NodeJS.Timeout | undefined
  let started = 0
  let acceptedInTime = 0
  let acceptedSlowestMs = 0
  let badRefusals = 0
  const load = await openLoop({
    port: server.port,
    connections,
    seconds: SECONDS,
    perSecond,
    whenBusy: 'skip',
    request: () => HASH,
    onStart: () => {
      started = performance.now()
      sample()
      sampler = setInterval(sample, 1_000)
    },
    onAnswer: (answer, ms) => {
      if (answer.status === 200) {
        if (performance.now() - started <= SECONDS * 1_000) acceptedInTime++
        acceptedSlowestMs = Math.max(acceptedSlowestMs, ms)
      } else if (answer.status === 503 && !isGoodRefusal(answer)) badRefusals++
    },
  })
  clearInterval(sampler)
  return { load, acceptedInTime, acceptedSlowestMs, badRefusals, resident }
}

/** Milliseconds until health answers and a hash takes at most 1.5 times as long as unloaded; infinite after 10 s. */
async function recovery(port: number, calmMs: number): Promise<number> {
  const since = performance.now()
  while (performance.now() - since < 10_000) {
    const connection = await Connection.open(port)
    const healthy = (await connection.send(HEALTH)).status === 200
    connection.drop()
    if (healthy && (await hashTime(port, 5)) <= calmMs * 1.5) return performance.now() - since
    await sleep(20)
  }
  return Number.POSITIVE_INFINITY
}

async function oneRound({ staging, cores, progress }: TrialContext): Promise<Round> {
  const server = await staging.start({ workers: 1, poolThreads: 1, core: cores?.server ?? null })
  await hashTime(server.port, 50)
  const calmMs = await hashTime(server.port, 200)
  const cpu = cpuOf(server.processes())
  const endWatch = watchCores(cores, cpu)
  const cpuAtStart = cpu()
  const peak = await closedLoop({ port: server.port, connections: 4, seconds: 5, request: () => HASH })
  const capacity = countStatuses(peak, 200) / peak.seconds
  const connections = connectionsFor(capacity)
  progress(
    `capacity ${capacity.toFixed(0)} hashes/s; offering ${FACTOR} times that over ${connections} connections`,
  )
  const cpuBetween = cpu()
  const result = await assault(server, capacity * FACTOR, connections)
  const cpuAtEnd = cpu()
  const disturbed = endWatch()
  const recoveredMs = await recovery(server.port, calmMs)
  await server.stop()
  const calmPerCpu = (1_000 * countStatuses(peak, 200)) / (cpuBetween - cpuAtStart)
  const loadedPerCpu = (1_000 * countStatuses(result.load, 200)) / (cpuAtEnd - cpuBetween)
  return { ...result, capacity, connections, calmMs, recoveredMs, calmPerCpu, loadedPerCpu, disturbed }
}

function growth({ resident }: Round, fromSecond: number): number {
  return ((resident.at(-1) ?? Number.NaN) - (resident[fromSecond] ?? Number.NaN)) / MIB
}

async function run(context: TrialContext): Promise<Outcome> {
  const quiet = await quietRounds(context, () => onGeneratorCore(context.cores, () => oneRound(context)))
  const rounds = quiet.kept
  const total = (value: (round: Round) => number): number =>
    rounds.reduce((sum, round) => sum + value(round), 0)
  const middle = (value: (round: Round) => number): number => median(rounds.map(value))
  const refused = total(({ load }) => countStatuses(load, 503))
  const others = total(({ load }) => load.latency.count - countStatuses(load, 200) - countStatuses(load, 503))
  return {
    bars: [
      exactly('answers other than 200 and 503', others, 0),
      exactly(
        'requests without an answer',
        total(({ load }) => load.lost),
        0,
      ),
      exactly(
        '503 without an integer Retry-After',
        total((round) => round.badRefusals),
        0,
      ),
      atLeast('503 answers (else there was no overload)', refused, 1),
      atLeast(
        'accepted rate / capacity',
        middle((r) => r.acceptedInTime / SECONDS / r.capacity),
        0.9,
      ),
      atMost(
        'growth of resident memory, 5 s to 20 s',
        Math.max(...rounds.map((r) => growth(r, 5))),
        32,
        'MiB',
      ),
      atMost(
        'back to 1.5 times the unloaded latency',
        Math.max(...rounds.map((r) => r.recoveredMs)),
        2_000,
        'ms',
      ),
    ],
    figures: [
      figure(
        'capacity',
        middle((r) => r.capacity),
        '/s',
      ),
      figure(
        'accepted',
        middle((r) => r.acceptedInTime / SECONDS),
        '/s',
      ),
      figure(
        'offered',
        middle((r) => r.load.latency.count / SECONDS),
        '/s',
      ),
      figure(
        'due but not offered, every connection busy',
        total((r) => r.load.notOffered),
      ),
      figure('refused with 503', refused),
      figure(
        'connections',
        middle((r) => r.connections),
      ),
      figure('slowest accepted answer', Math.max(...rounds.map((r) => r.acceptedSlowestMs)), 'ms'),
      figure(
        'unloaded hash p50',
        middle((r) => r.calmMs),
        'ms',
      ),
      figure(
        'resident at the start',
        middle((r) => (r.resident[0] ?? Number.NaN) / MIB),
        'MiB',
      ),
      figure(
        'resident at 10 s',
        middle((r) => (r.resident[10] ?? Number.NaN) / MIB),
        'MiB',
      ),
      figure(
        'resident at the end',
        middle((r) => (r.resident.at(-1) ?? Number.NaN) / MIB),
        'MiB',
      ),
      figure(
        'requests sent late, p99',
        middle((r) => r.load.lateness.quantile(0.99)),
        'ms',
      ),
      ...quiet.figures,
    ],
    notes: quiet.notes,
  }
}

export const overload: Trial = {
  name: 'overload',
  summary: 'ten times the hash capacity for 20 s: 200 or 503 only, 90 % of the capacity served, memory flat',
  rounds: 1,
  roundLimitS: 360,
  run,
}
