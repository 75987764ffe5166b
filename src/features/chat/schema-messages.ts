/** The five kinds of message and the kinds of content part (contract/gateway 2.2, 2.3). */
import { z } from 'zod'
import { boundedString, limitOpenValue, noteOptions, optional, safeInteger } from '../../http/fields.js'
import { nameSchema } from '../../http/json-schema.js'
import { base64OrUrl, mediaUrl } from '../../inference-http/media.js'
import { cacheControl, effort } from '../../inference-http/request-members.js'

/** In every part: the prompt is to be cached up to its end. */
const cacheMarks = optional({
  cache_control: cacheControl,
  prompt_cache_breakpoint: z.object({ mode: z.literal('explicit') }).nullable(),
})

export const textPart = nameSchema(
  'TextPart',
  z.object({ type: z.literal('text'), text: z.string(), ...cacheMarks }),
)

const contentPart = nameSchema(
  'ContentPart',
  z.discriminatedUnion('type', [
    textPart,
    z.object({
      type: z.literal('image_url'),
      image_url: z.object({
        url: mediaUrl('image/'),
        ...optional({ detail: z.enum(['auto', 'low', 'high', 'original']) }),
      }),
      ...cacheMarks,
    }),
    z.object({
      type: z.literal('input_audio'),
      input_audio: z.object({
        data: base64OrUrl,
        format: boundedString(1, 32),
      }),
      ...cacheMarks,
    }),
    z.object({
      type: z.literal('video_url'),
      video_url: z.object({
        url: mediaUrl('video/'),
        ...optional({ processing: z.enum(['agentic', 'static']) }),
      }),
      ...cacheMarks,
    }),
    // The old spelling of the same.
    z.object({
      type: z.literal('input_video'),
      video_url: z.object({ url: mediaUrl('video/') }),
      ...cacheMarks,
    }),
    z.object({
      type: z.literal('file'),
      file: z
        .object(optional({ file_data: mediaUrl(''), file_id: boundedString(1, 256), filename: z.string() }))
        .refine(
          (file) => file.file_data !== undefined || file.file_id !== undefined,
          noteOptions('needs file_data or file_id'),
        )
        .refine(
          (file) => file.file_data === undefined || file.file_id === undefined,
          noteOptions('cannot have both file_data and file_id'),
        ),
      ...cacheMarks,
    }),
  ]),
)

const content = z.union([z.string(), z.array(contentPart)])

const instruction = {
  content: z.union([z.string(), z.array(textPart)]),
  ...optional({
    name: z.string(),
    configuration_update: z.strictObject({ reasoning: z.strictObject({ effort }) }).nullable(),
  }),
}

const toolCall = nameSchema(
  'ToolCall',
  z.object({
    id: boundedString(1, 1024),
    type: z.literal('function'),
    function: z.object({ name: boundedString(1, 256), arguments: z.string() }),
  }),
)

const text = z.string().nullable()

/** Echoed unchanged (contract/gateway 3.5): what is known of an item is checked, the rest is kept. */
const reasoningDetail = nameSchema(
  'ReasoningDetail',
  limitOpenValue(
    z.looseObject({
      type: z.string(),
      ...optional({
        id: text,
        format: text,
        index: safeInteger(),
        text,
        signature: text,
        summary: z.string(),
        data: z.string(),
      }),
    }),
  ),
)

const echoedAudio = optional({
  id: z.string(),
  data: z.string(),
  transcript: z.string(),
  expires_at: safeInteger(),
})
const echoedImage = z.looseObject({ image_url: z.looseObject({ url: mediaUrl('image/') }) })

const assistant = z.object({
  role: z.literal('assistant'),
  ...optional({
    content: content.nullable(),
    name: z.string(),
    refusal: text,
    // Libraries that print whole answers into the history write null for what an answer did not have.
    tool_calls: z.array(toolCall).nullable(),
    audio: z.object(echoedAudio).nullable(),
    images: z.array(limitOpenValue(echoedImage)).nullable(),
    reasoning: text,
    reasoning_details: z.array(reasoningDetail).nullable(),
    model: z.string(),
    annotations: z.unknown().meta({
      description: 'Of an earlier answer. Those of files spare their reading; the others say nothing.',
    }),
  }),
})

export const message = nameSchema(
  'Message',
  z.discriminatedUnion('role', [
    z.object({ role: z.literal('system'), ...instruction }),
    z.object({ role: z.literal('developer'), ...instruction }),
    z.object({ role: z.literal('user'), content, ...optional({ name: z.string() }) }),
    assistant,
    z.object({ role: z.literal('tool'), content, tool_call_id: boundedString(1, 1024) }),
  ]),
)
