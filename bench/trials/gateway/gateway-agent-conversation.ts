import { setTimeout as sleep } from 'node:timers/promises'
import { median, quantile } from '../../harness/figures/statistics.js'
import { onGeneratorCore } from '../../harness/machine/pinning.js'
import { StreamConnection } from '../../harness/sse/stream-connection.js'
import { agentCall, agentConversation } from '../../performance/gateway/agent-conversation.js'
import { BARE_TARGET, SLUICE_CHAT } from '../../performance/gateway/calls.js'
import { PACE_MS } from '../../performance/gateway/mock-models.js'
import { cpuClockOf, quietRounds, type WatchedRound, watchCores } from '../disturbance.js'
import {
  atMost,
  exactly,
  figure,
  type Trial,
  type TrialContext,
  type TrialFigure,
  type TrialOutcome,
} from '../trial.js'
import { runStreams, type StreamFigures } from './checked-streams.js'
import { type GatewayStage, stageGateway } from './gateway-stage.js'

const PAIRS = 200
const WARM_UP = 60
const LANES = 50
const SECONDS = 6
/** An agent asks again when it has worked on the answer; this is many agents at one worker. */
const EVERY_MS = 200
const MODELS = { 'same format': 'messages/json', translated: 'bench/json' } as const
type MessagesRoute = keyof typeof MODELS

interface ConversationRound extends WatchedRound {
  /** What the gateway adds to each answer, milliseconds. */
  readonly added: Readonly<Record<MessagesRoute, readonly number[]>>
  readonly beside: Readonly<Record<MessagesRoute, StreamFigures>>
  /** The same streams with nobody beside them. */
  readonly alone: StreamFigures
  readonly failed: number
}

/** Asks for one conversation again and again on one connection; null for an answer that is not whole. */
class RepeatedCall {
  #connection: StreamConnection | null = null

  constructor(
    readonly port: number,
    readonly request: Buffer,
  ) {}

