/** The commands of `sluice federation`, one function each. */

import { NEVER_ABORTED } from '../base/cancellation.js'
import { type AuditActor, signingKeyAuditRow } from '../federation/admin/actor.js'
import { readAuditPage } from '../federation/admin/audit-log.js'
import { IssuerService } from '../federation/admin/issuer-service.js'
import { PolicyService } from '../federation/admin/policy-service.js'
import type { FederationAdminPorts } from '../federation/admin/ports.js'
import { activeSigningKey, publishedSigningKeys } from '../identity/signing-ring.js'
import { AUDIT_TRAILS, type FederationPolicy } from '../store/federation-store.js'
import {
  type CommandFailure,
  type CommandResult,
  commandFailure,
  sanitizeForTerminal,
  usageError,
} from './command-result.js'
import { formatTable } from './text-table.js'

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

type FederationOption = keyof typeof OPTIONS
type FederationOptions = {
  readonly [K in FederationOption]?: (typeof OPTIONS)[K]['type'] extends 'string' ? string : boolean
}

/** The federation of a store, as a worker would have it. */
export interface FederationContext extends FederationAdminPorts {
  readonly readInput: () => string
}

interface FederationCommandInput {
  readonly options: FederationOptions
  /** What follows the command's name; `''` where nothing does. */
  readonly operand: string
}

type FederationCommandResult = CommandResult & { readonly code?: 0 | 1 | 2 }

export interface FederationCommand {
  readonly options: readonly FederationOption[]
  readonly needs: readonly FederationOption[]
  readonly operands: 0 | 1
  run(
    place: FederationContext,
    asked: FederationCommandInput,
  ): FederationCommandResult | CommandFailure | Promise<FederationCommandResult | CommandFailure>
}

const POLICY_OPTIONS: readonly FederationOption[] = ['subject', 'condition', 'scopes', 'token-type', 'paused']

export const COMMANDS: Readonly<Record<string, FederationCommand>> = {
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
  'policies enable': { options: [], needs: [], operands: 1, run: policySwitchCommand('enabled', true) },
  'policies pause': { options: [], needs: [], operands: 1, run: policySwitchCommand('paused', false) },
  'policies delete': { options: [], needs: [], operands: 1, run: deletePolicy },
  'keys list': { options: [], needs: [], operands: 0, run: listKeys },
  'keys rotate': { options: [], needs: [], operands: 0, run: rotateKeys },
  'keys drop': { options: [], needs: [], operands: 1, run: dropKey },
  audit: { options: ['organization', 'trail', 'limit', 'unknown'], needs: [], operands: 0, run: showAudit },
  test: { options: [], needs: [], operands: 1, run: testPolicy },
}

function issuerServiceOf(place: FederationContext): IssuerService {
  return new IssuerService(place.federation, place.clock, place)
}

/** Whoever may write the folder of the store is the operator. */
function operatorActor(organizationId: string): AuditActor {
  return { organizationId, name: 'command line', requestId: null, address: null }
}

function resolveOrganization(
  { accounts }: FederationContext,
  { organization }: FederationOptions,
): string | CommandFailure {
  const wanted = organization ?? accounts.organizations()[0]?.id
  if (wanted === undefined) return commandFailure('there is no organization yet: start the server once')
  if (accounts.organization(wanted) !== null) return wanted
  return commandFailure(`there is no organization ${sanitizeForTerminal(wanted)}`)
}

function listIssuers(
  place: FederationContext,
  { options }: FederationCommandInput,
): FederationCommandResult | CommandFailure {
  const organization = resolveOrganization(place, options)
  if (typeof organization !== 'string') return organization
  const rows = issuerServiceOf(place)
    .list(organization)
    .map(({ id, name, issuerUrl, jwksUrl }) => [
      id,
      issuerUrl,
      jwksUrl ?? 'discovery',
      sanitizeForTerminal(name),
    ])
  return { text: formatTable([['ID', 'ISSUER', 'KEYS', 'NAME'], ...rows]) }
}

