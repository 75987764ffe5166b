import { Histogram } from '../../src/base/histogram.js'
import { exchangeBytes } from '../federation/exchange-request.js'
import { newIssuingKey } from '../federation/issuing-key.js'
import { LocalIssuer } from '../federation/local-issuer.js'
import { FEDERATION_ENVIRONMENT } from '../federation/trust.js'
import { callBytes, SLUICE } from '../gateway/calls.js'
import { onGeneratorCore } from './cores.js'
import { cpuOf, type QuietRounds, quietRounds, type Watched, watchCores } from './disturbance.js'
import { adminOf } from './federation-stage.js'
import { type GatewayStage, stageGateway } from './gateway-stage.js'
import { closedLoop, failuresOf, openLoop } from './load.js'
import {
  atMost,
  exactly,
  type Figure,
  figure,
  median,
  type Outcome,
  type Trial,
  type TrialContext,
} from './trial.js'

const CONNECTIONS = 32
const SECONDS = 4
const WARM_UP_SECONDS = 5
/** Far below what one core can do, so that what is measured is the work and not a queue. */
const CHAT_PER_SECOND = 2_000
/** One exchange after so many calls. */
const CALLS_PER_EXCHANGE = 99
const TOKENS = 64

interface Window {
  readonly chat: Histogram
  readonly exchanges: number
  readonly failures: number
}

/** A window without and one with exchanges, close together. */
interface Round extends Watched {
  readonly without: Window
  readonly with: Window
}

type Loop = 'open' | 'closed'

/** Chat calls, and an exchange in their place after every 99 when `mixed`. */
function requestsOf(exchanges: readonly Buffer[], mixed: boolean): () => Buffer {
  const chat = callBytes(SLUICE, 'bench/json')
  let turn = 0
  return () => {
    const due = mixed && ++turn % (CALLS_PER_EXCHANGE + 1) === 0
    return due ? exchanges[(turn / (CALLS_PER_EXCHANGE + 1)) % exchanges.length]! : chat
  }
}

async function window(
  port: number,
  loop: Loop,
  exchanges: readonly Buffer[],
  mixed: boolean,
  seconds = SECONDS,
): Promise<Window> {
  const chat = new Histogram()
  let exchanged = 0
  const settings = {
    port,
    connections: CONNECTIONS,
    seconds,
    request: requestsOf(exchanges, mixed),
    // Only the answers of the token endpoint carry this header.
    onAnswer: ({ headers }: { headers: ReadonlyMap<string, string> }, ms: number): void => {
      if (headers.has('pragma')) exchanged++
      else chat.record(ms)
    },
  }
  // The rate of the chat calls stays what it was; exchanges come on top.
  const perSecond = CHAT_PER_SECOND * (mixed ? 1 + 1 / CALLS_PER_EXCHANGE : 1)
  const result =
    loop === 'closed'
      ? await closedLoop(settings)
      : await openLoop({ ...settings, perSecond, whenBusy: 'wait', precise: true })
  return { chat, exchanges: exchanged, failures: failuresOf(result) }
}

async function measure(
  context: TrialContext,
  { server, mock }: GatewayStage,
  loop: Loop,
  exchanges: readonly Buffer[],
): Promise<QuietRounds<Round>> {
  const one = (mixed: boolean, seconds = SECONDS) => window(server.port, loop, exchanges, mixed, seconds)
  await one(true, WARM_UP_SECONDS)
  return await quietRounds(context, async (number) => {
    const endWatch = watchCores(context.cores, cpuOf(server.processes()), cpuOf([mock.pid]))
    // The order turns round, so that neither always comes first.
    const first = await one(number % 2 === 0)
    const second = await one(number % 2 !== 0)
    const round = number % 2 === 0 ? { with: first, without: second } : { with: second, without: first }
    context.progress(`${loop} loop, round ${number}: chat p99 × ${ratioOf(round).toFixed(3)}`)
    return { ...round, disturbed: endWatch() }
  })
}

function ratioOf(round: Pick<Round, 'with' | 'without'>): number {
  return round.with.chat.quantile(0.99) / round.without.chat.quantile(0.99)
}

function figuresOf(loop: Loop, { kept, figures }: QuietRounds<Round>): Figure[] {
  const p99 = (side: 'with' | 'without') => median(kept.map((round) => round[side].chat.quantile(0.99)))
  const sum = (value: (round: Round) => number) => kept.reduce((total, round) => total + value(round), 0)
  return [
    figure(`${loop} loop: chat p99 without exchanges`, p99('without'), 'ms'),
    figure(`${loop} loop: chat p99 with exchanges`, p99('with'), 'ms'),
    figure(`${loop} loop: smallest ratio of a round`, Math.min(...kept.map(ratioOf))),
    figure(`${loop} loop: largest ratio of a round`, Math.max(...kept.map(ratioOf))),
    figure(
      `${loop} loop: chat calls beside exchanges`,
      sum((round) => round.with.chat.count),
    ),
    figure(
      `${loop} loop: exchanges`,
      sum((round) => round.with.exchanges),
    ),
    ...figures.map((one) => ({ ...one, name: `${loop} loop: ${one.name}` })),
  ]
}

async function run(context: TrialContext): Promise<Outcome> {
  const stage = await stageGateway(context, { workers: 1, environment: FEDERATION_ENVIRONMENT })
  const issuer = await LocalIssuer.start([newIssuingKey('RS256', 'beside')])
  const { policyId } = await adminOf(stage.server).trust(issuer)
  const exchanges = Array.from({ length: TOKENS }, (_, index) =>
    exchangeBytes(policyId, issuer.token({ jti: `beside-${index}` })),
  )
  const [open, closed] = await onGeneratorCore(context.cores, async () => {
    const steady = await measure(context, stage, 'open', exchanges)
    return [steady, await measure(context, stage, 'closed', exchanges)] as const
  })
  await stage.stop()
  await issuer.stop()
  const all = [...open.kept, ...closed.kept]
  const failures = all.reduce((sum, round) => sum + round.with.failures + round.without.failures, 0)
  const due = all.filter((round) => round.with.exchanges === 0 || round.without.exchanges > 0).length
  return {
    bars: [
      atMost(
        `chat p99 at ${CHAT_PER_SECOND}/s, with 1 % exchanges over without`,
        median(open.kept.map(ratioOf)),
        1.1,
      ),
      atMost(
        `chat p99 of ${CONNECTIONS} callers in a loop, with 1 % exchanges over without`,
        median(closed.kept.map(ratioOf)),
        1.1,
      ),
      exactly('requests without a good answer', failures, 0),
      exactly('rounds without exchanges where they belong', due, 0),
    ],
    figures: [...figuresOf('open', open), ...figuresOf('closed', closed)],
    notes: [...open.notes, ...closed.notes],
  }
}

export const federationBeside: Trial = {
  name: 'federation-beside',
  summary:
    '1 % RS256 exchanges beside chat on one worker: the p99 of chat within 10 % of what it is without them',
  rounds: 7,
  roundLimitS: 240,
  run,
}
