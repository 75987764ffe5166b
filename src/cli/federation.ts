/** `sluice federation`: issuers, policies, signing keys, audit and policy tester from the command line. */
import { NEVER_ABORTED } from '../base/cancellation.js'
import { type Clock, isoTime, systemClock, unixMs } from '../base/clock.js'
import { isOfFleet } from '../compose/command-store.js'
import { type FederationCommandSettings, withFederation } from '../compose/commands.js'
import type { FederationAdmin } from '../federation/admin/ports.js'
import { type AuditActor, readAuditPage } from '../federation/audit-log.js'
import { activeSigningKey, publishedSigningKeys } from '../identity/signing-ring.js'
import { AUDIT_TRAILS, type FederationPolicy } from '../store/federation-store.js'
import {
  type CommandOutput,
  type CommandPorts,
  failCommand,
  failUsage,
  formatTable,
  sanitizeForTerminal,
} from './command.js'
import {
  type CommandInput,
  resolveOrganization,
  runSubcommand,
  type StoreAccess,
  type Subcommand,
} from './command-table.js'

const FEDERATION_USAGE = `usage: sluice federation <command>

  issuers list                  all issuers
  issuers create --name NAME --url URL
      --jwks-url URL              where the keys are; without it, discovery tells
  issuers delete ID             its policies refuse from then on
  policies list                 all policies
  policies create --issuer ID --audience TEXT --key HASH, with one or both of
      --subject TEXT              equal to "sub"
      --condition CEL             over subject, audience, scopes and token_type
    and, where wanted,
      --scopes TEXT               a claim check: an entry of "scopes"
      --token-type TEXT           a claim check: equal to "token_type"
      --paused                    to be enabled later
  policies enable ID            let it issue tokens
  policies pause ID             issue none; those it has issued stay good
  policies delete ID            for good
  keys list                     the keys that sign access tokens
  keys rotate                   let the next key sign from now on
  keys drop KID                 take a key out of use, with every token it has signed
  audit [--trail NAME]          changes, issued and refused exchanges, newest first
      --limit N                   so many rows, 20 without it
      --unknown                   exchanges that named no policy there is
  test POLICY                   read a token from standard input, show what each step makes of it

Lists, new issuers and the audit take --organization ID; without it, they are about the first organization.
`

/** The federation of a store, as a worker would have it. */
interface FederationContext extends FederationAdmin {
  readonly readInput: () => string
}

const SUBCOMMANDS: Readonly<Record<string, Subcommand<FederationContext>>> = {
  'issuers list': { options: ['organization'], run: listIssuers },
  'issuers create': {
    options: ['organization', 'name', 'url', 'jwks-url'],
    needs: ['name', 'url'],
    run: createIssuer,
  },
  'issuers delete': { operand: 'id', run: deleteIssuer },
  'policies list': { options: ['organization'], run: listPolicies },
  'policies create': {
    options: ['issuer', 'audience', 'key', 'subject', 'condition', 'scopes', 'token-type'],
    flags: ['paused'],
    needs: ['issuer', 'audience', 'key'],
    run: createPolicy,
  },
  'policies enable': policySwitchSubcommand('enabled', true),
  'policies pause': policySwitchSubcommand('paused', false),
  'policies delete': { operand: 'id', run: deletePolicy },
  'keys list': { run: listSigningKeys },
  'keys rotate': { run: rotateSigningKeys },
  'keys drop': { operand: 'id', run: dropSigningKey },
  audit: { options: ['organization', 'trail', 'limit'], flags: ['unknown'], run: showAudit },
  test: { operand: 'id', run: testPolicy },
}

/** Runs one command; see `runSubcommand`. The exit code is 1 as well when a tested token does not pass. */
export function federationCommand(
  args: readonly string[],
  settings: () => Promise<FederationCommandSettings>,
  { print, readInput, clock = systemClock }: CommandPorts & { readonly clock?: Clock },
): Promise<number> {
  const locate = async (): Promise<StoreAccess<FederationContext>> => {
    const config = await settings()
    const dataDir = isOfFleet(config) ? null : config.dataDir
    return { dataDir, open: (run) => withFederation(config, clock, (admin) => run({ ...admin, readInput })) }
  }
  const table = { command: 'federation', usage: FEDERATION_USAGE, subcommands: SUBCOMMANDS, locate }
  return runSubcommand(table, args, print)
}