async function createIssuer(
  place: FederationContext,
  { options }: FederationCommandInput,
): Promise<FederationCommandResult | CommandFailure> {
  const organization = resolveOrganization(place, options)
  if (typeof organization !== 'string') return organization
  const { name = '', url = '', 'jwks-url': jwksUrl = null } = options
  if (name === '' || name.length > 256) return usageError('an issuer needs a --name of 1 to 256 characters')
  const wish = { name, issuer_url: url, jwks_url: jwksUrl }
  const { id } = await issuerServiceOf(place).create(operatorActor(organization), wish)
  return { text: `${id}\n`, remark: `Trusted from now on: ${url}\n` }
}

async function deleteIssuer(
  place: FederationContext,
  { operand }: FederationCommandInput,
): Promise<FederationCommandResult | CommandFailure> {
  const issuer = place.federation.issuer(operand)
  const gone =
    issuer !== null && (await issuerServiceOf(place).remove(operatorActor(issuer.organizationId), issuer.id))
  return gone
    ? { text: `deleted ${operand}\n` }
    : commandFailure(`there is no issuer ${sanitizeForTerminal(operand)}`)
}

function listPolicies(
  place: FederationContext,
  { options }: FederationCommandInput,
): FederationCommandResult | CommandFailure {
  const organization = resolveOrganization(place, options)
  if (typeof organization !== 'string') return organization
  const rows = new PolicyService(place).list(organization).map(policyCells)
  const head = ['ID', 'STATE', 'ISSUER', 'AUDIENCE', 'SUBJECT', 'KEY', 'CONDITION', 'SCOPES', 'TOKEN TYPE']
  return { text: formatTable([head, ...rows]) }
}

function policyCells(policy: FederationPolicy): string[] {
  const { id, enabled, issuerId, audience, subject, apiKeyHash, condition, claimChecks } = policy
  const { scopes, tokenType } = claimChecks
  const texts = [audience, subject, apiKeyHash, condition, scopes, tokenType]
  return [
    id,
    enabled ? 'enabled' : 'paused',
    issuerId,
    ...texts.map((text) => sanitizeForTerminal(text ?? '-')),
  ]
}

async function createPolicy(
  place: FederationContext,
  { options }: FederationCommandInput,
): Promise<FederationCommandResult | CommandFailure> {
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
  if (issuer === null) return commandFailure(`there is no issuer ${sanitizeForTerminal(issuerId)}`)
  const wish = {
    issuer_id: issuerId,
    audience,
    api_key_hash: key,
    subject: subject ?? null,
    condition: condition ?? null,
    enabled: !paused,
    claim_checks: { scopes: scopes ?? null, token_type: options['token-type'] ?? null },
  }
  const actor = operatorActor(issuer.organizationId)
  const { id } = await new PolicyService(place).create(actor, wish, NEVER_ABORTED)
  return { text: `${id}\n`, remark: 'Workloads send this id as federation_policy_id.\n' }
}

function policySwitchCommand(done: string, enabled: boolean): FederationCommand['run'] {
  return async (place, { operand }) => {
    const policy = place.federation.policy(operand)
    const changed =
      policy &&
      (await new PolicyService(place).change(
        operatorActor(policy.organizationId),
        policy.id,
        { enabled },
        NEVER_ABORTED,
      ))
    return changed === null
      ? commandFailure(`there is no policy ${sanitizeForTerminal(operand)}`)
      : { text: `${done} ${operand}\n` }
  }
}

async function deletePolicy(
  place: FederationContext,
  { operand }: FederationCommandInput,
): Promise<FederationCommandResult | CommandFailure> {
  const policy = place.federation.policy(operand)
  const policies = new PolicyService(place)
  const gone = policy !== null && (await policies.remove(operatorActor(policy.organizationId), policy.id))
  return gone
    ? { text: `deleted ${operand}\n` }
    : commandFailure(`there is no policy ${sanitizeForTerminal(operand)}`)
}

