import { setTimeout as sleep } from 'node:timers/promises'
import { failedRequests, openLoop } from '../load.js'
import { LedgerReader } from '../storage/ledger-books.js'
import { atLeast, exactly, figure, over, playRounds, type Trial, type TrialContext } from '../trial.js'
import { ROUTED_NANOS, routedCall, stageRouting } from './routing-stage.js'

const PER_SECOND = 300
const CONNECTIONS = 64
/** Long enough that some are always under way: 300 a second, half of them at each endpoint. */
const ANSWER_MS = 50
const BEFORE_S = 3
const AFTER_S = 3

/** Whole answers and streams by turns; a stream has said nothing until its answer is due. */
function alternatingCalls(): () => Buffer {
  const calls = [routedCall(), routedCall(undefined, true)] as const
  let turn = 0
  return () => calls[turn++ % 2]!
}

async function playRound(context: TrialContext) {
  const { server, dataFolder, providers, stop } = await stageRouting(context, ANSWER_MS)
  const [dying] = providers
  let broken = 0
  const load = openLoop({
    port: server.port,
    connections: CONNECTIONS,
    perSecond: PER_SECOND,
    seconds: BEFORE_S + AFTER_S,
    request: alternatingCalls(),
    onAnswer: ({ status, body }) => {
      // A stream that has begun can only tell a failure within.
      if (status === 200 && body.includes('"error"')) broken++
    },
  })
  await sleep(BEFORE_S * 1_000)
  dying.kill()
  const result = await load
  const unanswered = dying.unanswered()
  await stop()
  const ledger = new LedgerReader(dataFolder)
  const rows = [...ledger.rows().values()]
  const lost = ledger.lostAttempts()
  await ledger.close()
  const answered = rows.filter(({ outcome }) => outcome === 'settled').length
  const charged = rows.reduce((sum, { cost }) => sum + cost, 0)
  return {
    failed: failedRequests(result) + broken,
    answered,
    /** Calls that the killed one had read and not answered, by its own count. */
    unanswered,
    lost: lost.length,
    untold: Math.max(0, unanswered - lost.length),
    withoutCost: lost.filter(({ upstreamCost }) => upstreamCost <= 0).length,
    /** Nano-dollars charged beyond what the answers cost. */
    overcharged: charged - answered * ROUTED_NANOS,
  }
}

export const routingKill: Trial = {
  name: 'routing-kill',
  summary:
    'one of two endpoints is killed with -9 under 300 calls a second over two workers, whole and streamed: no call fails, and what was lost stands in the ledger',
  rounds: 10,
  roundLimitS: 60,
  run: async (context) => {
    const all = await playRounds(
      context,
      () => playRound(context),
      (round) => JSON.stringify(round),
    )
    const rounds = over(all)
    return {
      bars: [
        exactly('failed calls, all rounds', rounds.sum('failed'), 0),
        atLeast(
          'calls under way at the killed endpoints, all rounds',
          rounds.sum('unanswered'),
          context.rounds,
        ),
        exactly('of them without a row in the ledger', rounds.sum('untold'), 0),
        exactly('rows of lost attempts without a cost', rounds.sum('withoutCost'), 0),
        exactly('nano-dollars charged beyond the answers', rounds.sum('overcharged'), 0),
      ],
      figures: [
        figure('answered calls', rounds.sum('answered')),
        figure('calls that the killed endpoints had read and not answered', rounds.sum('unanswered')),
        figure('lost attempts in the ledger', rounds.sum('lost')),
      ],
    }
  },
}
