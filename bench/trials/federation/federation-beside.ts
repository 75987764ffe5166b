import { Histogram } from '../../../src/base/histogram.js'
import { median } from '../../harness/figures/statistics.js'
import { onGeneratorCore } from '../../harness/machine/pinning.js'
import { exchangeBytes } from '../../performance/federation/exchange-request.js'
import { newIssuingKey } from '../../performance/federation/issuing-key.js'
import { LocalIssuer } from '../../performance/federation/local-issuer.js'
import { FEDERATION_ENVIRONMENT } from '../../performance/federation/trust.js'
import { callBytes, SLUICE_CHAT } from '../../performance/gateway/calls.js'
import { cpuClockOf, type QuietRounds, quietRounds, type WatchedRound, watchCores } from '../disturbance.js'
import { type GatewayStage, stageGateway } from '../gateway/gateway-stage.js'
import { closedLoop, failedRequests, openLoop } from '../load.js'
import {
  atMost,
  exactly,
  figure,
  type Trial,
  type TrialContext,
  type TrialFigure,
  type TrialOutcome,
} from '../trial.js'
import { adminOf } from './federation-stage.js'

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

interface BesideRound extends WatchedRound {
  readonly windows: AlternatingWindows
  readonly exchanges: number
  /** In windows that should have none. */
  readonly misplaced: number
  readonly failures: number
}

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

  of(side: WindowKind): Histogram[] {
    return this.#chat.filter((_, number) => windowKind(number) === side)
  }

  #numberAt(ms: number): number {
    return Math.max(0, Math.floor((ms - this.#start) / WINDOW_MS))
  }
}

function windowKind(number: number): WindowKind {
  return number % 4 === 1 || number % 4 === 2 ? 'with' : 'without'
}

async function measureWindows(
  port: number,
  loop: LoopKind,
  exchanges: readonly Buffer[],
  seconds = SECONDS,
): Promise<Omit<BesideRound, 'disturbed'>> {
  const windows = new AlternatingWindows()
  const chat = callBytes(SLUICE_CHAT, 'bench/json')
  let turn = 0
  let exchanged = 0
  let misplaced = 0
  const settings = {
    port,
    connections: CONNECTIONS,
    seconds,
    request: (): Buffer => {
      const due = windows.mixedAt(performance.now()) && ++turn % SHARE === 0
      return due ? exchanges[(turn / SHARE) % exchanges.length]! : chat
    },
    onAnswer: ({ headers }: { headers: ReadonlyMap<string, string> }, ms: number): void => {
      const due = performance.now() - ms
      // Only the answers of the token endpoint carry this header.
      if (!headers.has('pragma')) {
        windows.record(due, ms)
        return
      }
      exchanged++
      if (!windows.mixedAt(due)) misplaced++
    },
  }
  const result =
    loop === 'closed'
      ? await closedLoop(settings)
      : await openLoop({ ...settings, perSecond: PER_SECOND, whenBusy: 'wait' })
  return { windows, exchanges: exchanged, misplaced, failures: failedRequests(result) }
}

async function measureRounds(
  context: TrialContext,
  { server, mock }: GatewayStage,
  loop: LoopKind,
  exchanges: readonly Buffer[],
): Promise<QuietRounds<BesideRound>> {
  await measureWindows(server.port, loop, exchanges, WARM_UP_SECONDS)
  return await quietRounds(context, async (number) => {
    const endWatch = watchCores(context.cores, cpuClockOf(server.pids), cpuClockOf([mock.pid]))
    const measured = await measureWindows(server.port, loop, exchanges)
    context.progress(`${loop} loop, round ${number}: chat p99 × ${ratioOf([measured]).toFixed(3)}`)
    return { ...measured, disturbed: endWatch() }
  })
}

/** The p99 of all windows of one kind in some rounds, as one: a p99 wants many calls. */
function p99Of(kept: readonly Pick<BesideRound, 'windows'>[], side: WindowKind): number {
  return mergedWindows(kept, side).quantile(0.99)
}

function mergedWindows(kept: readonly Pick<BesideRound, 'windows'>[], side: WindowKind): Histogram {
  const all = new Histogram()
  for (const window of kept.flatMap(({ windows }) => windows.of(side))) all.merge(window)
  return all
}

/** What a burst of somebody else's work cannot move: the p99 of the window in the middle. */
function middleP99(kept: readonly BesideRound[], side: WindowKind): number {
  return median(kept.flatMap(({ windows }) => windows.of(side).map((window) => window.quantile(0.99))))
}

function ratioOf(kept: readonly Pick<BesideRound, 'windows'>[]): number {
  return p99Of(kept, 'with') / p99Of(kept, 'without')
}

function figuresOf(loop: LoopKind, { kept, figures }: QuietRounds<BesideRound>): TrialFigure[] {
  const ratios = kept.map((round) => ratioOf([round]))
  const exchanges = kept.reduce((sum, round) => sum + round.exchanges, 0)
  const both = (name: string, value: (side: WindowKind) => number): TrialFigure[] =>
    (['without', 'with'] as const).map((side) =>
      figure(`${loop} loop: ${name} ${side} exchanges`, value(side), 'ms'),
    )
  return [
    ...both('chat p50', (side) => mergedWindows(kept, side).quantile(0.5)),
    ...both('chat p99', (side) => p99Of(kept, side)),
    ...both('chat p99 of the middle window', (side) => middleP99(kept, side)),
    figure(`${loop} loop: p99 with over without`, ratioOf(kept)),
    figure(
      `${loop} loop: p99 of the middle window, with over without`,
      middleP99(kept, 'with') / middleP99(kept, 'without'),
    ),
    figure(`${loop} loop: smallest ratio of a round`, Math.min(...ratios)),
    figure(`${loop} loop: largest ratio of a round`, Math.max(...ratios)),
    figure(`${loop} loop: chat calls beside exchanges`, mergedWindows(kept, 'with').count),
    figure(`${loop} loop: exchanges`, exchanges),
    ...figures.map((one) => ({ ...one, name: `${loop} loop: ${one.name}` })),
  ]
}

async function run(context: TrialContext): Promise<TrialOutcome> {
  const stage = await stageGateway(context, { workers: 1, environment: FEDERATION_ENVIRONMENT })
  const issuer = await LocalIssuer.start([newIssuingKey('RS256', 'beside')])
  const { policyId } = await adminOf(stage.server).trustIssuer(issuer)
  const exchanges = Array.from({ length: TOKENS }, (_, index) =>
    exchangeBytes(policyId, issuer.token({ jti: `beside-${index}` })),
  )
  const [open, closed] = await onGeneratorCore(context.cores, async () => {
    const steady = await measureRounds(context, stage, 'open', exchanges)
    return [steady, await measureRounds(context, stage, 'closed', exchanges)] as const
  })
  await stage.stop()
  await issuer.stop()
  const all = [...open.kept, ...closed.kept]
  const sum = (value: (round: BesideRound) => number) => all.reduce((total, round) => total + value(round), 0)
  const idle = all.filter((round) => round.exchanges === 0).length
  return {
    bars: [
      atMost(`chat p99 at ${PER_SECOND}/s, with 1 % exchanges over without`, ratioOf(open.kept), 1.1),
      exactly(
        'requests without a good answer',
        sum((round) => round.failures),
        0,
      ),
      exactly('rounds without an exchange', idle, 0),
    ],
    figures: [
      ...figuresOf('open', open),
      ...figuresOf('closed', closed),
      figure(
        'exchanges that were due in a window without, and came a moment late',
        sum((round) => round.misplaced),
      ),
    ],
    notes: [
      ...open.notes,
      ...closed.notes,
      'the closed loop keeps one core full: its p99 is the length of a queue, and says how long an exchange stands in it',
    ],
  }
}

export const federationBeside: Trial = {
  name: 'federation-beside',
  summary:
    '1 % RS256 exchanges beside chat on one worker, in alternating windows of 250 ms: the p99 of chat within 10 %',
  rounds: 7,
  roundLimitS: 480,
  run,
}