/** Commands act for the operator: only the operator may write the folder of the store. */
function commandLineActor({ organizationId }: { readonly organizationId: string }): AuditActor {
  return { organizationId, actor: 'command line', requestId: null, address: null }
}

function listIssuers({ accounts, issuers }: FederationContext, { options }: CommandInput): CommandOutput {
  const rows = issuers
    .list(resolveOrganization(accounts, options.organization))
    .map(({ id, name, issuerUrl, jwksUrl }) => [id, issuerUrl, jwksUrl ?? 'discovery', name])
  return { text: formatTable([['ID', 'ISSUER', 'KEYS', 'NAME'], ...rows]) }
}

async function createIssuer(admin: FederationContext, { options }: CommandInput): Promise<CommandOutput> {
  const organizationId = resolveOrganization(admin.accounts, options.organization)
  const { name = '', url = '', 'jwks-url': jwksUrl = null } = options
  if (name === '' || name.length > 256) failUsage('an issuer needs a --name of 1 to 256 characters')
  const input = { name, issuer_url: url, jwks_url: jwksUrl }
  const { id } = await admin.issuers.create(commandLineActor({ organizationId }), input)
  return { text: `${id}\n`, remark: `Trusted from now on: ${url}\n` }
}

async function deleteIssuer(admin: FederationContext, { operand }: CommandInput): Promise<CommandOutput> {
  const issuer = admin.federation.issuers.get(operand)
  const isDeleted = issuer !== null && (await admin.issuers.remove(commandLineActor(issuer), issuer.id))
  return isDeleted ? { text: `deleted ${operand}\n` } : failUnknown('issuer', operand)
}

function failUnknown(kind: 'issuer' | 'policy' | 'key', id: string): never {
  return failCommand(`there is no ${kind} ${sanitizeForTerminal(id)}`)
}

function listPolicies({ accounts, policies }: FederationContext, { options }: CommandInput): CommandOutput {
  const rows = policies.list(resolveOrganization(accounts, options.organization)).map(formatPolicyRow)
  const head = ['ID', 'STATE', 'ISSUER', 'AUDIENCE', 'SUBJECT', 'KEY', 'CONDITION', 'SCOPES', 'TOKEN TYPE']
  return { text: formatTable([head, ...rows]) }
}

function formatPolicyRow(policy: FederationPolicy): (string | null)[] {
  const { id, enabled, issuerId, audience, subject, apiKeyHash, condition, claimChecks } = policy
  const { scopes, tokenType } = claimChecks
  const state = enabled ? 'enabled' : 'paused'
  return [id, state, issuerId, audience, subject, apiKeyHash, condition, scopes, tokenType]
}

async function createPolicy(
  { federation, policies }: FederationContext,
  { options, flags }: CommandInput,
): Promise<CommandOutput> {
  const { issuer: issuerId = '', audience = '', key = '', subject, condition, scopes } = options
  const issuer = federation.issuers.get(issuerId) ?? failUnknown('issuer', issuerId)
  const input = {
    issuer_id: issuerId,
    audience,
    api_key_hash: key,
    subject,
    condition,
    enabled: !flags.includes('paused'),
    claim_checks: { scopes, token_type: options['token-type'] },
  }
  const { id } = await policies.create(commandLineActor(issuer), input, NEVER_ABORTED)
  return { text: `${id}\n`, remark: 'Workloads send this id as federation_policy_id.\n' }
}

function policySwitchSubcommand(done: string, enabled: boolean): Subcommand<FederationContext> {
  return {
    operand: 'id',
    run: async ({ federation, policies }, { operand }) => {
      const policy = federation.policies.get(operand) ?? failUnknown('policy', operand)
      const changed = await policies.change(commandLineActor(policy), policy.id, { enabled }, NEVER_ABORTED)
      return changed === null ? failUnknown('policy', operand) : { text: `${done} ${operand}\n` }
    },
  }
}

