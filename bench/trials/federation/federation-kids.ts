import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Histogram } from '../../../src/base/histogram.js'
import type { KeptConnections } from '../../harness/http/kept-connections.js'
import { runPacedCalls } from '../../harness/http/pacer.js'
import { newIssuingKey } from '../../performance/federation/issuing-key.js'
import { atMost, below, exactly, figure, type Trial } from '../trial.js'
import { stageFederation, type TrustedIssuer } from './federation-stage.js'

const WORKERS = 2
const CONNECTIONS = 64
/** A round: 10,000 tokens a minute. */
const ROUND_SECONDS = 10
const KIDS_PER_SECOND = 10_000 / 60
const VALID_PER_SECOND = 50
const WARM_UP_MS = 3_000

async function floodWithKids(lanes: KeptConnections, trusted: TrustedIssuer, seconds: number) {
  /** `surprises`: tokens of the flood that were answered with anything but 400. */
  const seen = { flood: 0, surprises: 0, valid: 0, refused: 0, latency: new Histogram() }
  // The signatures are of some key or other: nobody can check them without the key that is named.
  const stranger = newIssuingKey('ES256', 'stranger')
  const strange = async (): Promise<void> => {
    const answer = await lanes.ask(trusted.exchange({}, { ...stranger, kid: randomUUID() }))
    seen.flood++
    if (answer !== null && answer.status !== 400) seen.surprises++
  }
  const good = async (due: number): Promise<void> => {
    const answer = await lanes.ask(trusted.exchange())
    seen.valid++
    if (answer?.status !== 200) seen.refused++
    // From the due time: a stall is felt by all that fell due in it.
    seen.latency.record(performance.now() - due)
  }
  await Promise.all([
    runPacedCalls({ perSecond: KIDS_PER_SECOND, seconds }, strange),
    runPacedCalls({ perSecond: VALID_PER_SECOND, seconds }, good),
  ])
  return seen
}

export const federationKids: Trial = {
  name: 'federation-kids',
  summary:
    '10,000 random kids a minute (10 s a round): two fetches for each worker at most, valid exchanges unharmed',
  rounds: 6,
  roundLimitS: 30,
  run: async (context) => {
    const stage = await stageFederation(context, WORKERS, CONNECTIONS)
    const { lanes } = stage
    const trusted = await stage.newIssuer()
    // Afterwards every worker has the issuer's keys.
    for (let turn = 0; turn < 4 * CONNECTIONS; turn++) await lanes.ask(trusted.exchange())
    await sleep(WARM_UP_MS)
    const before = trusted.issuer.fetches()
    const seconds = ROUND_SECONDS * context.rounds
    context.progress(`${Math.round(KIDS_PER_SECOND * seconds)} tokens with random kids in ${seconds} s`)
    const seen = await floodWithKids(lanes, trusted, seconds)
    const after = trusted.issuer.fetches()
    await stage.stop()
    const most = 2 * WORKERS * Math.ceil(seconds / 60)
    return {
      bars: [
        atMost('key set fetches, both workers', after.jwks - before.jwks, most),
        atMost('discovery fetches, both workers', after.discovery - before.discovery, most),
        exactly('strange tokens not answered with 400', seen.surprises, 0),
        exactly('valid exchanges refused', seen.refused, 0),
        below('valid exchange, p99 from its due time', seen.latency.quantile(0.99), 50, 'ms'),
        exactly('requests without an answer', lanes.lost, 0),
      ],
      figures: [
        figure('tokens with a random kid', seen.flood),
        figure('seconds', seconds),
        figure('valid exchanges', seen.valid),
        figure('valid exchange, p50', seen.latency.quantile(0.5), 'ms'),
        figure('valid exchange, max', seen.latency.max, 'ms'),
      ],
    }
  },
}
