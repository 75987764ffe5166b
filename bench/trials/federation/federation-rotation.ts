import { setTimeout as sleep } from 'node:timers/promises'
import { seededRandom } from '../../../src/base/random.js'
import { runPaced } from '../../harness/http/pacer.js'
import { exchangeBytes } from '../../performance/federation/exchange-request.js'
import { type IssuingKey, newIssuingKey } from '../../performance/federation/issuing-key.js'
import { atLeast, exactly, figure, type Trial, type TrialContext, type TrialOutcome } from '../trial.js'
import { ExchangeConnections } from './exchange-connections.js'
import { stageFederation, type TrustedIssuer, trustedIssuer } from './federation-stage.js'

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

/** One rotation: from the moment the key set was another. */
interface KeyRotation {
  readonly trusted: TrustedIssuer
  readonly at: number
  readonly added: IssuingKey
  readonly removed: IssuingKey
}

interface RotationCounts {
  calls: number
  judged: number
  /** Refused before a cooldown had passed: the contract allows that. */
  early: number
  wrong: number
  removedJudged: number
  removedAccepted: number
  /** Milliseconds after the rotation of the last refusal of the added and the last success of the removed key. */
  lastRefusal: number
  lastRemoved: number
}

async function askWithKey(
  lanes: ExchangeConnections,
  { trusted, at, added, removed }: KeyRotation,
  useRemoved: boolean,
  seen: RotationCounts,
): Promise<void> {
  const { issuer, trust } = trusted
  const token = issuer.token({}, useRemoved ? removed : added)
  const timed = await lanes.ask(exchangeBytes(trust.policyId, token))
  if (timed === null) return
  const after = timed.sentAt - at
  const good = timed.answer.status === 200
  const late = after >= COOLDOWN_MS + SLACK_MS
  seen.calls++
  if (useRemoved) {
    if (late) seen.removedJudged++
    if (late && good) seen.removedAccepted++
    if (good) seen.lastRemoved = Math.max(seen.lastRemoved, after)
    return
  }
  if (late) seen.judged++
  if (!good) seen.lastRefusal = Math.max(seen.lastRefusal, after)
  if (!good && late) seen.wrong++
  if (!good && !late) seen.early++
}

/** Every issuer signs with a new key from now on and publishes the old one no more. */
function rotateKeys(trusted: readonly TrustedIssuer[], number: number): KeyRotation[] {
  return trusted.map((one) => {
    const removed = one.issuer.published[0]!
    const added = newIssuingKey('ES256', `rotation-${number}`)
    one.issuer.published = [added]
    return { trusted: one, at: performance.now(), added, removed }
  })
}

/** Asks with both keys of every issuer until the cooldown and the time to judge it have passed. */
async function askDuringRotation(
  lanes: ExchangeConnections,
  rotations: readonly KeyRotation[],
  random: () => number,
  seen: RotationCounts,
): Promise<void> {
  const pending = new Set<Promise<void>>()
  const seconds = (COOLDOWN_MS + SLACK_MS + JUDGED_MS) / 1_000
  await runPaced({ perSecond: PER_SECOND, seconds }, () => {
    // By chance: connections take turns, and with tokens in a cycle each would carry those of one key for ever.
    const rotation = rotations[Math.floor(random() * rotations.length)]!
    const call = askWithKey(lanes, rotation, random() < 0.5, seen)
    pending.add(call)
    void call.finally(() => pending.delete(call))
  })
  await Promise.all(pending)
}

async function warmUp(lanes: ExchangeConnections, all: readonly TrustedIssuer[]): Promise<void> {
  for (const { issuer, trust } of all) {
    for (let turn = 0; turn < 2 * CONNECTIONS; turn++) {
      await lanes.ask(exchangeBytes(trust.policyId, issuer.token()))
    }
  }
  await sleep(100)
}

async function run(context: TrialContext): Promise<TrialOutcome> {
  const stage = await stageFederation(context, WORKERS)
  const all: TrustedIssuer[] = []
  for (let i = 0; i < ISSUERS; i++) all.push(await trustedIssuer(stage))
  const lanes = await ExchangeConnections.open(stage.server.port, CONNECTIONS)
  await warmUp(lanes, all)
  const seen: RotationCounts = {
    calls: 0,
    judged: 0,
    early: 0,
    wrong: 0,
    removedJudged: 0,
    removedAccepted: 0,
    lastRefusal: 0,
    lastRemoved: 0,
  }
  const random = seededRandom(SEED)
  for (let round = 1; round <= context.rounds; round++) {
    await askDuringRotation(lanes, rotateKeys(all, round), random, seen)
    context.progress(`${round * ISSUERS}/${context.rounds * ISSUERS} rotations: ${seen.wrong} wrong refusals`)
  }
  const fetches = all.reduce((sum, { issuer }) => sum + issuer.fetches().jwks, 0)
  lanes.drop()
  await stage.stop()
  return {
    bars: [
      exactly('good tokens refused after one cooldown', seen.wrong, 0),
      exactly('tokens of the removed key accepted then', seen.removedAccepted, 0),
      atLeast('good tokens judged (else nothing was tried)', seen.judged, 100),
      atLeast('tokens of a removed key judged', seen.removedJudged, 100),
      exactly('requests without an answer', lanes.lost, 0),
    ],
    figures: [
      figure('rotations', context.rounds * ISSUERS),
      figure('exchanges', seen.calls),
      figure('good tokens refused within the cooldown', seen.early),
      figure('latest refusal of a good token after its key was published', seen.lastRefusal / 1_000, 's'),
      figure('latest success with a removed key', seen.lastRemoved / 1_000, 's'),
      figure('key set fetches of both workers', fetches),
    ],
    notes: [
      'a removed key goes here because tokens of the new one make the workers look again; how long it stays when nobody does is for federation-removed-key',
    ],
  }
}

export const federationRotation: Trial = {
  name: 'federation-rotation',
  summary: '4 issuers change their key at once (a round) under load: right again after one cooldown of 30 s',
  rounds: 5,
  roundLimitS: 60,
  run,
}