  async ask(): Promise<number | null> {
    if (this.#connection?.usable !== true) this.#connection = await StreamConnection.open(this.port)
    const outcome = await this.#connection?.call(this.request, '')
    return outcome?.status === 200 && outcome.lost === null ? outcome.totalMs : null
  }

  leave(): void {
    this.#connection?.leave()
  }
}

const AT_MOCK = { ...BARE_TARGET, path: '/v1/messages' }

async function measureAdded(
  { mock, server }: GatewayStage,
  model: string,
): Promise<{ readonly added: number[]; readonly failed: number }> {
  const direct = new RepeatedCall(mock.port, agentCall('bench/json', AT_MOCK))
  const through = new RepeatedCall(server.port, agentCall(model))
  const added: number[] = []
  let failed = 0
  for (let turn = -WARM_UP; turn < PAIRS; turn++) {
    const order = turn % 2 === 0 ? [direct, through] : [through, direct]
    const first = await order[0]!.ask()
    const second = await order[1]!.ask()
    if (first === null || second === null) failed++
    else if (turn >= 0) added.push(turn % 2 === 0 ? second - first : first - second)
  }
  direct.leave()
  through.leave()
  return { added, failed }
}

/** Paced streams of other callers, and a conversation that comes every now and then. */
async function streamsBeside(
  { server }: GatewayStage,
  model: string | null,
): Promise<{ readonly lanes: StreamFigures; readonly failed: number }> {
  const settings = {
    port: server.port,
    to: SLUICE_CHAT,
    model: 'bench/paced-64',
    lanes: LANES,
    seconds: SECONDS,
    spreadMs: 64 * PACE_MS,
  }
  let over = false
  let failed = 0
  const asking = async (): Promise<void> => {
    if (model === null) return
    const asker = new RepeatedCall(server.port, agentCall(model))
    while (!over) {
      if ((await asker.ask()) === null) failed++
      await sleep(EVERY_MS)
    }
    asker.leave()
  }
  const asked = asking()
  const lanes = await runStreams(settings)
  over = true
  await asked
  return { lanes, failed }
}

async function measureRound(stage: GatewayStage, context: TrialContext): Promise<ConversationRound> {
  const endWatch = watchCores(context.cores, cpuClockOf(stage.server.pids), cpuClockOf([stage.mock.pid]))
  const same = await measureAdded(stage, MODELS['same format'])
  const translated = await measureAdded(stage, MODELS.translated)
  const alone = await streamsBeside(stage, null)
  const besideSame = await streamsBeside(stage, MODELS['same format'])
  const besideTranslated = await streamsBeside(stage, MODELS.translated)
  return {
    added: { 'same format': same.added, translated: translated.added },
    beside: { 'same format': besideSame.lanes, translated: besideTranslated.lanes },
    alone: alone.lanes,
    failed: same.failed + translated.failed + besideSame.failed + besideTranslated.failed,
    disturbed: endWatch(),
  }
}

/** How much longer than its pace a stream stood still. */
const longestStall = ({ gap }: StreamFigures): number => gap.max - PACE_MS

function figuresOf(way: MessagesRoute, rounds: readonly ConversationRound[]): TrialFigure[] {
  const added = rounds.flatMap((round) => round.added[way])
  const gap = (q: number): number => median(rounds.map(({ beside }) => beside[way].gap.quantile(q)))
  return [
    ...[0.5, 0.9, 0.99].map((q) => figure(`${way}: added, p${q * 100}`, quantile(added, q), 'ms')),
    figure(`${way}: gap of the streams beside, p50`, gap(0.5), 'ms'),
    figure(`${way}: gap of the streams beside, p99`, gap(0.99), 'ms'),
  ]
}

async function run(context: TrialContext): Promise<TrialOutcome> {
  const quiet = await onGeneratorCore(context.cores, async () => {
    const stage = await stageGateway(context, { workers: 1 })
    const rounds = await quietRounds(context, async (number) => {
      const round = await measureRound(stage, context)
      const p50 = quantile(round.added.translated, 0.5).toFixed(1)
      context.progress(
        `round ${number}: ${p50} ms added when translated, stall ${longestStall(round.beside.translated).toFixed(1)} ms`,
      )
      return round
    })
    await stage.stop()
    return rounds
  })
  const { kept } = quiet
  const ways = Object.keys(MODELS) as MessagesRoute[]
  const lanes = kept.flatMap(({ beside, alone }) => [...Object.values(beside), alone])
  return {
    bars: [
      ...ways.map((way) =>
        atMost(
          `${way}: added to the answer, p50`,
          quantile(
            kept.flatMap(({ added }) => added[way]),
            0.5,
          ),
          5,
          'ms',
        ),
      ),
      ...ways.map((way) =>
        atMost(
          `${way}: longest stall of another stream`,
          median(kept.map(({ beside }) => longestStall(beside[way]))),
          10,
          'ms',
        ),
      ),
      exactly(
        'conversations without an answer',
        kept.reduce((sum, { failed }) => sum + failed, 0),
        0,
      ),
      exactly(
        'incomplete streams',
        lanes.reduce((sum, { incomplete }) => sum + incomplete, 0),
        0,
      ),
    ],
    figures: [
      figure('size of the conversation', agentConversation('bench/json').length / 1024, 'KiB'),
      ...ways.flatMap((way) => figuresOf(way, kept)),
      figure(
        'longest stall of a stream with nobody beside it',
        median(kept.map(({ alone }) => longestStall(alone))),
        'ms',
      ),
      figure(
        'longest stall of all rounds',
        Math.max(...kept.flatMap(({ beside }) => Object.values(beside).map(longestStall))),
        'ms',
      ),
      ...quiet.figures,
    ],
    notes: [...quiet.notes, ...lanes.flatMap(({ notes }) => notes).slice(0, 5)],
  }
}

export const gatewayAgentConversation: Trial = {
  name: 'gateway-agent-conversation',
  summary: 'a conversation of 400 KiB with 40 calls: at most 5 ms added, no other stream stalled over 10 ms',
  rounds: 3,
  roundLimitS: 360,
  run,
}
