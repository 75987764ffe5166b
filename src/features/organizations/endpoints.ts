/** Organizations and workspaces on the wire (contract/decisions 39). Times are ISO 8601. */
import { z } from 'zod'
import { applyChanges } from '../../base/changes.js'
import { type Clock, unixMs } from '../../base/clock.js'
import { Fault, throwFault } from '../../base/fault.js'
import { newUuidV7 } from '../../base/ids.js'
import { dollarsToNanos, MAX_DOLLARS, nanosToDollars } from '../../base/money.js'
import type { Principal } from '../../base/principal.js'
import { DeletedAnswer, dataAnswer, recordEncoder } from '../../http/answers.js'
import { gateway } from '../../http/dialects/gateway.js'
import { type Endpoint, endpointGroup } from '../../http/endpoint.js'
import { boundedNumber, boundedString } from '../../http/fields.js'
import { nameSchema } from '../../http/json-schema.js'
import { idParam } from '../../http/params.js'
import { deletedReply, jsonReply, NO_STORE, resourceReply } from '../../http/reply.js'
import { createKeyRecord, generateKey } from '../../identity/api-keys.js'
import { buildOrganization } from '../../identity/bootstrap.js'
import { withCredits } from '../../identity/credits-history.js'
import type { People } from '../../identity/people.js'
import { reachOf, roleIn } from '../../identity/reach.js'
import {
  type AccountStore,
  type CreditsChange,
  ORGANIZATION_PLANS,
  type Organization,
  type OrganizationPlan,
  type Workspace,
  type WorkspaceRemoval,
} from '../../store/account-store.js'
import { organizationPayer, type UsageLedger } from '../../store/ledger-store.js'

const Name = boundedString(1, 256)
const Credits = boundedNumber(0, MAX_DOLLARS)
  .nullable()
  .optional()
  .meta({ description: 'Dollars that its calls may cost in all; null for no end.' })
const Plan = z.enum(ORGANIZATION_PLANS, { error: `must be one of ${ORGANIZATION_PLANS.join(', ')}` })

const OrganizationIn = nameSchema(
  'OrganizationIn',
  z.object({ name: Name, plan: Plan.optional(), credits: Credits }),
)
const OrganizationChanges = nameSchema(
  'OrganizationChanges',
  z.object({ name: Name.optional(), plan: Plan.optional(), credits: Credits }),
)

const OrganizationOut = nameSchema(
  'Organization',
  z.object({
    id: z.string(),
    name: z.string(),
    plan: z.enum(ORGANIZATION_PLANS),
    credits: z.number().nullable().meta({ description: 'Dollars in all; null for no end.' }),
    credits_left: z.number().nullable().meta({ description: 'What its calls may still cost.' }),
    created_at: z.string(),
    updated_at: z.string().nullable(),
  }),
)

const CreatedOrganization = z.object({
  data: OrganizationOut,
  key: z.string().meta({ description: 'Its management key, shown here and never again.' }),
})

const WorkspaceIn = nameSchema('WorkspaceIn', z.object({ name: Name }))

const WorkspaceOut = nameSchema(
  'Workspace',
  z.object({ id: z.string(), organization_id: z.string(), name: z.string(), created_at: z.string() }),
)

const encodeWorkspace = recordEncoder(WorkspaceOut)
const encodeOrganizationRecord = recordEncoder(OrganizationOut)

type Told = z.infer<typeof OrganizationOut>

function encodeOrganization(organization: Organization, spentNanos: number): Told {
  const { credits = null } = organization
  const left = credits === null ? null : Math.max(0, credits - spentNanos)
  return encodeOrganizationRecord({
    ...organization,
    credits: credits === null ? null : nanosToDollars(credits),
    creditsLeft: left === null ? null : nanosToDollars(left),
  })
}

/** What each has spent up to this moment, in nanodollars. Rejects with the fault `unavailable` where it cannot be told. */
async function spentBy(
  organizations: readonly Organization[],
  ledger: UsageLedger,
  clock: Clock,
): Promise<number[]> {
  await ledger.sync()
  const spent = await ledger.spending(
    organizations.map(({ id }) => organizationPayer(id)),
    unixMs(clock),
  )
  return spent.map(({ total }) => total)
}

// ── Operations ──────────────────────────────────────────────────────────────

