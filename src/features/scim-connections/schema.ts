/** Connections to identity providers on the wire (contract/directory 1 and 6). Times are ISO 8601 with milliseconds. */
import { z } from 'zod'
import { isoTime } from '../../base/clock.js'
import { dataAnswer, recordEncoder } from '../../http/answers.js'
import {
  boundedInteger,
  boundedNumber,
  boundedString,
  optional,
  stringWithRule,
  timeString,
} from '../../http/fields.js'
import { nameSchema } from '../../http/json-schema.js'
import { isUuid } from '../../http/params.js'
import type { ScimAuditEntry } from '../../store/scim-store.js'

const MOST_HELD_FROM = 1_000_000

const Name = boundedString(1, 256)
const held = {
  held_share: boundedNumber(0, 1).meta({
    description:
      'Removals from a group within an hour beyond this share of its members are held; 0.3 unless told.',
  }),
  held_from: boundedInteger(1, MOST_HELD_FROM).meta({
    description: 'Removals up to this number are never held; 10 unless told.',
  }),
}

export const ConnectionIn = nameSchema('ScimConnectionIn', z.object({ name: Name, ...optional(held) }))
export const ConnectionChanges = nameSchema(
  'ScimConnectionChanges',
  z.object(optional({ name: Name, ...held })),
)

export const Connection = nameSchema(
  'ScimConnection',
  z.object({
    id: z.string(),
    organization_id: z.string(),
    name: z.string(),
    held_share: z.number(),
    held_from: z.int(),
    created_at: z.string(),
    updated_at: z.string(),
  }),
)

export const TokenIn = nameSchema(
  'ScimConnectionTokenIn',
  z.object({ expires_at: timeString().nullable().optional() }),
)

export const Token = nameSchema(
  'ScimConnectionToken',
  z.object({
    id: z.string(),
    label: z.string().meta({ description: 'Its first and last characters.' }),
    created_at: z.string(),
    expires_at: z.string().nullable(),
    last_used_at: z.string().nullable(),
  }),
)

export const CreatedToken = z.object({
  data: Token,
  token: z.string().meta({ description: 'The token, shown here and never again.' }),
})

export const ConnectionRequest = nameSchema(
  'ScimConnectionRequest',
  z.object({
    id: z.string(),
    at: z.string(),
    token_id: z.string(),
    method: z.string(),
    target: z.string().meta({ description: 'Path and query, without the values of filters.' }),
    status: z.int(),
    scim_type: z.string().nullable(),
    quirks: z
      .array(z.string())
      .meta({ description: 'What was understood although the standard has it otherwise.' }),
    request_id: z.string(),
  }),
)

export const AuditEntry = nameSchema(
  'ScimConnectionAuditEntry',
  z.object({
    id: z.string(),
    at: z.string(),
    action: z.string(),
    actor: z.string().meta({ description: 'Id of the connection, or hash of a management key.' }),
    scim_group_id: z.string().nullable(),
    member_ids: z.array(z.string()),
    request_id: z.string(),
    address: z.string(),
  }),
)

export const Quirk = nameSchema(
  'ScimQuirk',
  z.object({
    name: z.string(),
    count: z.int(),
    sent_by: z.string().nullable().meta({ description: 'Who is known to send it.' }),
    done: z.string().nullable().meta({ description: 'What is done with it.' }),
  }),
)

export const HeldRemovalOut = nameSchema(
  'ScimHeldRemoval',
  z.object({ scim_group_id: z.string(), member_id: z.string(), removed_at: z.string() }),
)

export const Approval = nameSchema(
  'ScimHeldApproval',
  z.object({
    scim_group_id: stringWithRule((value) => (isUuid(value) ? null : 'must be a UUID'))
      .meta({
        format: 'uuid',
        description: 'Of this group alone; of all groups of the connection when absent.',
      })
      .optional(),
  }),
)

export const Approved = dataAnswer(z.object({ approved: z.int() }))

export const encodeConnection = recordEncoder(Connection)
export const encodeToken = recordEncoder(Token)

export function encodeAuditEntry(entry: ScimAuditEntry): z.infer<typeof AuditEntry> {
  const { id, at, action, actor, groupId, userIds = [], requestId, address } = entry
  return {
    ...{ id, at: isoTime(at), action, actor, scim_group_id: groupId, member_ids: [...userIds] },
    ...{ request_id: requestId, address },
  }
}
