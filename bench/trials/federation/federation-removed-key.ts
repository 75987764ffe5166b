import { runPaced } from '../../harness/http/pacer.js'
import { exchangeBytes } from '../../performance/federation/exchange-request.js'
import { newIssuingKey } from '../../performance/federation/issuing-key.js'
import { atMost, exactly, figure, type Trial, type TrialContext, type TrialOutcome } from '../trial.js'
import { ExchangeConnections } from './exchange-connections.js'
import { stageFederation, trustedIssuer } from './federation-stage.js'

const CONNECTIONS = 8
const PER_SECOND = 5
/** A key set is fresh for so long (contract/decisions 15). */
const FRESH_S = 600
const TOLERANCE_S = 2
/** How long it is watched that the key stays refused. */
const AFTERWARDS_S = 10

async function run(context: TrialContext): Promise<TrialOutcome> {
  const stage = await stageFederation(context, 1)
  const { issuer, trust } = await trustedIssuer(stage)
  const removed = issuer.published[0]!
  const lanes = await ExchangeConnections.open(stage.server.port, CONNECTIONS)
  const ask = () => lanes.ask(exchangeBytes(trust.policyId, issuer.token({}, removed)))
  if ((await ask())?.answer.status !== 200) throw new Error('the key was not accepted in the first place')
  const begun = performance.now()
  issuer.published = [newIssuingKey('ES256', 'second')]
  let refusedAt: number | null = null
  let again = 0
  const running = (): boolean => {
    const passed = (performance.now() - (refusedAt ?? begun)) / 1_000
    return passed < (refusedAt === null ? FRESH_S + 60 : AFTERWARDS_S)
  }
  const pending: Promise<void>[] = []
  const one = async (): Promise<void> => {
    const timed = await ask()
    if (timed?.answer.status === 400) refusedAt ??= timed.sentAt
    else if (refusedAt !== null && timed !== null && timed.sentAt > refusedAt) again++
  }
  await runPaced({ perSecond: PER_SECOND, running }, () => pending.push(one()))
  await Promise.all(pending)
  lanes.drop()
  await stage.stop()
  const age = refusedAt === null ? Number.POSITIVE_INFINITY : (refusedAt - begun) / 1_000
  return {
    bars: [
      atMost('the removed key was refused after', age, FRESH_S + TOLERANCE_S, 's'),
      exactly('accepted again after that', again, 0),
      exactly('requests without an answer', lanes.lost, 0),
    ],
    figures: [figure('exchanges', pending.length), figure('key set fetches', issuer.fetches().jwks)],
    notes: [],
  }
}

export const federationRemovedKey: Trial = {
  name: 'federation-removed-key',
  summary: 'a key removed by its issuer, while nobody names another: refused when its 10 minutes are over',
  rounds: 1,
  roundLimitS: 700,
  run,
}
