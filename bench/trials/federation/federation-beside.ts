import { Histogram } from '../../../src/base/histogram.js'
import { median } from '../../harness/figures/statistics.js'
import type { HttpResponse } from '../../harness/http/raw-connection.js'
import { exchangeBytes } from '../../performance/federation/exchange-request.js'
import { newIssuingKey } from '../../performance/federation/issuing-key.js'
import { LocalIssuer } from '../../performance/federation/local-issuer.js'
import { AdminClient, FEDERATION_ENVIRONMENT } from '../../performance/federation/trust.js'
import { callBytes, SLUICE_CHAT } from '../../performance/gateway/calls.js'
import { type QuietRounds, quietRounds, type WatchedRound, watchProcesses } from '../disturbance.js'
import { type GatewayStage, stageGateway } from '../gateway/gateway-stage.js'
import { closedLoop, failedRequests, openLoop } from '../load.js'
import { atMost, exactly, figure, over, type Trial, type TrialContext, type TrialFigure } from '../trial.js'

const CONNECTIONS = 32
/** Long enough for some ten thousand chat calls of each kind of window in a round, half of it each. */
const SECONDS = 12
const WARM_UP_SECONDS = 5
/** Both kinds of window meet whatever else the machine does: they follow each other this quickly. */
const WINDOW_MS = 250
/** Far below what one core can do, so that what is measured is the work and not a queue. */
const PER_SECOND = 2_000
/** Of so many requests of a window with exchanges, one is an exchange. */
const SHARE = 100
const TOKENS = 64

type LoopKind = 'open' | 'closed'
type WindowKind = 'with' | 'without'

/** Windows with and without exchanges: A B B A, so that a drift of the machine meets both alike. */
class AlternatingWindows {
  readonly #start = performance.now()
  readonly #chat: Histogram[] = []

