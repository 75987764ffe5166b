/** One abusive caller, and another organization's chat and token exchange beside it: what the attack costs those. */
import { setTimeout as sleep } from 'node:timers/promises'
import { residentBytes } from '../../harness/machine/proc.js'
import { exchangeMessage, startProgram } from '../../harness/server/child-processes.js'
import { exchangeBytes } from '../../performance/federation/exchange-request.js'
import { newIssuingKey } from '../../performance/federation/issuing-key.js'
import { LocalIssuer } from '../../performance/federation/local-issuer.js'
import { AdminClient, FEDERATION_ENVIRONMENT } from '../../performance/federation/trust.js'
import { callBytes, chatWithKey } from '../../performance/gateway/calls.js'
import { stageGateway } from '../gateway/gateway-stage.js'
import { failedRequests, type LoadResult, openLoop } from '../load.js'
import { atLeast, atMost, exactly, figure, type Trial, type TrialContext } from '../trial.js'
import type { Attack, AttackReport } from './attack.js'
import type { AttackJob } from './attacker.js'

const ATTACKER = new URL('./attacker.js', import.meta.url)
const CHATS_PER_SECOND = 100
const EXCHANGES_PER_SECOND = 20
const WARM_UP_SECONDS = 3
const QUIET_SECONDS = 6
const ATTACK_SECONDS = 12
/** The neighbours are measured while the attack is under way, not while it begins. */
const HEAD_START_MS = 500
/** An attack that does not end by itself is ended after so much more. */
const ATTACK_GRACE_SECONDS = 30
const SETTLE_MS = 30_000
const SETTLE_STEP_MS = 500
const MOST_KEPT_MIB = 200
const MOST_P99_MS = 100
/** Below this a p99 is noise of the machine: three times as much says nothing. */
const LEAST_QUIET_P99_MS = 5
/** As many as a round exchanges: what a condition says of claims that were seen before is remembered. */
const TOKENS = 512
const MIB = 2 ** 20

const ENVIRONMENT = { ...FEDERATION_ENVIRONMENT }

type Neighbours = Awaited<ReturnType<typeof loadNeighbours>>

/** The calls of an organization that has nothing to do with the abuser. */
async function loadNeighbours(port: number, chat: Buffer, exchange: () => Buffer, seconds: number) {
  const [chats, exchanged] = await Promise.all([
    openLoop({ port, connections: 32, seconds, perSecond: CHATS_PER_SECOND, request: chat }),
    openLoop({
      port,
      connections: 16,
      seconds,
      perSecond: EXCHANGES_PER_SECOND,
      request: exchange,
    }),
  ])
  return { chats, exchanged }
}

/** Two organizations: the one that abuses the server, and the one that is measured. */
async function newOrganization(admin: AdminClient, name: string) {
  const { key } = await admin.requireSuccess('POST', '/organizations', { name, plan: 'enterprise' })
  const own = admin.withCredential(key)
  return { admin: own, managementKey: key as string, key: (await own.newKey()).key }
}

/** Plays the attack in its own process and waits for its report; null when it did not come to an end. */
async function playAttack({ staging }: TrialContext, job: AttackJob): Promise<AttackReport | null> {
  const child = startProgram(staging.children, staging.cores && [staging.cores.generator], ATTACKER)
  const late = sleep((job.seconds + ATTACK_GRACE_SECONDS) * 1_000, null, { ref: false })
  const report = await Promise.race([exchangeMessage<AttackReport>(child, job), late])
  child.kill('SIGKILL')
  return report
}

/** The least memory seen while the server comes to rest, bytes. */
async function restingMemory(workers: readonly number[], before: number): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let waited = 0; waited < SETTLE_MS; waited += SETTLE_STEP_MS) {
    least = Math.min(least, residentBytes(workers))
    if (least <= before + MOST_KEPT_MIB * MIB) break
    await sleep(SETTLE_STEP_MS)
  }
  return least
}

