/**
 * Content blocks of a request by `type` (contract/gateway 5.5). What is known of a block is checked, the rest of it
 * stays, and so do kinds that nobody here knows: a provider of this format is given the block as it came.
 */
import { z } from 'zod'
import { boundedString, noteOptions, optional } from '../../http/fields.js'
import { nameSchema } from '../../http/json-schema.js'
import { base64, httpUrl, isOtherPicture, isPdf } from '../../inference-http/media.js'
import { cacheControl } from '../../inference-http/request-members.js'

/** In all that may be cached. */
export const cached = optional({ cache_control: cacheControl.nullable() })

const callId = boundedString(1, 1024)
const toolName = boundedString(1, 256)
const open = z.looseObject({})
const words = z.string().nullable()
const citing = z.looseObject(optional({ enabled: z.boolean() })).nullable()
const fileId = boundedString(1, 256)

/** A kind of block that may be cached: members it must have, and those it may have. */
function blockOf<
  const T extends string,
  M extends z.ZodRawShape,
  O extends z.ZodRawShape = Record<never, never>,
>(type: T, members: M, others: O = {} as O) {
  return z.looseObject({ type: z.literal(type), ...members, ...optional(others), ...cached })
}

export const textBlock = nameSchema(
  'MessagesTextBlock',
  blockOf('text', { text: z.string() }, { citations: z.array(open).nullable() }),
)

const LYING = noteOptions('has a media_type that contradicts its data')

const imageSource = z.discriminatedUnion('type', [
  z
    .looseObject({
      type: z.literal('base64'),
      media_type: z.enum(['image/jpeg', 'image/png', 'image/gif', 'image/webp']),
      data: base64,
    })
    .refine(({ media_type, data }) => !isOtherPicture(media_type, data), LYING),
  z.looseObject({ type: z.literal('url'), url: httpUrl }),
  z.looseObject({ type: z.literal('file'), file_id: fileId }),
])

const image = blockOf('image', { source: imageSource })

const documentSource = z.discriminatedUnion('type', [
  z
    .looseObject({ type: z.literal('base64'), media_type: z.literal('application/pdf'), data: base64 })
    .refine(({ data }) => isPdf(data), LYING),
  z.looseObject({ type: z.literal('text'), media_type: z.literal('text/plain'), data: z.string() }),
  z.looseObject({
    type: z.literal('content'),
    content: z.union([z.string(), z.array(z.discriminatedUnion('type', [textBlock, image]))]),
  }),
  z.looseObject({ type: z.literal('url'), url: httpUrl }),
  z.looseObject({ type: z.literal('file'), file_id: fileId }),
])

const document = blockOf(
  'document',
  { source: documentSource },
  { title: words, context: words, citations: citing },
)

const searchResult = blockOf(
  'search_result',
  { title: z.string(), source: z.string(), content: z.array(textBlock) },
  { citations: citing },
)

const inResult = z.discriminatedUnion('type', [
  textBlock,
  image,
  document,
  searchResult,
  z.looseObject({ type: z.literal('tool_reference'), tool_name: toolName }),
])

const toolResult = blockOf(
  'tool_result',
  { tool_use_id: callId },
  { content: z.union([z.string(), z.array(inResult)]), is_error: z.boolean() },
)

const toolUse = z.looseObject({
  type: z.literal(['tool_use', 'server_tool_use']),
  id: callId,
  name: toolName,
  ...optional({ input: z.unknown() }),
  ...cached,
})

const thinking = z.looseObject({ type: z.literal('thinking'), thinking: z.string(), signature: z.string() })
const redacted = z.looseObject({ type: z.literal('redacted_thinking'), data: z.string() })

const webSearchResult = blockOf('web_search_tool_result', {
  tool_use_id: callId,
  content: z.union([z.array(open), open]),
})

/** Results of tools that a provider ran, as they stand in answers. Our own have a neutral name and a branded one. */
const SERVER_RESULTS = [
  'web_fetch_tool_result',
  'code_execution_tool_result',
  'bash_code_execution_tool_result',
  'text_editor_code_execution_tool_result',
  'tool_search_tool_result',
  'advisor_tool_result',
  'service_shell_tool_result',
  'service_bash_tool_result',
] as const
const BRANDED_RESULTS = ['openrouter_shell_tool_result', 'openrouter_bash_tool_result'] as const

const serverResult = z.looseObject({
  type: z.literal([...SERVER_RESULTS, ...BRANDED_RESULTS]).meta({ enum: [...SERVER_RESULTS] }),
  tool_use_id: callId,
  content: open,
  ...cached,
})

const compaction = blockOf('compaction', { content: z.string().nullable() }, { encrypted_content: words })

const containerUpload = blockOf('container_upload', { file_id: fileId })

const knownBlocks = [
  textBlock,
  image,
  document,
  searchResult,
  toolUse,
  toolResult,
  thinking,
  redacted,
  webSearchResult,
  serverResult,
  compaction,
  containerUpload,
] as const

/** Kinds that only a provider of this format may know, such as calls of tools that it runs and their results. */
const otherBlock = z.looseObject({
  type: boundedString(1, 256).meta({ not: { enum: kindsOf(knownBlocks) } }),
  ...cached,
})

function kindsOf(blocks: typeof knownBlocks): string[] {
  const kinds = blocks.flatMap(({ shape }): string[] => [...shape.type.values])
  // Another gateway's names are taken and not advertised.
  return kinds.filter((kind) => !kind.startsWith('openrouter'))
}

/** Of the user and the assistant; which of the two says what is a matter of the rules. */
export const block = nameSchema('MessagesBlock', z.discriminatedUnion('type', [...knownBlocks, otherBlock]))

const reference = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('tool_reference'), name: toolName }),
  z.looseObject({ type: z.literal('mcp_tool_reference'), name: toolName, server_name: toolName }),
  z.looseObject({ type: z.literal('mcp_toolset_reference'), server_name: toolName }),
])

/** Of a system message in the middle of a conversation. */
export const systemBlock = nameSchema(
  'MessagesSystemBlock',
  z.discriminatedUnion('type', [
    textBlock,
    z.looseObject({ type: z.literal(['tool_addition', 'tool_removal']), tool: reference, ...cached }),
  ]),
)
