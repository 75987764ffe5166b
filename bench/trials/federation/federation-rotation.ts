import { setTimeout as sleep } from 'node:timers/promises'
import { seededRandom } from '../../../src/base/random.js'
import { runPacedCalls } from '../../harness/http/pacer.js'
import { newIssuingKey } from '../../performance/federation/issuing-key.js'
import { atLeast, exactly, figure, over, playRounds, type Trial } from '../trial.js'
import { stageFederation, type TrustedIssuer } from './federation-stage.js'

const WORKERS = 2
const CONNECTIONS = 64
/** Issuers that rotate at the same time, each with a cooldown of its own: a round is so many rotations. */
const ISSUERS = 4
/** New and removed keys of all issuers together, half of each. */
const PER_SECOND = 200
/** The next look for an unknown key comes no sooner (contract/decisions 15). */
const COOLDOWN_MS = 30_000
/** Until a token has met each worker and the fetch is over. */
const SLACK_MS = 1_500
const JUDGED_MS = 3_000
const SEED = 4

class RotationCounts {
  calls = 0
  judged = 0
  /** Refused before a cooldown had passed: the contract allows that. */
  early = 0
  wrong = 0
  removedJudged = 0
  removedAccepted = 0
  /** Milliseconds after the rotation of the last refusal of the added and the last success of the removed key. */
  lastRefusal = 0
  lastRemoved = 0

  /** An answer to a token of the removed key, or of the added one, so many milliseconds after the rotation. */
  count(after: number, good: boolean, ofRemoved: boolean): void {
    const late = after >= COOLDOWN_MS + SLACK_MS
    this.calls++
    if (ofRemoved) {
      if (late) this.removedJudged++
      if (late && good) this.removedAccepted++
      if (good) this.lastRemoved = Math.max(this.lastRemoved, after)
      return
    }
    if (late) this.judged++
    if (good) return
    this.lastRefusal = Math.max(this.lastRefusal, after)
    if (late) this.wrong++
    else this.early++
  }
}

/** Every issuer signs with a new key from now on and publishes the old one no more. */
function rotateKeys(trusted: readonly TrustedIssuer[], number: number) {
  return trusted.map((one) => {
    const removed = one.issuer.published[0]!
    const added = newIssuingKey('ES256', `rotation-${number}`)
    one.issuer.published = [added]
    return { trusted: one, at: performance.now(), added, removed }
  })
}

export const federationRotation: Trial = {
  name: 'federation-rotation',
  summary: '4 issuers change their key at once (a round) under load: right again after one cooldown of 30 s',
  rounds: 5,
  roundLimitS: 60,
  run: async (context) => {
    const stage = await stageFederation(context, WORKERS, CONNECTIONS)
    const { lanes } = stage
    const all: TrustedIssuer[] = []
    for (let i = 0; i < ISSUERS; i++) all.push(await stage.newIssuer())
    for (const trusted of all)
      for (let turn = 0; turn < 2 * CONNECTIONS; turn++) await lanes.ask(trusted.exchange())
    await sleep(100)
    const counts = new RotationCounts()
    const random = seededRandom(SEED)
    // Asks with both keys of every issuer until the cooldown and the time to judge it have passed.
    const play = async (number: number): Promise<void> => {
      const rotations = rotateKeys(all, number)
      const seconds = (COOLDOWN_MS + SLACK_MS + JUDGED_MS) / 1_000
      await runPacedCalls({ perSecond: PER_SECOND, seconds }, async () => {
        // By chance: connections take turns, and with tokens in a cycle each would carry those of one key for ever.
        const { trusted, at, added, removed } = rotations[Math.floor(random() * rotations.length)]!
        const ofRemoved = random() < 0.5
        const answer = await lanes.ask(trusted.exchange({}, ofRemoved ? removed : added))
        if (answer !== null) counts.count(answer.sentAt - at, answer.status === 200, ofRemoved)
      })
    }
    await playRounds(context, play, () => `${ISSUERS} rotations, ${counts.wrong} wrong refusals so far`)
    const fetches = over(all).sum(({ issuer }) => issuer.fetches().jwks)
    await stage.stop()
    return {
      bars: [
        exactly('good tokens refused after one cooldown', counts.wrong, 0),
        exactly('tokens of the removed key accepted then', counts.removedAccepted, 0),
        atLeast('good tokens judged (else nothing was tried)', counts.judged, 100),
        atLeast('tokens of a removed key judged', counts.removedJudged, 100),
        exactly('requests without an answer', lanes.lost, 0),
      ],
      figures: [
        figure('rotations', context.rounds * ISSUERS),
        figure('exchanges', counts.calls),
        figure('good tokens refused within the cooldown', counts.early),
        figure('latest refusal of a good token after its key was published', counts.lastRefusal / 1_000, 's'),
        figure('latest success with a removed key', counts.lastRemoved / 1_000, 's'),
        figure('key set fetches of both workers', fetches),
      ],
      notes: [
        'a removed key goes here because tokens of the new one make the workers look again; how long it stays when nobody does is for federation-removed-key',
      ],
    }
  },
}