async function oneRound(context: TrialContext, attack: Attack) {
  const environment = { ...ENVIRONMENT, ...attack.environment }
  const stage = await stageGateway(context, { environment, ...(attack.tools && { tools: attack.tools }) })
  const issuer = await LocalIssuer.start([newIssuingKey('ES256', 'neighbour')])
  try {
    const { server } = stage
    const operator = new AdminClient(server.origin)
    const abuser = await newOrganization(operator, 'abuser')
    const neighbour = await newOrganization(operator, 'neighbour')
    const { policyId } = await neighbour.admin.trustIssuer(issuer)
    const exchanges = Array.from({ length: TOKENS }, (_, index) =>
      exchangeBytes(policyId, issuer.token({ jti: `beside-${index}`, sub: `repo:octo/beside-${index}` })),
    )
    let turn = 0
    const exchange = (): Buffer => exchanges[turn++ % TOKENS]!
    const chat = callBytes(chatWithKey(neighbour.key), 'bench/json')
    const measure = (seconds: number) => loadNeighbours(server.port, chat, exchange, seconds)
    await measure(WARM_UP_SECONDS)
    const quiet = await measure(QUIET_SECONDS)
    const { workers } = server
    const before = residentBytes(workers)
    const { key, managementKey } = abuser
    const attacking = playAttack(context, {
      attack: attack.name,
      port: server.port,
      seconds: ATTACK_SECONDS,
      key,
      managementKey,
    })
    await sleep(HEAD_START_MS)
    const beside = await measure(ATTACK_SECONDS - 1)
    const report = await attacking
    const kept = (await restingMemory(workers, before)) - before
    const dead = workers.filter((pid) => !server.workers.includes(pid)).length
    return { quiet, beside, report, before, kept, dead }
  } finally {
    await stage.stop()
    await issuer.stop()
  }
}

type AttackRound = Awaited<ReturnType<typeof oneRound>>

const p99 = (load: LoadResult): number => load.latency.quantile(0.99)

function barsOf(rounds: readonly AttackRound[], kind: keyof Neighbours, mostTimes = 3) {
  const name = kind === 'chats' ? 'chat' : 'exchange'
  const refused = rounds.reduce((sum, { beside }) => sum + failedRequests(beside[kind]), 0)
  const quiet = Math.max(...rounds.map((round) => p99(round.quiet[kind])))
  const beside = Math.max(...rounds.map((round) => p99(round.beside[kind])))
  const most = Math.min(MOST_P99_MS, mostTimes * Math.max(quiet, LEAST_QUIET_P99_MS))
  return {
    bars: [
      exactly(`${name}s of the neighbour without a good answer`, refused, 0),
      atMost(`${name} p99 beside`, beside, most, 'ms'),
    ],
    figures: [
      figure(`${name} p99 quiet`, quiet, 'ms'),
      // Part of the p99 above, and none of the server's doing.
      figure(
        `${name} p99 of what was sent late beside`,
        Math.max(...rounds.map((round) => round.beside[kind].lateness.quantile(0.99))),
        'ms',
      ),
    ],
  }
}

const told = (report: AttackReport | null): string =>
  report === null
    ? 'did not end'
    : `${Object.entries(report.statuses)
        .map(([status, count]) => `${count} × ${status}`)
        .join(', ')}, ${report.lost} lost`

/** The trial of one attack. Memory counts from before it; workers that died meanwhile are replaced, and counted. */
export function attackTrial(attack: Attack): Trial {
  return {
    name: attack.name,
    summary: attack.summary,
    rounds: 1,
    roundLimitS: 180,
    pinned: true,
    run: async (context) => {
      const rounds: AttackRound[] = []
      while (rounds.length < context.rounds) {
        const round = await oneRound(context, attack)
        context.progress(`round ${rounds.length + 1}: the attack got ${told(round.report)}`)
        rounds.push(round)
      }
      const chat = barsOf(rounds, 'chats', attack.mostTimes)
      const exchange = barsOf(rounds, 'exchanged', attack.mostTimes)
      const kept = Math.max(...rounds.map((round) => round.kept)) / MIB
      const tried = rounds.map(({ report }) =>
        Object.values(report?.statuses ?? {}).reduce((a, b) => a + b, report?.lost ?? 0),
      )
      return {
        bars: [
          ...chat.bars,
          ...exchange.bars,
          atMost('memory kept after the attack', kept, MOST_KEPT_MIB, 'MiB'),
          exactly(
            'workers that died',
            rounds.reduce((sum, { dead }) => sum + dead, 0),
            0,
          ),
          atLeast('requests of the attack (else nothing was tried)', Math.min(...tried), 1),
        ],
        figures: [
          ...chat.figures,
          ...exchange.figures,
          figure('resident before', Math.max(...rounds.map(({ before }) => before)) / MIB, 'MiB'),
        ],
        notes: rounds.map(({ report }) => `the attack got ${told(report)}`),
      }
    },
  }
}
