/** The five kinds of message and the kinds of content part (contract/gateway 2.2, 2.3). */
import { z } from 'zod'
import { boundedString, limitDepth, noteOptions, safeInteger, stringWithRule } from '../../http/fields.js'
import { nameSchema } from '../../http/json-schema.js'
import { isBase64, mediaUrl } from '../../inference-http/media.js'
import { cacheControl } from '../../inference-http/request-members.js'

export const effort = z.enum(['max', 'xhigh', 'high', 'medium', 'low', 'minimal', 'none'])

export const textPart = nameSchema(
  'TextPart',
  z.object({
    type: z.literal('text'),
    text: z.string(),
    cache_control: cacheControl.exactOptional(),
    prompt_cache_breakpoint: z
      .object({ mode: z.literal('explicit') })
      .nullable()
      .exactOptional(),
  }),
)

const contentPart = nameSchema(
  'ContentPart',
  z.discriminatedUnion('type', [
    textPart,
    z.object({
      type: z.literal('image_url'),
      image_url: z.object({
        url: mediaUrl('image/'),
        detail: z.enum(['auto', 'low', 'high', 'original']).exactOptional(),
      }),
      cache_control: cacheControl.exactOptional(),
    }),
    z.object({
      type: z.literal('input_audio'),
      input_audio: z.object({
        data: stringWithRule((data) => (isBase64(data) ? null : 'must be base64 and not empty')),
        format: boundedString(1, 32),
      }),
    }),
    z.object({
      type: z.literal('video_url'),
      video_url: z.object({
        url: mediaUrl('video/'),
        processing: z.enum(['agentic', 'static']).exactOptional(),
      }),
    }),
    // The old spelling of the same.
    z.object({ type: z.literal('input_video'), video_url: z.object({ url: mediaUrl('video/') }) }),
    z.object({
      type: z.literal('file'),
      file: z
        .object({
          file_data: mediaUrl('').exactOptional(),
          file_id: boundedString(1, 256).exactOptional(),
          filename: z.string().exactOptional(),
        })
        .refine(
          (file) => file.file_data !== undefined || file.file_id !== undefined,
          noteOptions('needs file_data or file_id'),
        ),
      cache_control: cacheControl.exactOptional(),
    }),
  ]),
)

const content = z.union([z.string(), z.array(contentPart)])

const instruction = {
  content: z.union([z.string(), z.array(textPart)]),
  name: z.string().exactOptional(),
  configuration_update: z
    .strictObject({ reasoning: z.strictObject({ effort }) })
    .nullable()
    .exactOptional(),
}

const toolCall = nameSchema(
  'ToolCall',
  z.object({
    id: boundedString(1, 1024),
    type: z.literal('function'),
    function: z.object({ name: boundedString(1, 256), arguments: z.string() }),
  }),
)

/** Echoed unchanged (contract/gateway 3.5): what is known of an item is checked, the rest is kept. */
const reasoningDetail = nameSchema(
  'ReasoningDetail',
  limitDepth(
    z.looseObject({
      type: z.string(),
      id: z.string().nullable().exactOptional(),
      format: z.string().nullable().exactOptional(),
      index: safeInteger().exactOptional(),
      text: z.string().nullable().exactOptional(),
      signature: z.string().nullable().exactOptional(),
      summary: z.string().exactOptional(),
      data: z.string().exactOptional(),
    }),
  ),
)

const assistant = z.object({
  role: z.literal('assistant'),
  content: content.nullable().exactOptional(),
  name: z.string().exactOptional(),
  refusal: z.string().nullable().exactOptional(),
  // Libraries that print whole answers into the history write null for what an answer did not have.
  tool_calls: z.array(toolCall).nullable().exactOptional(),
  audio: z
    .object({
      id: z.string().exactOptional(),
      data: z.string().exactOptional(),
      transcript: z.string().exactOptional(),
      expires_at: safeInteger().exactOptional(),
    })
    .nullable()
    .exactOptional(),
  images: z
    .array(limitDepth(z.looseObject({ image_url: z.looseObject({ url: mediaUrl('image/') }) })))
    .nullable()
    .exactOptional(),
  reasoning: z.string().nullable().exactOptional(),
  reasoning_details: z.array(reasoningDetail).nullable().exactOptional(),
  model: z.string().exactOptional(),
})

export const message = nameSchema(
  'Message',
  z.discriminatedUnion('role', [
    z.object({ role: z.literal('system'), ...instruction }),
    z.object({ role: z.literal('developer'), ...instruction }),
    z.object({ role: z.literal('user'), content, name: z.string().exactOptional() }),
    assistant,
    z.object({ role: z.literal('tool'), content, tool_call_id: boundedString(1, 1024) }),
  ]),
)
