import { runPacedCalls } from '../../harness/http/pacer.js'
import { newIssuingKey } from '../../performance/federation/issuing-key.js'
import { atMost, exactly, figure, type Trial } from '../trial.js'
import { stageFederation } from './federation-stage.js'

const CONNECTIONS = 8
const PER_SECOND = 5
/** A key set is fresh for so long (contract/decisions 15). */
const FRESH_S = 600
const TOLERANCE_S = 2
/** How long it is watched that the key stays refused. */
const AFTERWARDS_S = 10

export const federationRemovedKey: Trial = {
  name: 'federation-removed-key',
  summary: 'a key removed by its issuer, while nobody names another: refused when its 10 minutes are over',
  rounds: 1,
  roundLimitS: 700,
  run: async (context) => {
    const stage = await stageFederation(context, 1, CONNECTIONS)
    const { lanes } = stage
    const trusted = await stage.newIssuer()
    const { issuer } = trusted
    const removed = issuer.published[0]!
    const ask = () => lanes.ask(trusted.exchange({}, removed))
    if ((await ask())?.status !== 200) throw new Error('the key was not accepted in the first place')
    const begun = performance.now()
    issuer.published = [newIssuingKey('ES256', 'second')]
    let refusedAt: number | null = null
    let exchanges = 0
    let again = 0
    const running = (): boolean => {
      const passed = (performance.now() - (refusedAt ?? begun)) / 1_000
      return passed < (refusedAt === null ? FRESH_S + 60 : AFTERWARDS_S)
    }
    await runPacedCalls({ perSecond: PER_SECOND, running }, async () => {
      exchanges++
      const answer = await ask()
      if (answer?.status === 400) refusedAt ??= answer.sentAt
      else if (refusedAt !== null && answer !== null && answer.sentAt > refusedAt) again++
    })
    await stage.stop()
    const age = refusedAt === null ? Number.POSITIVE_INFINITY : (refusedAt - begun) / 1_000
    return {
      bars: [
        atMost('the removed key was refused after', age, FRESH_S + TOLERANCE_S, 's'),
        exactly('accepted again after that', again, 0),
        exactly('requests without an answer', lanes.lost, 0),
      ],
      figures: [figure('exchanges', exchanges), figure('key set fetches', issuer.fetches().jwks)],
    }
  },
}
