/** Organizations and workspaces on the wire (contract/decisions 39). Times are ISO 8601. */
import { z } from 'zod'
import { nanosToDollars } from '../../base/money.js'
import { boundedNumber, boundedString } from '../../http/fields.js'
import { nameSchema } from '../../http/json-schema.js'
import {
  ORGANIZATION_PLANS,
  type Organization as OrganizationRecord,
  type Workspace as WorkspaceRecord,
} from '../../store/account-store.js'

const Name = boundedString(1, 256)
/** Largest amount in dollars whose nano-dollars are still an exact integer. */
const LARGEST_CREDITS = 9_000_000
const Credits = boundedNumber(0, LARGEST_CREDITS)
  .nullable()
  .optional()
  .meta({ description: 'Dollars that its calls may cost in all; null for no end.' })
const Plan = z.enum(ORGANIZATION_PLANS, { error: `must be one of ${ORGANIZATION_PLANS.join(', ')}` })

export const OrganizationIn = nameSchema(
  'OrganizationIn',
  z.object({ name: Name, plan: Plan.optional(), credits: Credits }),
)
export const OrganizationChanges = nameSchema(
  'OrganizationChanges',
  z.object({ name: Name.optional(), plan: Plan.optional(), credits: Credits }),
)

export const Organization = nameSchema(
  'Organization',
  z.object({
    id: z.string(),
    name: z.string(),
    plan: z.enum(ORGANIZATION_PLANS),
    credits: z.number().nullable().meta({ description: 'Dollars in all; null for no end.' }),
    created_at: z.string(),
    updated_at: z.string().nullable(),
  }),
)

export const OrganizationAnswer = z.object({ data: Organization })
export const OrganizationList = z.object({ data: z.array(Organization) })
export const CreatedOrganization = z.object({
  data: Organization,
  key: z.string().meta({ description: 'Its management key, shown here and never again.' }),
})

export const WorkspaceIn = nameSchema('WorkspaceIn', z.object({ name: Name }))

export const Workspace = nameSchema(
  'Workspace',
  z.object({ id: z.string(), organization_id: z.string(), name: z.string(), created_at: z.string() }),
)

export const WorkspaceAnswer = z.object({ data: Workspace })
export const WorkspaceList = z.object({ data: z.array(Workspace) })

export function encodeOrganization(organization: OrganizationRecord): z.infer<typeof Organization> {
  const { id, name, plan, credits = null, createdAt, updatedAt } = organization
  return {
    id,
    name,
    plan,
    credits: credits === null ? null : nanosToDollars(credits),
    created_at: new Date(createdAt).toISOString(),
    updated_at: updatedAt === null ? null : new Date(updatedAt).toISOString(),
  }
}

export function encodeWorkspace({
  id,
  organizationId,
  name,
  createdAt,
}: WorkspaceRecord): z.infer<typeof Workspace> {
  return { id, organization_id: organizationId, name, created_at: new Date(createdAt).toISOString() }
}
