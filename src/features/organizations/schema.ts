/** Organizations and workspaces on the wire (contract/decisions 39). Times are ISO 8601. */
import { z } from 'zod'
import { MAX_DOLLARS, nanosToDollars } from '../../base/money.js'
import { boundedNumber, boundedString } from '../../http/fields.js'
import { nameSchema } from '../../http/json-schema.js'
import { recordEncoder } from '../../http/record-encoder.js'
import { ORGANIZATION_PLANS, type Organization as OrganizationRecord } from '../../store/account-store.js'

const Name = boundedString(1, 256)
const Credits = boundedNumber(0, MAX_DOLLARS)
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

const Organization = nameSchema(
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

const Workspace = nameSchema(
  'Workspace',
  z.object({ id: z.string(), organization_id: z.string(), name: z.string(), created_at: z.string() }),
)

export const WorkspaceAnswer = z.object({ data: Workspace })
export const WorkspaceList = z.object({ data: z.array(Workspace) })

export const encodeWorkspace = recordEncoder(Workspace)
const encodeOrganizationRecord = recordEncoder(Organization)

export function encodeOrganization(organization: OrganizationRecord): z.infer<typeof Organization> {
  const { credits = null } = organization
  return encodeOrganizationRecord({
    ...organization,
    credits: credits === null ? null : nanosToDollars(credits),
  })
}