  mixedAt(ms: number): boolean {
    return windowKind(this.#numberAt(ms)) === 'with'
  }

  /** A chat call that was due at a time, and answered so much later. */
  record(due: number, ms: number): void {
    const chat = (this.#chat[this.#numberAt(due)] ??= new Histogram())
    chat.record(ms)
  }

  of(kind: WindowKind): Histogram[] {
    return this.#chat.filter((_, number) => windowKind(number) === kind)
  }

  #numberAt(ms: number): number {
    return Math.max(0, Math.floor((ms - this.#start) / WINDOW_MS))
  }
}

const windowKind = (number: number): WindowKind => (number % 4 === 1 || number % 4 === 2 ? 'with' : 'without')

type BesideRound = Awaited<ReturnType<typeof measureWindows>> & WatchedRound

async function measureWindows(port: number, loop: LoopKind, exchanges: readonly Buffer[], seconds = SECONDS) {
  const windows = new AlternatingWindows()
  const chat = callBytes(SLUICE_CHAT, 'bench/json')
  let turn = 0
  let exchanged = 0
  let misplaced = 0
  const request = (): Buffer => {
    const due = windows.mixedAt(performance.now()) && ++turn % SHARE === 0
    return due ? exchanges[(turn / SHARE) % exchanges.length]! : chat
  }
  const onAnswer = ({ headers }: HttpResponse, ms: number): void => {
    const due = performance.now() - ms
    // Only the answers of the token endpoint carry this header.
    const isExchange = headers.has('pragma')
    if (!isExchange) windows.record(due, ms)
    else if (windows.mixedAt(due)) exchanged++
    else misplaced++
  }
  const settings = { port, connections: CONNECTIONS, seconds, request, onAnswer }
  const result = await (loop === 'closed'
    ? closedLoop(settings)
    : openLoop({ ...settings, perSecond: PER_SECOND }))
  return {
    windows,
    exchanges: exchanged + misplaced,
    /** In windows that should have none. */
    misplaced,
    failures: failedRequests(result),
  }
}

async function measureRounds(
  context: TrialContext,
  { server, mock }: GatewayStage,
  loop: LoopKind,
  exchanges: readonly Buffer[],
): Promise<QuietRounds<BesideRound>> {
  await measureWindows(server.port, loop, exchanges, WARM_UP_SECONDS)
  const measure = async (): Promise<BesideRound> => {
    const endWatch = watchProcesses(context, server.pids, [mock.pid])
    const measured = await measureWindows(server.port, loop, exchanges)
    return { ...measured, disturbed: endWatch() }
  }
  return quietRounds(context, measure, (round) => `${loop} loop, chat p99 × ${ratioOf([round]).toFixed(3)}`)
}

type Windowed = readonly Pick<BesideRound, 'windows'>[]

/** All windows of one kind in some rounds, as one: a p99 wants many calls. */
function mergedWindows(rounds: Windowed, kind: WindowKind): Histogram {
  const all = new Histogram()
  for (const window of rounds.flatMap(({ windows }) => windows.of(kind))) all.merge(window)
  return all
}

const p99Of = (rounds: Windowed, kind: WindowKind): number => mergedWindows(rounds, kind).quantile(0.99)

/** What a burst of somebody else's work cannot move: the p99 of the window in the middle. */
function middleP99(rounds: Windowed, kind: WindowKind): number {
  return median(rounds.flatMap(({ windows }) => windows.of(kind).map((window) => window.quantile(0.99))))
}

const ratioOf = (rounds: Windowed): number => p99Of(rounds, 'with') / p99Of(rounds, 'without')

function figuresOf(loop: LoopKind, { kept, figures }: QuietRounds<BesideRound>): TrialFigure[] {
  const ratios = kept.map((round) => ratioOf([round]))
  const both = (name: string, value: (kind: WindowKind) => number): TrialFigure[] =>
    (['without', 'with'] as const).map((kind) => figure(`${name} ${kind} exchanges`, value(kind), 'ms'))
  const middleRatio = middleP99(kept, 'with') / middleP99(kept, 'without')
  return [
    ...both('chat p50', (kind) => mergedWindows(kept, kind).quantile(0.5)),
    ...both('chat p99', (kind) => p99Of(kept, kind)),
    ...both('chat p99 of the middle window', (kind) => middleP99(kept, kind)),
    figure('p99 with over without', ratioOf(kept)),
    figure('p99 of the middle window, with over without', middleRatio),
    figure('smallest ratio of a round', Math.min(...ratios)),
    figure('largest ratio of a round', Math.max(...ratios)),
    figure('chat calls beside exchanges', mergedWindows(kept, 'with').count),
    figure('exchanges', over(kept).sum('exchanges')),
    ...figures,
  ].map((one) => ({ ...one, name: `${loop} loop: ${one.name}` }))
}

export const federationBeside: Trial = {
  name: 'federation-beside',
  summary:
    '1 % RS256 exchanges beside chat on one worker, in alternating windows of 250 ms: the p99 of chat within 10 %',
  rounds: 7,
  roundLimitS: 480,
  pinned: true,
  run: async (context) => {
    const stage = await stageGateway(context, { environment: FEDERATION_ENVIRONMENT })
    const issuer = await LocalIssuer.start([newIssuingKey('RS256', 'beside')])
    const { policyId } = await new AdminClient(stage.server.origin).trustIssuer(issuer)
    const exchanges = Array.from({ length: TOKENS }, (_, index) =>
      exchangeBytes(policyId, issuer.token({ jti: `beside-${index}` })),
    )
    const open = await measureRounds(context, stage, 'open', exchanges)
    const closed = await measureRounds(context, stage, 'closed', exchanges)
    await stage.stop()
    await issuer.stop()
    const all = [...open.kept, ...closed.kept]
    const { sum } = over(all)
    const idle = all.filter((round) => round.exchanges === 0).length
    return {
      bars: [
        atMost(`chat p99 at ${PER_SECOND}/s, with 1 % exchanges over without`, ratioOf(open.kept), 1.1),
        exactly('requests without a good answer', sum('failures'), 0),
        exactly('rounds without an exchange', idle, 0),
      ],
      figures: [
        ...figuresOf('open', open),
        ...figuresOf('closed', closed),
        figure('exchanges that were due in a window without, and came a moment late', sum('misplaced')),
      ],
      notes: [
        ...open.notes,
        ...closed.notes,
        'the closed loop keeps one core full: its p99 is the length of a queue, and says how long an exchange stands in it',
      ],
    }
  },
}
