/** The commands of `sluice federation`, one function each. */

import { NEVER_ABORTED } from '../base/cancellation.js'
import { type Actor, signingKeyRow } from '../federation/admin/actor.js'
import { auditPage } from '../federation/admin/audit-log.js'
import { OwnIssuers } from '../federation/admin/own-issuers.js'
import { OwnPolicies } from '../federation/admin/own-policies.js'
import type { FederationAdminPorts } from '../federation/admin/ports.js'
import { activeKey, publishedKeys } from '../identity/signing-ring.js'
import { AUDIT_TRAILS, type FederationPolicy } from '../store/federation-store.js'
import { failure, misuse, type Outcome, type Refusal, shown } from './outcome.js'
import { textTable } from './text-table.js'

export const OPTIONS = {
  organization: { type: 'string' },
  name: { type: 'string' },
  url: { type: 'string' },
  'jwks-url': { type: 'string' },
  issuer: { type: 'string' },
  audience: { type: 'string' },
  key: { type: 'string' },
  subject: { type: 'string' },
  condition: { type: 'string' },
  scopes: { type: 'string' },
  'token-type': { type: 'string' },
  paused: { type: 'boolean' },
  trail: { type: 'string' },
  limit: { type: 'string' },
  unknown: { type: 'boolean' },
} as const

type Option = keyof typeof OPTIONS
type Options = { readonly [K in Option]?: (typeof OPTIONS)[K]['type'] extends 'string' ? string : boolean }

/** The federation of a store, as a worker would have it. */
export interface Place extends FederationAdminPorts {
  readonly readInput: () => string
}

interface Asked {
  readonly options: Options
  /** What follows the command's name; `''` where nothing does. */
  readonly operand: string
}

type Told = Outcome & { readonly code?: 0 | 1 | 2 }

export interface Command {
  readonly options: readonly Option[]
  readonly needs: readonly Option[]
  readonly operands: 0 | 1
  run(place: Place, asked: Asked): Told | Refusal | Promise<Told | Refusal>
}

const POLICY_OPTIONS: readonly Option[] = ['subject', 'condition', 'scopes', 'token-type', 'paused']

export const COMMANDS: Readonly<Record<string, Command>> = {
  'issuers list': { options: ['organization'], needs: [], operands: 0, run: listIssuers },
  'issuers create': {
    options: ['organization', 'name', 'url', 'jwks-url'],
    needs: ['name', 'url'],
    operands: 0,
    run: createIssuer,
  },
  'issuers delete': { options: [], needs: [], operands: 1, run: deleteIssuer },
  'policies list': { options: ['organization'], needs: [], operands: 0, run: listPolicies },
  'policies create': {
    options: ['issuer', 'audience', 'key', ...POLICY_OPTIONS],
    needs: ['issuer', 'audience', 'key'],
    operands: 0,
    run: createPolicy,
  },
  'policies enable': { options: [], needs: [], operands: 1, run: switching('enabled', true) },
  'policies pause': { options: [], needs: [], operands: 1, run: switching('paused', false) },
  'policies delete': { options: [], needs: [], operands: 1, run: deletePolicy },
  'keys list': { options: [], needs: [], operands: 0, run: listKeys },
  'keys rotate': { options: [], needs: [], operands: 0, run: rotateKeys },
  'keys drop': { options: [], needs: [], operands: 1, run: dropKey },
  audit: { options: ['organization', 'trail', 'limit', 'unknown'], needs: [], operands: 0, run: showAudit },
  test: { options: [], needs: [], operands: 1, run: testPolicy },
}

function issuersOf(place: Place): OwnIssuers {
  return new OwnIssuers(place.federation, place.clock, place)
}

/** Whoever may write the folder of the store is the operator. */
function operatorIn(organizationId: string): Actor {
  return { organizationId, name: 'command line', requestId: null, address: null }
}

