import { setTimeout as sleep } from 'node:timers/promises'
import { median } from '../../harness/figures/statistics.js'
import { onGeneratorCore } from '../../harness/machine/pinning.js'
import { cpuMs, residentBytes } from '../../harness/machine/proc.js'
import { BARE_TARGET, SLUICE_CHAT } from '../../performance/gateway/calls.js'
import { PACE_MS } from '../../performance/gateway/mock-models.js'
import { atMost, exactly, figure, type Trial, type TrialContext, type TrialOutcome } from '../trial.js'
import { runStreams, type StreamFigures } from './checked-streams.js'
import { type GatewayStage, stageGateway } from './gateway-stage.js'

const STREAMS = 1_000
const MODEL = 'bench/paced-64'
const STREAM_MS = 64 * PACE_MS
const SECONDS = 6
const SAMPLE_MS = 100
const SETTLE_MS = 500

interface PacedRound {
  readonly through: StreamFigures
  /** The same load at the mock itself: what generator and mock are late by themselves. */
  readonly direct: StreamFigures
  /** Resident bytes of the worker for each stream, while all of them run. */
  readonly perStream: number
  readonly perStreamMost: number
  readonly residentBefore: number
  readonly cpuShare: number
}

/** Paced streams, spread over the length of one so that as many tokens are due in every millisecond. */
function pacedStreams(port: number, to: typeof SLUICE_CHAT, onAllBegun?: () => void): Promise<StreamFigures> {
  const spreadMs = STREAM_MS
  const settings = { port, to, model: MODEL, lanes: STREAMS, seconds: SECONDS, spreadMs }
  return runStreams(onAllBegun === undefined ? settings : { ...settings, onAllBegun })
}

async function measureRound({ mock, server }: GatewayStage): Promise<PacedRound> {
  // The engine compiles and the heap finds its first size; a thousand streams at a time have not been there yet.
  await runStreams({
    port: server.port,
    to: SLUICE_CHAT,
    model: 'bench/stream-64',
    lanes: 8,
    seconds: 1,
    spreadMs: 0,
  })
  await sleep(SETTLE_MS)
  const workers = server.workers
  const residentBefore = residentBytes(workers)
  const samples: number[] = []
  let timer: NodeJS.Timeout | undefined
  const begin = performance.now()
  const cpu = cpuMs(workers)
  const through = await pacedStreams(server.port, SLUICE_CHAT, () => {
    timer = setInterval(() => {
      if (performance.now() - begin < SECONDS * 1_000) samples.push(residentBytes(workers))
    }, SAMPLE_MS)
  })
  clearInterval(timer)
  const cpuShare = (cpuMs(workers) - cpu) / (performance.now() - begin)
  const direct = await pacedStreams(mock.port, BARE_TARGET)
  const perStream = (median(samples) - residentBefore) / STREAMS
  const perStreamMost = (Math.max(...samples) - residentBefore) / STREAMS
  return { through, direct, perStream, perStreamMost, residentBefore, cpuShare }
}

/** A server of its own for each round: memory that was needed once stays resident. */
async function measureRounds(context: TrialContext): Promise<PacedRound[]> {
  const all: PacedRound[] = []
  for (let number = 1; number <= context.rounds; number++) {
    const stage = await stageGateway(context, { workers: 1 })
    const round = await measureRound(stage)
    await stage.stop()
    const { through, perStream } = round
    const kib = (perStream / 1024).toFixed(1)
    context.progress(
      `round ${number}: gap p99 ${through.gap.quantile(0.99).toFixed(1)} ms, ${kib} KiB a stream`,
    )
    all.push(round)
  }
  return all
}

async function run(context: TrialContext): Promise<TrialOutcome> {
  const all = await onGeneratorCore(context.cores, () => measureRounds(context))
  const total = (value: (round: PacedRound) => number): number =>
    all.reduce((sum, one) => sum + value(one), 0)
  const middle = (value: (round: PacedRound) => number): number => median(all.map(value))
  const gap = (q: number) => middle(({ through }) => through.gap.quantile(q))
  const directGap = (q: number) => middle(({ direct }) => direct.gap.quantile(q))
  return {
    bars: [
      exactly(
        'tokens lost',
        total(({ through }) => through.lostTokens),
        0,
      ),
      exactly(
        'incomplete streams',
        total(({ through }) => through.incomplete),
        0,
      ),
      atMost('gap p50', gap(0.5), 22, 'ms'),
      atMost('gap p99', gap(0.99), 40, 'ms'),
      atMost('resident memory of a stream', middle((one) => one.perStream) / 1024, 40, 'KiB'),
    ],
    figures: [
      figure('streams at a time', STREAMS),
      figure(
        'streams',
        total(({ through }) => through.streams),
      ),
      figure('gap max', Math.max(...all.map(({ through }) => through.gap.max)), 'ms'),
      figure('gap p50 at the mock itself', directGap(0.5), 'ms'),
      figure('gap p99 at the mock itself', directGap(0.99), 'ms'),
      figure(
        'incomplete streams at the mock itself',
        total(({ direct }) => direct.incomplete),
      ),
      figure(
        'first token p50',
        middle(({ through }) => through.firstToken.quantile(0.5)),
        'ms',
      ),
      figure('most resident memory of a stream', middle((one) => one.perStreamMost) / 1024, 'KiB'),
      figure('resident before', middle((one) => one.residentBefore) / 2 ** 20, 'MiB'),
      figure(
        'server CPU',
        middle((one) => one.cpuShare),
        'cores',
      ),
    ],
    notes: all.flatMap(({ through }) => through.notes),
  }
}

export const gatewayPaced: Trial = {
  name: 'gateway-paced',
  summary: '1,000 streams of 64 tokens in gaps of 20 ms on one worker: none lost, gaps kept, 40 KiB a stream',
  rounds: 1,
  roundLimitS: 120,
  run,
}
