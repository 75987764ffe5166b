/** People of an organization on the wire. Times are ISO 8601 with milliseconds. */
import { z } from 'zod'
import { isoTime } from '../../base/clock.js'
import { recordEncoder } from '../../http/answers.js'
import { boundedString } from '../../http/fields.js'
import { nameSchema } from '../../http/json-schema.js'
import type { MemberView } from '../../identity/member-service.js'
import type { RoleReason } from '../../store/directory-store.js'
import { SCIM_ROLES } from '../../store/scim-store.js'

const Role = z.enum(SCIM_ROLES, { error: 'must be admin or member' })
const Name = boundedString(1, 256)
const OptionalName = Name.nullable().optional()

const names = {
  external_id: OptionalName.meta({
    description: 'How the provider of the sign-in calls the person (`sub`, or `oid` of Entra).',
  }),
  display_name: OptionalName,
}

export const MemberIn = nameSchema('MemberIn', z.object({ user_name: Name, ...names }))
export const MemberChanges = nameSchema(
  'MemberChanges',
  z.object({ user_name: Name.optional(), ...names, active: z.boolean().optional() }),
)
export const RoleIn = nameSchema('MemberRoleIn', z.object({ role: Role }))

export const MemberOut = nameSchema(
  'Member',
  z.object({
    id: z.string(),
    organization_id: z.string(),
    connection_id: z.string().nullable().meta({
      description:
        'The connection of the directory that delivers the person; null for who was added by hand.',
    }),
    user_name: z.string(),
    external_id: z.string().nullable(),
    display_name: z.string().nullable(),
    active: z.boolean(),
    roles: z
      .array(z.object({ workspace_id: z.string(), role: z.enum(SCIM_ROLES) }))
      .meta({ description: 'The effective role in each workspace, where the caller may know of it.' }),
    created_at: z.string(),
    updated_at: z.string(),
  }),
)

export const Why = nameSchema(
  'MemberRoleReasons',
  z.object({
    role: z.enum(SCIM_ROLES).nullable(),
    reasons: z.array(
      z.object({
        role: z.enum(SCIM_ROLES),
        by: z.enum(['direct', 'group']),
        mapping_id: z.string().nullable(),
        scim_group_id: z.string().nullable(),
        group_name: z.string().nullable(),
        since: z.string().nullable(),
        author: z
          .string()
          .nullable()
          .meta({ description: 'Hash of the key that made it, or id of the member.' }),
        held: z
          .boolean()
          .meta({ description: 'The directory has taken it away, and that waits for approval.' }),
      }),
    ),
  }),
)

const encodeRecord = recordEncoder(MemberOut)

export function encodeMember(member: MemberView): z.infer<typeof MemberOut> {
  const { displayName } = member.document
  return encodeRecord({
    ...member,
    displayName: typeof displayName === 'string' ? displayName : null,
    roles: [...member.roles].map(([workspace_id, role]) => ({ workspace_id, role })),
  })
}

export function encodeReasons(
  reasons: readonly (RoleReason & { readonly groupName: string | null })[],
): z.infer<typeof Why> {
  return {
    role: reasons[0]?.role ?? null,
    reasons: reasons.map(({ role, by, mappingId, groupId, groupName, since, author, held }) => ({
      role,
      by,
      mapping_id: mappingId,
      scim_group_id: groupId,
      group_name: groupName,
      since: since === null ? null : isoTime(since),
      author,
      held,
    })),
  }
}