function organizationOf({ accounts }: Place, { organization }: Options): string | Refusal {
  const wanted = organization ?? accounts.organizations()[0]?.id
  if (wanted === undefined) return failure('there is no organization yet: start the server once')
  if (accounts.organization(wanted) !== null) return wanted
  return failure(`there is no organization ${shown(wanted)}`)
}

function listIssuers(place: Place, { options }: Asked): Told | Refusal {
  const organization = organizationOf(place, options)
  if (typeof organization !== 'string') return organization
  const rows = issuersOf(place)
    .all(organization)
    .map(({ id, name, issuerUrl, jwksUrl }) => [id, issuerUrl, jwksUrl ?? 'discovery', shown(name)])
  return { text: textTable([['ID', 'ISSUER', 'KEYS', 'NAME'], ...rows]) }
}

async function createIssuer(place: Place, { options }: Asked): Promise<Told | Refusal> {
  const organization = organizationOf(place, options)
  if (typeof organization !== 'string') return organization
  const { name = '', url = '', 'jwks-url': jwksUrl = null } = options
  if (name === '' || name.length > 256) return misuse('an issuer needs a --name of 1 to 256 characters')
  const wish = { name, issuer_url: url, jwks_url: jwksUrl }
  const { id } = await issuersOf(place).create(operatorIn(organization), wish)
  return { text: `${id}\n`, remark: `Trusted from now on: ${url}\n` }
}

async function deleteIssuer(place: Place, { operand }: Asked): Promise<Told | Refusal> {
  const issuer = place.federation.issuer(operand)
  const gone =
    issuer !== null && (await issuersOf(place).remove(operatorIn(issuer.organizationId), issuer.id))
  return gone ? { text: `deleted ${operand}\n` } : failure(`there is no issuer ${shown(operand)}`)
}

function listPolicies(place: Place, { options }: Asked): Told | Refusal {
  const organization = organizationOf(place, options)
  if (typeof organization !== 'string') return organization
  const rows = new OwnPolicies(place).all(organization).map(policyRow)
  const head = ['ID', 'STATE', 'ISSUER', 'AUDIENCE', 'SUBJECT', 'KEY', 'CONDITION', 'SCOPES', 'TOKEN TYPE']
  return { text: textTable([head, ...rows]) }
}

function policyRow(policy: FederationPolicy): string[] {
  const { id, enabled, issuerId, audience, subject, apiKeyHash, condition, claimChecks } = policy
  const { scopes, tokenType } = claimChecks
  const texts = [audience, subject, apiKeyHash, condition, scopes, tokenType]
  return [id, enabled ? 'enabled' : 'paused', issuerId, ...texts.map((text) => shown(text ?? '-'))]
}

async function createPolicy(place: Place, { options }: Asked): Promise<Told | Refusal> {
  const {
    issuer: issuerId = '',
    audience = '',
    key = '',
    subject,
    condition,
    scopes,
    paused = false,
  } = options
  const issuer = place.federation.issuer(issuerId)
  if (issuer === null) return failure(`there is no issuer ${shown(issuerId)}`)
  const wish = {
    issuer_id: issuerId,
    audience,
    api_key_hash: key,
    subject: subject ?? null,
    condition: condition ?? null,
    enabled: !paused,
    claim_checks: { scopes: scopes ?? null, token_type: options['token-type'] ?? null },
  }
  const actor = operatorIn(issuer.organizationId)
  const { id } = await new OwnPolicies(place).create(actor, wish, NEVER_ABORTED)
  return { text: `${id}\n`, remark: 'Workloads send this id as federation_policy_id.\n' }
}

function switching(done: string, enabled: boolean): Command['run'] {
  return async (place, { operand }) => {
    const policy = place.federation.policy(operand)
    const changed =
      policy &&
      (await new OwnPolicies(place).change(
        operatorIn(policy.organizationId),
        policy.id,
        { enabled },
        NEVER_ABORTED,
      ))
    return changed === null
      ? failure(`there is no policy ${shown(operand)}`)
      : { text: `${done} ${operand}\n` }
  }
}

