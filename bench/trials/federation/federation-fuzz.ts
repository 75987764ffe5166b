import { seededRandom } from '../../../src/base/random.js'
import type { KeptConnections } from '../../harness/http/kept-connections.js'
import { exchangeBytes, formBytes } from '../../performance/federation/exchange-request.js'
import { newIssuingKey } from '../../performance/federation/issuing-key.js'
import { type ExchangeOriginals, mutateExchange } from '../../performance/federation/mutations.js'
import { atLeast, exactly, figure, playRounds, type Trial } from '../trial.js'
import { stageFederation } from './federation-stage.js'

/** Mutations in a round. */
const MUTATIONS = 10_000
const WORKERS = 2
const LANES = 32
/** One good exchange after so many: what is refused here is not everything. */
const CONTROL = 500
const SEED = 3
const NAMED = 5

class FuzzCounts {
  readonly statuses = new Map<number, number>()
  readonly kinds = new Map<string, number>()
  readonly notes: string[] = []
  accepted = 0
  failed = 0
  controls = 0
  refusedControls = 0

  book(kind: string, body: string, status: number): void {
    this.kinds.set(kind, (this.kinds.get(kind) ?? 0) + 1)
    this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1)
    if (status < 400) this.accepted++
    if (status >= 500) this.failed++
    if ((status < 400 || status >= 500) && this.notes.length < NAMED) {
      this.notes.push(`${status} for ${kind}: ${JSON.stringify(body.slice(0, 2_000))}`)
    }
  }
}

async function sendMutations(
  lanes: KeptConnections,
  originals: ExchangeOriginals,
  random: () => number,
  account: FuzzCounts,
): Promise<void> {
  const control = exchangeBytes(originals.policyId, originals.token)
  let left = MUTATIONS
  const lane = async (): Promise<void> => {
    while (left-- > 0) {
      if (left % CONTROL === 0) {
        account.controls++
        if ((await lanes.ask(control))?.status !== 200) account.refusedControls++
      }
      const { kind, body, contentType } = mutateExchange(originals, random)
      const timed = await lanes.ask(formBytes(body, contentType))
      if (timed !== null) account.book(kind, body, timed.status)
    }
  }
  await Promise.all(Array.from({ length: LANES }, lane))
}

export const federationFuzz: Trial = {
  name: 'federation-fuzz',
  summary:
    'mutated tokens, headers, claims and forms over the wire (10,000 a round): none accepted, none a 5xx',
  rounds: 20,
  roundLimitS: 60,
  run: async (context) => {
    const stage = await stageFederation(context, WORKERS, LANES)
    const { lanes } = stage
    const { issuer, trust } = await stage.newIssuer()
    const key = issuer.published[0]!
    const stranger = newIssuingKey('ES256', key.kid)
    const counts = new FuzzCounts()
    const random = seededRandom(SEED)
    const play = (): Promise<void> => {
      const fresh = { claims: issuer.claims(), token: issuer.token() }
      return sendMutations(lanes, { policyId: trust.policyId, key, stranger, ...fresh }, random, counts)
    }
    await playRounds(
      context,
      play,
      () => `${MUTATIONS} more mutations: ${counts.accepted} accepted, ${counts.failed} failed so far`,
    )
    await stage.stop()
    const answered = [...counts.statuses.values()].reduce((a, b) => a + b, 0)
    const statuses = [...counts.statuses].sort(([a], [b]) => a - b)
    return {
      bars: [
        exactly('mutations accepted', counts.accepted, 0),
        exactly('answers 5xx', counts.failed, 0),
        exactly('requests without an answer', lanes.lost, 0),
        exactly('good exchanges between them that were refused', counts.refusedControls, 0),
        atLeast('good exchanges between them', counts.controls, 1),
      ],
      figures: [
        figure('mutations answered', answered),
        figure('seed', SEED),
        ...statuses.map(([status, count]) => figure(`answers ${status}`, count)),
        ...[...counts.kinds].sort().map(([kind, count]) => figure(`mutations of ${kind}`, count)),
      ],
      notes: counts.notes,
    }
  },
}
