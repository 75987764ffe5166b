import { setTimeout as sleep } from 'node:timers/promises'
import { median } from '../../harness/figures/statistics.js'
import { cpuMs, residentBytes, sampleResident } from '../../harness/machine/proc.js'
import { BARE_TARGET } from '../../performance/gateway/calls.js'
import { PACE_MS } from '../../performance/gateway/mock-models.js'
import { atMost, exactly, figure, over, playRounds, type Trial } from '../trial.js'
import { type GatewayStage, runStreams, stageGateway } from './gateway-stage.js'

const STREAMS = 1_000
const SECONDS = 6
/** Spread over the length of one stream, so that as many tokens are due in every millisecond. */
const LOAD = { model: 'bench/paced-64', streams: STREAMS, seconds: SECONDS, spreadMs: 64 * PACE_MS }
const SAMPLE_MS = 100
const SETTLE_MS = 500

type PacedRound = Awaited<ReturnType<typeof measureRound>>

async function measureRound({ mock, server }: GatewayStage) {
  // The engine compiles and the heap finds its first size; a thousand streams at a time have not been there yet.
  await runStreams(server.port, { model: 'bench/stream-64', streams: 8, seconds: 1, spreadMs: 0 })
  await sleep(SETTLE_MS)
  const workers = server.workers
  const residentBefore = residentBytes(workers)
  let endSampling = (): number[] => []
  const begin = performance.now()
  const cpu = cpuMs(workers)
  const onAllBegun = (): void => {
    endSampling = sampleResident(() => workers, SAMPLE_MS)
    setTimeout(endSampling, SECONDS * 1_000 - (performance.now() - begin))
  }
  const through = await runStreams(server.port, { ...LOAD, onAllBegun })
  const samples = endSampling()
  const cpuShare = (cpuMs(workers) - cpu) / (performance.now() - begin)
  const direct = await runStreams(mock.port, { ...LOAD, to: BARE_TARGET })
  const perStream = (median(samples) - residentBefore) / STREAMS
  const perStreamMost = (Math.max(...samples) - residentBefore) / STREAMS
  return {
    through,
    /** The same load at the mock itself: what generator and mock are late by themselves. */
    direct,
    /** Resident bytes of the worker for each stream, while all of them run. */
    perStream,
    perStreamMost,
    residentBefore,
    cpuShare,
  }
}

export const gatewayPaced: Trial = {
  name: 'gateway-paced',
  summary: '1,000 streams of 64 tokens in gaps of 20 ms on one worker: none lost, gaps kept, 40 KiB a stream',
  rounds: 1,
  roundLimitS: 120,
  pinned: true,
  run: async (context) => {
    // A server of its own for each round: memory that was needed once stays resident.
    const play = async (): Promise<PacedRound> => {
      const stage = await stageGateway(context)
      const round = await measureRound(stage)
      await stage.stop()
      return round
    }
    const all = await playRounds(context, play, ({ through, perStream }) => {
      const kib = (perStream / 1024).toFixed(1)
      return `gap p99 ${through.gap.quantile(0.99).toFixed(1)} ms, ${kib} KiB a stream`
    })
    const { median: middle } = over(all)
    const through = over(all.map((round) => round.through))
    const direct = over(all.map((round) => round.direct))
    const gap = (q: number) => through.median((streams) => streams.gap.quantile(q))
    const directGap = (q: number) => direct.median((streams) => streams.gap.quantile(q))
    const firstToken = through.median((streams) => streams.firstToken.quantile(0.5))
    const gapMax = through.max((streams) => streams.gap.max)
    return {
      bars: [
        exactly('tokens lost', through.sum('lostTokens'), 0),
        exactly('incomplete streams', through.sum('incomplete'), 0),
        atMost('gap p50', gap(0.5), 22, 'ms'),
        atMost('gap p99', gap(0.99), 40, 'ms'),
        atMost('resident memory of a stream', middle('perStream') / 1024, 40, 'KiB'),
      ],
      figures: [
        figure('streams at a time', STREAMS),
        figure('streams', through.sum('streams')),
        figure('gap max', gapMax, 'ms'),
        figure('gap p50 at the mock itself', directGap(0.5), 'ms'),
        figure('gap p99 at the mock itself', directGap(0.99), 'ms'),
        figure('incomplete streams at the mock itself', direct.sum('incomplete')),
        figure('first token p50', firstToken, 'ms'),
        figure('most resident memory of a stream', middle('perStreamMost') / 1024, 'KiB'),
        figure('resident before', middle('residentBefore') / 2 ** 20, 'MiB'),
        figure('server CPU', middle('cpuShare'), 'cores'),
      ],
      notes: all.flatMap((round) => round.through.notes),
    }
  },
}
