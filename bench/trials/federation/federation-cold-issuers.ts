import { Connection } from '../../harness/http/connection.js'
import { exchangeBytes } from '../../performance/federation/exchange-request.js'
import { newIssuingKey } from '../../performance/federation/issuing-key.js'
import { LocalIssuer } from '../../performance/federation/local-issuer.js'
import type { AdminClient } from '../../performance/federation/trust.js'
import { atMost, exactly, figure, over, playRounds, type Trial, type TrialContext } from '../trial.js'
import { stageFederation } from './federation-stage.js'

const HEALTHY = 200
const HANGING = 4
/** Of each document; a cold issuer needs two. */
const ISSUER_DELAY_MS = 200
/** A neighbour waits for two documents of its own, and for nobody else. */
const MOST_NEIGHBOUR_MS = 500

/** Makes an organization trust a tenant; gives the bytes of an exchange of its token. */
async function trustTenant(admin: AdminClient, issuer: LocalIssuer, url: string): Promise<Buffer> {
  const { policyId } = await admin.trustIssuer({ url })
  return exchangeBytes(policyId, issuer.token({ iss: url }))
}

async function trustTenants(
  admin: AdminClient,
  issuer: LocalIssuer,
  count: number,
  kind: 'healthy' | 'silent',
): Promise<Buffer[]> {
  const all: Buffer[] = []
  for (let n = 0; n < count; n++)
    all.push(await trustTenant(admin, issuer, issuer.tenantUrl(`${kind}-${n}`, kind)))
  return all
}

async function oneRound(context: TrialContext) {
  const stage = await stageFederation(context, 1)
  const issuer = await LocalIssuer.start([newIssuingKey('ES256', 'first')])
  issuer.delayMs = ISSUER_DELAY_MS
  const { port } = stage.server
  const wish = { name: 'neighbour', plan: 'business' }
  const neighbour = stage.admin.withCredential(
    (await stage.admin.requireSuccess('POST', '/organizations', wish)).key,
  )
  const hanging = await trustTenants(stage.admin, issuer, HANGING, 'silent')
  const healthy = await trustTenants(stage.admin, issuer, HEALTHY, 'healthy')
  const beside = [
    await trustTenant(stage.admin, issuer, issuer.tenantUrl('beside-those-that-hang')),
    await trustTenant(neighbour, issuer, issuer.tenantUrl('beside-all')),
  ]
  const connections = await Connection.openAll(port, HANGING + HEALTHY + beside.length)
  const send = async (request: Buffer): Promise<{ readonly status: number; readonly ms: number }> => {
    const begun = performance.now()
    const { status } = await connections.pop()!.send(request)
    return { status, ms: performance.now() - begun }
  }
  const silent = hanging.map(send)
  const first = await send(beside[0]!)
  const all = healthy.map(send)
  const second = await send(beside[1]!)
  const answers = await Promise.all(all)
  const failed = (await Promise.all(silent)).filter(({ status }) => status === 503).length
  await stage.stop()
  await issuer.stop()
  return {
    refused: [...answers, first, second].filter(({ status }) => status !== 200).length,
    slowestMs: Math.max(...answers.map(({ ms }) => ms)),
    besideHangingMs: first.ms,
    besideAllMs: second.ms,
    failed,
  }
}

export const federationColdIssuers: Trial = {
  name: 'federation-cold-issuers',
  summary: `${HEALTHY} cold issuers of one origin at once and ${HANGING} that hang: none of the healthy ones is refused, and neighbours wait for nobody`,
  rounds: 3,
  roundLimitS: 60,
  run: async (context) => {
    const line = ({ slowestMs }: { readonly slowestMs: number }) =>
      `the slowest took ${slowestMs.toFixed(0)} ms`
    const rounds = await playRounds(context, () => oneRound(context), line)
    const { sum, max } = over(rounds)
    return {
      bars: [
        exactly('exchanges of healthy issuers refused', sum('refused'), 0),
        exactly('issuers that hang told as unavailable', sum('failed'), HANGING * rounds.length),
        atMost('cold neighbour beside those that hang', max('besideHangingMs'), MOST_NEIGHBOUR_MS, 'ms'),
        atMost(
          'cold neighbour of another organization beside all',
          max('besideAllMs'),
          MOST_NEIGHBOUR_MS,
          'ms',
        ),
      ],
      figures: [
        figure('delay of each document', ISSUER_DELAY_MS, 'ms'),
        figure('slowest of the healthy ones', max('slowestMs'), 'ms'),
      ],
    }
  },
}
