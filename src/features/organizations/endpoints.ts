import type { z } from 'zod'
import type { Clock } from '../../base/clock.js'
import { Fault } from '../../base/fault.js'
import { newUuidV7 } from '../../base/ids.js'
import { NANOS_PER_DOLLAR } from '../../base/money.js'
import type { Principal } from '../../base/principal.js'
import { gateway } from '../../http/dialects/gateway.js'
import { type Endpoint, endpointGroup } from '../../http/endpoint.js'
import { idParam } from '../../http/params.js'
import { jsonReply } from '../../http/reply.js'
import { createKeyRecord, generateKey } from '../../identity/api-keys.js'
import { buildOrganization } from '../../identity/bootstrap.js'
import type { AccountStore, Organization, OrganizationPlan } from '../../store/account-store.js'
import {
  CreatedOrganization,
  encodeOrganization,
  encodeWorkspace,
  OrganizationAnswer,
  OrganizationChanges,
  OrganizationIn,
  OrganizationList,
  WorkspaceAnswer,
  WorkspaceIn,
  WorkspaceList,
} from './schema.js'

const operation = endpointGroup({ tag: 'organizations', dialect: gateway })
const NOT_FOUND = new Fault('item-not-found')
const NOT_OPERATOR = new Fault('forbidden', { note: 'Only the operator can perform this operation' })
const OrganizationId = { id: idParam('Id of the organization.') }
const PLAN_OF_NEW: OrganizationPlan = 'free'

/** Organizations, for the operator's credential alone, and workspaces of the caller's own (contract/decisions 39). */
export const organizationEndpoints = (accounts: AccountStore, clock: Clock): Endpoint[] => {
  const now = (): number => Math.floor(clock.unixSeconds() * 1000)
  return [...operatorEndpoints(accounts, now), ...workspaceEndpoints(accounts, now)]
}

const operatorEndpoints = (accounts: AccountStore, now: () => number): Endpoint[] => [
  operation('list_organizations', 'GET /api/v1/organizations', {
    summary: 'List all organizations, oldest first',
    access: 'management',
    replies: { 200: { description: 'The organizations', schema: OrganizationList } },
    faults: ['forbidden'],
    handle: ({ caller }) => {
      requireOperator(caller)
      return jsonReply(200, { data: accounts.organizations().map(encodeOrganization) })
    },
  }),
  operation('create_organization', 'POST /api/v1/organizations', {
    summary: 'Create an organization with a workspace and a management key',
    access: 'management',
    body: OrganizationIn,
    replies: { 201: { description: 'The organization, on disk', schema: CreatedOrganization } },
    faults: ['forbidden', 'unavailable'],
    handle: async ({ caller, body }) => {
      requireOperator(caller)
      const at = now()
      const made = buildOrganization(body.name, body.plan ?? PLAN_OF_NEW, at)
      const key = generateKey('management')
      const organizationId = made.organization.id
      const choice = { kind: 'management', name: 'management', organizationId, workspaceId: null } as const
      const organization = { ...made.organization, credits: nanoDollars(body.credits ?? null) }
      await accounts.addOrganization({ ...made, organization, keys: [createKeyRecord(key, choice, at)] })
      return jsonReply(201, { data: encodeOrganization(organization), key }, SECRET)
    },
  }),
  operation('read_organization', 'GET /api/v1/organizations/{id}', {
    summary: 'Read one organization',
    access: 'management',
    params: OrganizationId,
    replies: { 200: { description: 'The organization', schema: OrganizationAnswer } },
    faults: ['forbidden', 'item-not-found'],
    handle: ({ caller, params }) => {
      requireOperator(caller)
      return jsonReply(200, { data: encodeOrganization(accounts.organization(params.id) ?? throwNotFound()) })
    },
  }),
  operation('update_organization', 'PATCH /api/v1/organizations/{id}', {
    summary: 'Rename an organization, set its plan or its credits',
    access: 'management',
    params: OrganizationId,
    body: OrganizationChanges,
    replies: { 200: { description: 'The organization as it is now, on disk', schema: OrganizationAnswer } },
    faults: ['forbidden', 'item-not-found', 'unavailable'],
    handle: async ({ caller, params, body }) => {
      requireOperator(caller)
      const changed = await accounts.changeOrganization(params.id, (current) =>
        applyChanges(current, body, now()),
      )
      return jsonReply(200, { data: encodeOrganization(changed ?? throwNotFound()) })
    },
  }),
]

const workspaceEndpoints = (accounts: AccountStore, now: () => number): Endpoint[] => [
  operation('list_workspaces', 'GET /api/v1/workspaces', {
    summary: 'List the workspaces of the organization, oldest first',
    access: 'management',
    replies: { 200: { description: 'The workspaces', schema: WorkspaceList } },
    handle: ({ caller }) =>
      jsonReply(200, { data: accounts.workspacesOf(caller.organizationId).map(encodeWorkspace) }),
  }),
  operation('create_workspace', 'POST /api/v1/workspaces', {
    summary: 'Create a workspace',
    access: 'management',
    body: WorkspaceIn,
    replies: { 201: { description: 'The workspace, on disk', schema: WorkspaceAnswer } },
    faults: ['unavailable'],
    handle: async ({ caller, body }) => {
      const createdAt = now()
      const { organizationId } = caller
      const workspace = { id: newUuidV7(createdAt), organizationId, name: body.name, createdAt }
      await accounts.addWorkspace(workspace)
      return jsonReply(201, { data: encodeWorkspace(workspace) })
    },
  }),
]

function applyChanges(
  current: Organization,
  { name, plan, credits }: z.infer<typeof OrganizationChanges>,
  now: number,
): Organization {
  if (name === undefined && plan === undefined && credits === undefined) return current
  return {
    ...current,
    name: name ?? current.name,
    plan: plan ?? current.plan,
    credits: credits === undefined ? (current.credits ?? null) : nanoDollars(credits),
    updatedAt: now,
  }
}

/** Dollars as whole nano-dollars; what is finer is rounded. */
function nanoDollars(amount: number | null): number | null {
  return amount === null ? null : Math.round(amount * NANOS_PER_DOLLAR)
}

/** An organization's own management key is not enough. */
function requireOperator(caller: Principal): void {
  if (!caller.operator) throw NOT_OPERATOR
}

/** An answer that holds a key may be kept by nobody on its way. */
const SECRET = [['Cache-Control', 'no-store']] as const

function throwNotFound(): never {
  throw NOT_FOUND
}