const operation = endpointGroup({ tag: 'Organizations', dialect: gateway, access: 'management' })
const OrganizationId = { id: idParam('Id of the organization.') }
const WorkspaceId = { id: idParam('Id of the workspace.') }
const PLAN_OF_NEW: OrganizationPlan = 'free'

/** Organizations, for the operator's credential alone, and workspaces of the caller's own (contract/decisions 39). */
export const organizationEndpoints = (
  accounts: AccountStore,
  people: People,
  ledger: UsageLedger,
  clock: Clock,
): Endpoint[] => [
  operation('list_organizations', 'GET /api/v1/organizations', {
    summary: 'List all organizations, oldest first',
    access: 'operator',
    replies: { 200: { description: 'The organizations', schema: dataAnswer(z.array(OrganizationOut)) } },
    faults: ['unavailable'],
    handle: async () => {
      const organizations = accounts.organizations()
      const spent = await spentBy(organizations, ledger, clock)
      return jsonReply(200, { data: organizations.map((each, at) => encodeOrganization(each, spent[at]!)) })
    },
  }),
  operation('create_organization', 'POST /api/v1/organizations', {
    summary: 'Create an organization with a workspace and a management key',
    access: 'operator',
    body: OrganizationIn,
    examples: { limited: { name: 'Acme', credits: 10 } },
    replies: { 201: { description: 'The organization, on disk', schema: CreatedOrganization } },
    faults: ['unavailable'],
    handle: async ({ caller, body }) => {
      const now = unixMs(clock)
      const built = buildOrganization(body.name, body.plan ?? PLAN_OF_NEW, now)
      const credits = dollarsToNanos(body.credits ?? null)
      const organization =
        credits === null
          ? { ...built.organization, credits }
          : withCredits(built.organization, { at: now, credits, by: caller.keyHash })
      const key = generateKey('management')
      const organizationId = organization.id
      const spec = { kind: 'management', name: 'management', organizationId, workspaceId: null } as const
      await accounts.addOrganization({ ...built, organization, keys: [createKeyRecord(key, spec, now)] })
      // It has spent nothing yet. The ledger is not asked: the key is shown now or never.
      return jsonReply(201, { data: encodeOrganization(organization, 0), key }, NO_STORE)
    },
  }),
  operation('read_organization', 'GET /api/v1/organizations/{id}', {
    summary: 'Read one organization',
    access: 'operator',
    params: OrganizationId,
    replies: { 200: { description: 'The organization', schema: dataAnswer(OrganizationOut) } },
    faults: ['item-not-found', 'unavailable'],
    handle: async ({ params }) => {
      const organization = accounts.organization(params.id) ?? throwFault('item-not-found')
      const [spent = 0] = await spentBy([organization], ledger, clock)
      return jsonReply(200, { data: encodeOrganization(organization, spent) })
    },
  }),
  operation('update_organization', 'PATCH /api/v1/organizations/{id}', {
    summary: 'Rename an organization, set its plan or its credits',
    access: 'operator',
    params: OrganizationId,
    body: OrganizationChanges,
    examples: { renamed: { name: 'Acme Labs' }, unlimited: { credits: null } },
    replies: {
      200: { description: 'The organization as it is now, on disk', schema: dataAnswer(OrganizationOut) },
    },
    faults: ['item-not-found', 'unavailable'],
    handle: async ({ caller, params, body }) => {
      const change = (current: Organization): Organization =>
        applyOrganizationChanges(current, body, { at: unixMs(clock), by: caller.keyHash })
      // Before the change: a ledger that cannot tell refuses a call that has done nothing yet.
      const [spent = 0] = await spentBy(
        [accounts.organization(params.id) ?? throwFault('item-not-found')],
        ledger,
        clock,
      )
      const changed = (await accounts.changeOrganization(params.id, change)) ?? throwFault('item-not-found')
      return jsonReply(200, { data: encodeOrganization(changed, spent) })
    },
  }),
  operation('list_workspaces', 'GET /api/v1/workspaces', {
    summary: 'List the workspaces that the caller reaches, oldest first',
    access: 'member',
    replies: { 200: { description: 'The workspaces', schema: dataAnswer(z.array(WorkspaceOut)) } },
    handle: ({ caller }) => {
      const reach = reachOf(caller, people.roles)
      const workspaces = accounts.workspacesOf(caller.organizationId)
      const reached = workspaces.filter(({ id }) => roleIn(reach, id) !== null)
      return jsonReply(200, { data: reached.map(encodeWorkspace) })
    },
  }),
  operation('read_workspace', 'GET /api/v1/workspaces/{id}', {
    summary: 'Read one workspace',
    access: 'member',
    params: WorkspaceId,
    replies: { 200: { description: 'The workspace', schema: dataAnswer(WorkspaceOut) } },
    faults: ['item-not-found'],
    handle: ({ caller, params }) => {
      const found = ownWorkspace(accounts, caller, params.id)
      const isReached = found !== null && roleIn(reachOf(caller, people.roles), found.id) !== null
      return resourceReply(isReached ? found : null, encodeWorkspace)
    },
  }),
  operation('update_workspace', 'PATCH /api/v1/workspaces/{id}', {
    summary: 'Rename a workspace',
    params: WorkspaceId,
    body: WorkspaceIn,
    examples: { renamed: { name: 'Development' } },
    replies: {
      200: { description: 'The workspace as it is now, on disk', schema: dataAnswer(WorkspaceOut) },
    },
    faults: ['item-not-found', 'unavailable'],
    handle: async ({ caller, params, body: { name } }) => {
      const found = ownWorkspace(accounts, caller, params.id)
      const changed = found && (await accounts.changeWorkspace(found.id, (current) => ({ ...current, name })))
      return resourceReply(changed, encodeWorkspace)
    },
  }),
  operation('delete_workspace', 'DELETE /api/v1/workspaces/{id}', {
    summary: 'Delete a workspace that nothing belongs to',
    params: WorkspaceId,
    replies: { 200: { description: 'It has gone, with what models kept in it', schema: DeletedAnswer } },
    faults: ['item-not-found', 'conflict', 'unavailable'],
    handle: async ({ caller, params }) => {
      const found = ownWorkspace(accounts, caller, params.id)
      const outcome = found && (await accounts.removeWorkspace(found.id, unixMs(clock)))
      if (outcome === null || outcome === 'absent') throwFault('item-not-found')
      if (outcome !== 'removed') throw new Fault('conflict', { note: KEPT_BY[outcome] })
      return deletedReply(true)
    },
  }),
  operation('create_workspace', 'POST /api/v1/workspaces', {
    summary: 'Create a workspace',
    body: WorkspaceIn,
    examples: { named: { name: 'Research' } },
    replies: { 201: { description: 'The workspace, on disk', schema: dataAnswer(WorkspaceOut) } },
    faults: ['unavailable'],
    handle: async ({ caller: { organizationId }, body: { name } }) => {
      const createdAt = unixMs(clock)
      const workspace = { id: newUuidV7(createdAt), organizationId, name, createdAt }
      await accounts.addWorkspace(workspace)
      return resourceReply(workspace, encodeWorkspace, 201)
    },
  }),
]

const KEPT_BY: Readonly<Record<Exclude<WorkspaceRemoval, 'removed' | 'absent'>, string>> = {
  'only-one': 'an organization keeps one workspace',
  'has-keys': 'the workspace has keys, which have to be deleted first',
  'has-mappings': 'group mappings name the workspace, and have to be deleted first',
  'has-direct-roles': 'members have direct roles in the workspace, which have to be taken away first',
  'has-provider-keys': 'the workspace has provider keys, which have to be deleted first',
  'has-files': 'the workspace has files, which have to be deleted first',
}

function ownWorkspace(
  accounts: Pick<AccountStore, 'workspace'>,
  { organizationId }: Principal,
  id: string,
): Workspace | null {
  const found = accounts.workspace(id.toLowerCase())
  return found?.organizationId === organizationId ? found : null
}

function applyOrganizationChanges(
  current: Organization,
  { name, plan, credits }: z.infer<typeof OrganizationChanges>,
  { at, by }: Omit<CreditsChange, 'credits'>,
): Organization {
  if (name === undefined && plan === undefined && credits === undefined) return current
  const changed = applyChanges(current, { name, plan, updatedAt: at })
  return credits === undefined ? changed : withCredits(changed, { at, credits: dollarsToNanos(credits), by })
}
