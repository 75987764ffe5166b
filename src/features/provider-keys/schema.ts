/** Keys of callers with providers, on the wire. Times are ISO 8601. */
import { z } from 'zod'
import { dataAnswer, recordEncoder } from '../../http/answers.js'
import { boundedString, stringMatching } from '../../http/fields.js'
import { nameSchema } from '../../http/json-schema.js'
import { PROVIDER_KEY_PRIORITIES } from '../../store/provider-key-store.js'

const Name = boundedString(1, 256)
/** What goes into a header, and is long enough to be cut out of a provider's words without harm. */
const Key = stringMatching(
  /^[\x21-\x7e]{8,1024}$/,
  'must be 8 to 1024 printable ASCII characters without spaces',
).meta({ description: 'The key itself. It is kept sealed and never shown again.', writeOnly: true })
const Priority = z
  .enum(PROVIDER_KEY_PRIORITIES, { error: 'must be first or fallback' })
  .meta({ description: "`first`: tried before the operator's credential; `fallback`: behind it." })
const AllowFallback = z
  .boolean()
  .meta({ description: "Whether the operator's credential may be used where this key fails." })
const Models = z
  .array(boundedString(1, 256))
  .min(1)
  .max(100)
  .nullable()
  .meta({ description: 'Ids of the only models it is for; null for all.' })
const WorkspaceId = z.string().nullable()

export const ProviderKeyIn = nameSchema(
  'ProviderKeyIn',
  z.object({
    provider: boundedString(1, 100).meta({ description: 'Short name of a configured provider.' }),
    name: Name,
    key: Key,
    workspace_id: boundedString(1, 256)
      .nullable()
      .optional()
      .meta({ description: 'The only workspace that uses it; null for the whole organization.' }),
    priority: Priority.optional(),
    allow_fallback: AllowFallback.optional(),
    models: Models.optional(),
    disabled: z.boolean().optional(),
  }),
)

export const ProviderKeyChanges = nameSchema(
  'ProviderKeyChanges',
  z.object({
    name: Name.optional(),
    key: Key.optional(),
    priority: Priority.optional(),
    allow_fallback: AllowFallback.optional(),
    models: Models.optional(),
    disabled: z.boolean().optional(),
  }),
)

const ProviderKeyView = nameSchema(
  'ProviderKey',
  z.object({
    id: z.string(),
    provider: z.string(),
    name: z.string(),
    label: z.string().meta({ description: 'The key, masked.' }),
    workspace_id: WorkspaceId,
    priority: Priority,
    allow_fallback: z.boolean(),
    models: z.array(z.string()).nullable(),
    disabled: z.boolean(),
    created_at: z.string(),
    updated_at: z.string().nullable(),
  }),
)

export const ProviderKeyAnswer = dataAnswer(ProviderKeyView)
export const ProviderKeyList = dataAnswer(z.array(ProviderKeyView))
export const encodeProviderKey = recordEncoder(ProviderKeyView)