async function deletePolicy(admin: FederationContext, { operand }: CommandInput): Promise<CommandOutput> {
  const policy = admin.federation.policies.get(operand)
  const isDeleted = policy !== null && (await admin.policies.remove(commandLineActor(policy), policy.id))
  return isDeleted ? { text: `deleted ${operand}\n` } : failUnknown('policy', operand)
}

function listSigningKeys({ federation, clock }: FederationContext): CommandOutput {
  const ring = federation.signingKeyRing() ?? { keys: [] }
  const now = unixMs(clock)
  const active = activeSigningKey(ring, now)
  const rows = publishedSigningKeys(ring, now).map((key) => {
    const state = key === active ? 'signs' : key.activeFrom > now ? 'next' : 'retired'
    return [key.kid, state, isoTime(key.activeFrom)]
  })
  return { text: formatTable([['KID', 'STATE', 'SIGNS FROM'], ...rows]) }
}

async function rotateSigningKeys(admin: FederationContext): Promise<CommandOutput> {
  const kid = await admin.signingKeys.rotate(signingKeyActor(admin))
  return { text: `${kid}\n`, remark: 'This key signs from now on; tokens of the last one stay good.\n' }
}

async function dropSigningKey(admin: FederationContext, { operand }: CommandInput): Promise<CommandOutput> {
  const kid = (await admin.signingKeys.drop(signingKeyActor(admin), operand)) ?? failUnknown('key', operand)
  return { text: `${kid}\n`, remark: 'This key signs now; tokens of the dropped one are refused.\n' }
}

/** Signing keys belong to no organization; their rows stand in the trail of the first. */
function signingKeyActor({ accounts }: FederationContext): AuditActor {
  return commandLineActor({ organizationId: accounts.organizations()[0]?.id ?? '' })
}

async function showAudit(admin: FederationContext, { options, flags }: CommandInput): Promise<CommandOutput> {
  const isUnknown = flags.includes('unknown')
  const organization = isUnknown ? '' : resolveOrganization(admin.accounts, options.organization)
  const trail = AUDIT_TRAILS.find((each) => each === options.trail) ?? null
  if (trail === null && options.trail !== undefined) {
    failUsage(`--trail must be one of ${AUDIT_TRAILS.join(', ')}`)
  }
  const limit = Number(options.limit ?? 20)
  if (!Number.isInteger(limit) || limit < 1 || limit > 10_000) {
    failUsage('--limit must be an integer from 1 to 10000')
  }
  const { rows } = await readAuditPage(admin.federation, organization, trail, 0, limit)
  const cells = rows.map(({ at, action, outcome, reason, actor, policyId, issuerId, address }) => {
    return [isoTime(at), action, outcome, reason, actor, policyId, issuerId, address]
  })
  const head = ['TIME', 'ACTION', 'OUTCOME', 'REASON', 'WHO', 'POLICY', 'ISSUER', 'ADDRESS']
  return { text: formatTable([head, ...cells]) }
}

/** The token comes on standard input: arguments can be read by everybody on the machine. */
async function testPolicy(admin: FederationContext, { operand }: CommandInput): Promise<CommandOutput> {
  const policy = admin.federation.policies.get(operand) ?? failUnknown('policy', operand)
  const subjectToken = admin.readInput().trim()
  const request = { policyId: policy.id, subjectToken, caller: NEVER_ABORTED, address: '', requestId: '' }
  const { passed, steps } = await admin.dryRun(request)
  const rows = steps.map(({ step, outcome, reason }) => [step, outcome, reason ?? ''])
  return {
    text: formatTable([['STEP', 'OUTCOME', 'WHY'], ...rows]),
    remark: passed ? 'An exchange would give a token.\n' : 'An exchange would be refused.\n',
    code: passed ? 0 : 1,
  }
}
