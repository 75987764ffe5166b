/** Directory groups and their roles on the wire (contract/gateway 9). Times are ISO 8601 with milliseconds. */
import { z } from 'zod'
import type { RoleChange } from '../../directory/mapping-trial.js'
import { recordEncoder } from '../../http/answers.js'
import { boundedString, stringWithRule } from '../../http/fields.js'
import { nameSchema } from '../../http/json-schema.js'
import { isUuid } from '../../http/params.js'
import { SCIM_ROLES, type ScimAuditEntry, type ScimDirectRole } from '../../store/scim-store.js'

const Role = z.enum(SCIM_ROLES, { error: 'must be admin or member' })
const uuidField = (): z.ZodType<string, string> =>
  stringWithRule((value) => (isUuid(value) ? null : 'must be a UUID')).meta({ format: 'uuid' })

/** Most members of one group. */
const MOST_MEMBERS = 5_000

export const MappingIn = nameSchema(
  'ScimGroupMappingIn',
  z.object({ scim_group_id: uuidField(), workspace_id: uuidField(), role: Role }),
)
export const MappingChange = nameSchema('ScimGroupMappingChange', z.object({ role: Role }))

const Place = { id: boundedString(1, 64) }

/** What is tried: exactly one of the three. */
export const MappingTrialIn = nameSchema(
  'ScimGroupMappingTrial',
  z
    .object({
      create: MappingIn.optional(),
      change: z.object({ ...Place, role: Role }).optional(),
      remove: z.object({ ...Place, keep_members: z.boolean() }).optional(),
    })
    .refine(
      ({ create, change, remove }) =>
        [create, change, remove].filter((each) => each !== undefined).length === 1,
      { error: 'must be exactly one of create, change and remove' },
    ),
)

export const MappingTrialOut = z.object({
  data: z.array(
    z.object({
      user_id: z.string(),
      user_name: z.string().nullable(),
      role_before: z.enum(SCIM_ROLES).nullable(),
      role_after: z.enum(SCIM_ROLES).nullable(),
    }),
  ),
  total_count: z.int().meta({ description: 'Everybody whose role would be another one.' }),
  gains: z.int().meta({ description: 'How many of them would have a role, or a stronger one.' }),
  losses: z.int(),
})

export const GroupIn = nameSchema(
  'ScimGroupIn',
  z.object({
    display_name: boundedString(1, 256),
    external_id: boundedString(1, 256).nullable().optional(),
    members: z
      .array(boundedString(1, 256))
      .max(MOST_MEMBERS, { error: `must have at most ${MOST_MEMBERS} entries` })
      .meta({ description: 'Ids of users, as personal keys name their creator.' }),
  }),
)

export const Mapping = nameSchema(
  'ScimGroupMapping',
  z.object({
    id: z.string(),
    organization_id: z.string(),
    scim_group_id: z.string(),
    group_name: z
      .string()
      .nullable()
      .meta({ description: 'Null while the directory has not delivered the group.' }),
    workspace_id: z.string(),
    role: z.enum(SCIM_ROLES),
    created_at: z.string(),
    updated_at: z.string(),
  }),
)

const group = {
  id: z.string(),
  organization_id: z.string(),
  display_name: z.string(),
  external_id: z.string().nullable(),
  created_at: z.string(),
  updated_at: z.string(),
}
export const Group = nameSchema(
  'ScimGroup',
  z.object({
    ...group,
    connection_id: z.string().nullable().meta({
      description: 'The SCIM connection that delivers the group; null of one that is delivered whole.',
    }),
    member_count: z.int(),
  }),
)
export const GroupWithMembers = nameSchema(
  'ScimGroupMembers',
  z.object({ ...group, members: z.array(z.string()) }),
)

export const GroupMember = nameSchema(
  'ScimGroupMember',
  z.object({
    user_id: z.string(),
    user_name: z.string().nullable().meta({
      description:
        'Null of an id that no person has who is delivered as the group is; the group gives it no role.',
    }),
    display_name: z.string().nullable(),
    active: z.boolean().nullable(),
    added_at: z.string().nullable().meta({ description: 'Null of a group that is delivered whole.' }),
  }),
)

export const DirectRole = nameSchema(
  'ScimDirectRole',
  z.object({
    organization_id: z.string(),
    workspace_id: z.string(),
    user_id: z.string().nullable(),
    role: z.enum(SCIM_ROLES),
    mapping_id: z.string().nullable().meta({ description: 'The mapping it was kept from.' }),
    created_at: z.string().nullable(),
  }),
)

export const AuditEntry = nameSchema(
  'ScimAuditEntry',
  z.object({
    id: z.string(),
    created_at: z.string(),
    action: z.string(),
    actor: z.string().meta({ description: 'Hash of the management key.' }),
    mapping_id: z.string().nullable(),
    scim_group_id: z.string().nullable(),
    workspace_id: z.string().nullable(),
    user_ids: z.array(z.string()).meta({ description: 'Whose direct roles were kept or taken away.' }),
    role_before: z.enum(SCIM_ROLES).nullable(),
    role_after: z.enum(SCIM_ROLES).nullable(),
    request_id: z.string(),
    address: z.string(),
  }),
)

// ── Records as answers ──────────────────────────────────────────────────────

export const encodeMapping = recordEncoder(Mapping)
export const encodeGroup = recordEncoder(Group)
export const encodeGroupMember = recordEncoder(GroupMember)
export const encodeGroupWithMembers = recordEncoder(GroupWithMembers)
const encodeFullRole = recordEncoder(DirectRole)
const encodeEntry = recordEncoder(AuditEntry)

/** Records of before users were written down have less. */
export function encodeDirectRole(role: ScimDirectRole): z.infer<typeof DirectRole> {
  return encodeFullRole({ ...NOT_WRITTEN_DOWN, ...role })
}

const NOT_WRITTEN_DOWN = { userId: null, mappingId: null, createdAt: null }

export function encodeAuditEntry(entry: ScimAuditEntry): z.infer<typeof AuditEntry> {
  return encodeEntry({ userIds: [], ...entry, createdAt: entry.at, scimGroupId: entry.groupId })
}

export function encodeTrial(
  changes: readonly RoleChange[],
  { offset, limit }: { readonly offset: number; readonly limit: number },
  nameOf: (userId: string) => string | null,
): z.infer<typeof MappingTrialOut> {
  const losses = changes.filter(
    ({ roleBefore, roleAfter }) => roleBefore === 'admin' || (roleBefore === 'member' && roleAfter === null),
  ).length
  return {
    data: changes.slice(offset, offset + limit).map(({ userId, roleBefore, roleAfter }) => ({
      user_id: userId,
      user_name: nameOf(userId),
      role_before: roleBefore,
      role_after: roleAfter,
    })),
    total_count: changes.length,
    gains: changes.length - losses,
    losses,
  }
}
