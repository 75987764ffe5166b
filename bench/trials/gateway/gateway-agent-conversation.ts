import { setTimeout as sleep } from 'node:timers/promises'
import { quantile } from '../../harness/figures/statistics.js'
import type { CheckedStreamFigures } from '../../harness/sse/checked-streams.js'
import { measureLatencyPairs, RepeatedCall } from '../../performance/gateway/added-latency.js'
import { agentCall, agentConversation } from '../../performance/gateway/agent-conversation.js'
import { BARE_TARGET } from '../../performance/gateway/calls.js'
import { PACE_MS } from '../../performance/gateway/mock-models.js'
import { quietRounds, watchProcesses } from '../disturbance.js'
import { atMost, exactly, figure, over, type Trial, type TrialContext, type TrialFigure } from '../trial.js'
import { type GatewayStage, runStreams, stageGateway } from './gateway-stage.js'

const PAIRS = 200
const WARM_UP = 60
const LANES = 50
const SECONDS = 6
/** An agent asks again when it has worked on the answer; this is many agents at one worker. */
const EVERY_MS = 200
/** The model of each route: one whose provider speaks the messages format, and one to whose format it is translated. */
const ROUTES = { 'same format': 'messages/json', translated: 'bench/json' } as const
type MessagesRoute = keyof typeof ROUTES
const ROUTE_NAMES = ['same format', 'translated'] as const

type ConversationRound = Awaited<ReturnType<typeof measureRound>>

const AT_MOCK = { ...BARE_TARGET, path: '/v1/messages' }

/** Paced streams of other callers through the gateway, and a large call that comes every now and then. */
export async function streamsBeside(
  { server }: Pick<GatewayStage, 'server'>,
  conversation: RepeatedCall | null,
): Promise<{ readonly streams: CheckedStreamFigures; readonly failed: number }> {
  let over = false
  let failed = 0
  const asking = async (): Promise<void> => {
    while (!over && conversation !== null) {
      if ((await conversation.ask()) === null) failed++
      await sleep(EVERY_MS)
    }
  }
  const asked = asking()
  const settings = { model: 'bench/paced-64', streams: LANES, seconds: SECONDS, spreadMs: 64 * PACE_MS }
  const streams = await runStreams(server.port, settings)
  over = true
  await asked
  conversation?.leave()
  return { streams, failed }
}

async function measureRound(stage: GatewayStage, context: TrialContext) {
  const { mock, server } = stage
  const endWatch = watchProcesses(context, server.pids, [mock.pid])
  const through = (route: MessagesRoute) => new RepeatedCall(server.port, agentCall(ROUTES[route]))
  const pairs = async (route: MessagesRoute) => {
    const direct = new RepeatedCall(mock.port, agentCall('bench/json', AT_MOCK))
    await measureLatencyPairs(direct, through(route), (made) => made === WARM_UP)
    const { whole, failed } = await measureLatencyPairs(direct, through(route), (made) => made === PAIRS)
    return { added: whole.map((pair) => pair.through - pair.direct), failed }
  }
  const same = await pairs('same format')
  const translated = await pairs('translated')
  const alone = await streamsBeside(stage, null)
  const besideSame = await streamsBeside(stage, through('same format'))
  const besideTranslated = await streamsBeside(stage, through('translated'))
  return {
    /** What the gateway adds to each answer, milliseconds. */
    added: { 'same format': same.added, translated: translated.added },
    /** Streams beside the conversations of each route, and the same with nobody beside them. */
    streams: {
      'same format': besideSame.streams,
      translated: besideTranslated.streams,
      alone: alone.streams,
    },
    failed: same.failed + translated.failed + besideSame.failed + besideTranslated.failed,
    disturbed: endWatch(),
  }
}

/** How much longer than its pace a stream stood still. */
export const longestStall = ({ gap }: CheckedStreamFigures): number => gap.max - PACE_MS

const addedBy = (route: MessagesRoute, rounds: readonly ConversationRound[], q: number): number =>
  quantile(
    rounds.flatMap(({ added }) => added[route]),
    q,
  )

function routeFigures(route: MessagesRoute, rounds: readonly ConversationRound[]): TrialFigure[] {
  const gap = (q: number): number => over(rounds).median(({ streams }) => streams[route].gap.quantile(q))
  return [
    ...[0.5, 0.9, 0.99].map((q) => figure(`${route}: added, p${q * 100}`, addedBy(route, rounds, q), 'ms')),
    figure(`${route}: gap of the streams beside, p50`, gap(0.5), 'ms'),
    figure(`${route}: gap of the streams beside, p99`, gap(0.99), 'ms'),
  ]
}

export const gatewayAgentConversation: Trial = {
  name: 'gateway-agent-conversation',
  summary: 'a conversation of 400 KiB with 40 calls: at most 5 ms added, no other stream stalled over 10 ms',
  rounds: 3,
  roundLimitS: 360,
  pinned: true,
  run: async (context) => {
    const stage = await stageGateway(context)
    const { kept, figures, notes } = await quietRounds(
      context,
      () => measureRound(stage, context),
      ({ added, streams }) => {
        const ms = quantile(added.translated, 0.5).toFixed(1)
        return `${ms} ms added when translated, stall ${longestStall(streams.translated).toFixed(1)} ms`
      },
    )
    await stage.stop()
    const { median, max, sum } = over(kept)
    const stall = (of: MessagesRoute | 'alone') => (round: ConversationRound) =>
      longestStall(round.streams[of])
    const stallBar = (route: MessagesRoute) =>
      atMost(`${route}: longest stall of another stream`, median(stall(route)), 10, 'ms')
    const streams = kept.flatMap((round) => Object.values(round.streams))
    return {
      bars: [
        ...ROUTE_NAMES.map((route) =>
          atMost(`${route}: added to the answer, p50`, addedBy(route, kept, 0.5), 5, 'ms'),
        ),
        ...ROUTE_NAMES.map(stallBar),
        exactly('conversations without an answer', sum('failed'), 0),
        exactly('incomplete streams', over(streams).sum('incomplete'), 0),
      ],
      figures: [
        figure('size of the conversation', agentConversation('bench/json').length / 1024, 'KiB'),
        ...ROUTE_NAMES.flatMap((route) => routeFigures(route, kept)),
        figure('longest stall of a stream with nobody beside it', median(stall('alone')), 'ms'),
        figure(
          'longest stall of all rounds',
          Math.max(...ROUTE_NAMES.map((route) => max(stall(route)))),
          'ms',
        ),
        ...figures,
      ],
      notes: [...notes, ...streams.flatMap((one) => one.notes).slice(0, 5)],
    }
  },
}