async function deletePolicy(place: Place, { operand }: Asked): Promise<Told | Refusal> {
  const policy = place.federation.policy(operand)
  const policies = new OwnPolicies(place)
  const gone = policy !== null && (await policies.remove(operatorIn(policy.organizationId), policy.id))
  return gone ? { text: `deleted ${operand}\n` } : failure(`there is no policy ${shown(operand)}`)
}

function listKeys(place: Place): Told {
  const ring = place.federation.signingKeyRing() ?? { keys: [] }
  const now = place.clock.unixSeconds() * 1000
  const active = activeKey(ring, now)
  const rows = publishedKeys(ring, now).map((key) => {
    const state = key === active ? 'signs' : key.activeFrom > now ? 'next' : 'retired'
    return [key.kid, state, time(key.activeFrom)]
  })
  return { text: textTable([['KID', 'STATE', 'SIGNS FROM'], ...rows]) }
}

async function rotateKeys(place: Place): Promise<Told> {
  const kid = await place.rotateKeys()
  await place.federation.appendAudit([
    signingKeyRow(place.clock, operatorOfAll(place), 'signing-key.rotate', kid),
  ])
  return { text: `${kid}\n`, remark: 'This key signs from now on; tokens of the last one stay good.\n' }
}

async function dropKey(place: Place, { operand }: Asked): Promise<Told | Refusal> {
  const kid = await place.dropKey(operand)
  if (kid === null) return failure(`there is no key ${shown(operand)}`)
  await place.federation.appendAudit([
    signingKeyRow(place.clock, operatorOfAll(place), 'signing-key.drop', operand),
  ])
  return { text: `${kid}\n`, remark: 'This key signs now; tokens of the dropped one are refused.\n' }
}

/** Our own keys belong to no organization; their rows stand in the trail of the first. */
function operatorOfAll({ accounts }: Place): Actor {
  return operatorIn(accounts.organizations()[0]?.id ?? '')
}

function showAudit(place: Place, { options }: Asked): Told | Refusal {
  const organization = options.unknown === true ? '' : organizationOf(place, options)
  if (typeof organization !== 'string') return organization
  const trail = AUDIT_TRAILS.find((each) => each === options.trail) ?? null
  if (trail === null && options.trail !== undefined)
    return misuse(`--trail must be one of ${AUDIT_TRAILS.join(', ')}`)
  const limit = Number(options.limit ?? 20)
  if (!Number.isInteger(limit) || limit < 1 || limit > 10_000)
    return misuse('--limit must be an integer from 1 to 10000')
  const { rows } = auditPage(place.federation, organization, trail, 0, limit)
  const cells = rows.map(({ at, action, outcome, reason, actor, policyId, issuerId, address }) =>
    [time(at), action, outcome, reason, actor, policyId, issuerId, address].map((text) => shown(text ?? '-')),
  )
  const head = ['TIME', 'ACTION', 'OUTCOME', 'REASON', 'WHO', 'POLICY', 'ISSUER', 'ADDRESS']
  return { text: textTable([head, ...cells]) }
}

/** The token comes on standard input: arguments can be read by everybody on the machine. */
async function testPolicy(place: Place, { operand }: Asked): Promise<Told | Refusal> {
  const policy = place.federation.policy(operand)
  if (policy === null) return failure(`there is no policy ${shown(operand)}`)
  const subjectToken = place.readInput().trim()
  const request = { policyId: policy.id, subjectToken, caller: NEVER_ABORTED, address: '', requestId: '' }
  const { passed, steps } = await place.examine(request)
  const rows = steps.map(({ step, outcome, reason }) => [step, outcome, shown(reason ?? '')])
  return {
    text: textTable([['STEP', 'OUTCOME', 'WHY'], ...rows]),
    remark: passed ? 'An exchange would give a token.\n' : 'An exchange would be refused.\n',
    code: passed ? 0 : 1,
  }
}

function time(unixMs: number): string {
  return new Date(unixMs).toISOString()
}