function listKeys(place: FederationContext): FederationCommandResult {
  const ring = place.federation.signingKeyRing() ?? { keys: [] }
  const now = place.clock.unixSeconds() * 1000
  const active = activeSigningKey(ring, now)
  const rows = publishedSigningKeys(ring, now).map((key) => {
    const state = key === active ? 'signs' : key.activeFrom > now ? 'next' : 'retired'
    return [key.kid, state, isoTime(key.activeFrom)]
  })
  return { text: formatTable([['KID', 'STATE', 'SIGNS FROM'], ...rows]) }
}

async function rotateKeys(place: FederationContext): Promise<FederationCommandResult> {
  const kid = await place.rotateKeys()
  await place.federation.appendAudit([
    signingKeyAuditRow(place.clock, signingKeyActor(place), 'signing-key.rotate', kid),
  ])
  return { text: `${kid}\n`, remark: 'This key signs from now on; tokens of the last one stay good.\n' }
}

async function dropKey(
  place: FederationContext,
  { operand }: FederationCommandInput,
): Promise<FederationCommandResult | CommandFailure> {
  const kid = await place.dropKey(operand)
  if (kid === null) return commandFailure(`there is no key ${sanitizeForTerminal(operand)}`)
  await place.federation.appendAudit([
    signingKeyAuditRow(place.clock, signingKeyActor(place), 'signing-key.drop', operand),
  ])
  return { text: `${kid}\n`, remark: 'This key signs now; tokens of the dropped one are refused.\n' }
}

/** Our own keys belong to no organization; their rows stand in the trail of the first. */
function signingKeyActor({ accounts }: FederationContext): AuditActor {
  return operatorActor(accounts.organizations()[0]?.id ?? '')
}

function showAudit(
  place: FederationContext,
  { options }: FederationCommandInput,
): FederationCommandResult | CommandFailure {
  const organization = options.unknown === true ? '' : resolveOrganization(place, options)
  if (typeof organization !== 'string') return organization
  const trail = AUDIT_TRAILS.find((each) => each === options.trail) ?? null
  if (trail === null && options.trail !== undefined)
    return usageError(`--trail must be one of ${AUDIT_TRAILS.join(', ')}`)
  const limit = Number(options.limit ?? 20)
  if (!Number.isInteger(limit) || limit < 1 || limit > 10_000)
    return usageError('--limit must be an integer from 1 to 10000')
  const { rows } = readAuditPage(place.federation, organization, trail, 0, limit)
  const cells = rows.map(({ at, action, outcome, reason, actor, policyId, issuerId, address }) =>
    [isoTime(at), action, outcome, reason, actor, policyId, issuerId, address].map((text) =>
      sanitizeForTerminal(text ?? '-'),
    ),
  )
  const head = ['TIME', 'ACTION', 'OUTCOME', 'REASON', 'WHO', 'POLICY', 'ISSUER', 'ADDRESS']
  return { text: formatTable([head, ...cells]) }
}

/** The token comes on standard input: arguments can be read by everybody on the machine. */
async function testPolicy(
  place: FederationContext,
  { operand }: FederationCommandInput,
): Promise<FederationCommandResult | CommandFailure> {
  const policy = place.federation.policy(operand)
  if (policy === null) return commandFailure(`there is no policy ${sanitizeForTerminal(operand)}`)
  const subjectToken = place.readInput().trim()
  const request = { policyId: policy.id, subjectToken, caller: NEVER_ABORTED, address: '', requestId: '' }
  const { passed, steps } = await place.dryRun(request)
  const rows = steps.map(({ step, outcome, reason }) => [step, outcome, sanitizeForTerminal(reason ?? '')])
  return {
    text: formatTable([['STEP', 'OUTCOME', 'WHY'], ...rows]),
    remark: passed ? 'An exchange would give a token.\n' : 'An exchange would be refused.\n',
    code: passed ? 0 : 1,
  }
}

function isoTime(unixMs: number): string {
  return new Date(unixMs).toISOString()
}
