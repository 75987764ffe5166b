import type { z } from 'zod'
import { type Clock, unixMs } from '../../base/clock.js'
import { newUuidV7 } from '../../base/ids.js'
import { dollarsToNanos } from '../../base/money.js'
import { requireOperator } from '../../base/principal.js'
import { gateway } from '../../http/dialects/gateway.js'
import { type Endpoint, endpointGroup } from '../../http/endpoint.js'
import { idParam } from '../../http/params.js'
import { jsonReply, NO_STORE, resourceReply } from '../../http/reply.js'
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

const operation = endpointGroup({ tag: 'organizations', dialect: gateway, access: 'management' })
const OrganizationId = { id: idParam('Id of the organization.') }
const PLAN_OF_NEW: OrganizationPlan = 'free'

/** Organizations, for the operator's credential alone, and workspaces of the caller's own (contract/decisions 39). */
export const organizationEndpoints = (accounts: AccountStore, clock: Clock): Endpoint[] => [
  operation('list_organizations', 'GET /api/v1/organizations', {
    summary: 'List all organizations, oldest first',
    replies: { 200: { description: 'The organizations', schema: OrganizationList } },
    faults: ['forbidden'],
    handle: ({ caller }) => {
      requireOperator(caller)
      return jsonReply(200, { data: accounts.organizations().map(encodeOrganization) })
    },
  }),
  operation('create_organization', 'POST /api/v1/organizations', {
    summary: 'Create an organization with a workspace and a management key',
    body: OrganizationIn,
    replies: { 201: { description: 'The organization, on disk', schema: CreatedOrganization } },
    faults: ['forbidden', 'unavailable'],
    handle: async ({ caller, body }) => {
      requireOperator(caller)
      const now = unixMs(clock)
      const built = buildOrganization(body.name, body.plan ?? PLAN_OF_NEW, now)
      const organization = { ...built.organization, credits: dollarsToNanos(body.credits ?? null) }
      const key = generateKey('management')
      const organizationId = organization.id
      const spec = { kind: 'management', name: 'management', organizationId, workspaceId: null } as const
      await accounts.addOrganization({ ...built, organization, keys: [createKeyRecord(key, spec, now)] })
      return jsonReply(201, { data: encodeOrganization(organization), key }, NO_STORE)
    },
  }),
  operation('read_organization', 'GET /api/v1/organizations/{id}', {
    summary: 'Read one organization',
    params: OrganizationId,
    replies: { 200: { description: 'The organization', schema: OrganizationAnswer } },
    faults: ['forbidden', 'item-not-found'],
    handle: ({ caller, params }) => {
      requireOperator(caller)
      return resourceReply(accounts.organization(params.id), encodeOrganization)
    },
  }),
  operation('update_organization', 'PATCH /api/v1/organizations/{id}', {
    summary: 'Rename an organization, set its plan or its credits',
    params: OrganizationId,
    body: OrganizationChanges,
    replies: { 200: { description: 'The organization as it is now, on disk', schema: OrganizationAnswer } },
    faults: ['forbidden', 'item-not-found', 'unavailable'],
    handle: async ({ caller, params, body }) => {
      requireOperator(caller)
      const change = (current: Organization): Organization => applyChanges(current, body, unixMs(clock))
      return resourceReply(await accounts.changeOrganization(params.id, change), encodeOrganization)
    },
  }),
  operation('list_workspaces', 'GET /api/v1/workspaces', {
    summary: 'List the workspaces of the organization, oldest first',
    replies: { 200: { description: 'The workspaces', schema: WorkspaceList } },
    handle: ({ caller }) =>
      jsonReply(200, { data: accounts.workspacesOf(caller.organizationId).map(encodeWorkspace) }),
  }),
  operation('create_workspace', 'POST /api/v1/workspaces', {
    summary: 'Create a workspace',
    body: WorkspaceIn,
    replies: { 201: { description: 'The workspace, on disk', schema: WorkspaceAnswer } },
    faults: ['unavailable'],
    handle: async ({ caller: { organizationId }, body: { name } }) => {
      const createdAt = unixMs(clock)
      const workspace = { id: newUuidV7(createdAt), organizationId, name, createdAt }
      await accounts.addWorkspace(workspace)
      return resourceReply(workspace, encodeWorkspace, 201)
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
    credits: credits === undefined ? (current.credits ?? null) : dollarsToNanos(credits),
    updatedAt: now,
  }
}
