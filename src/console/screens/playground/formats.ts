/** The two formats a conversation can be had in: what is sent of it, and what comes of its answer. */
import type { Chunk, MessageEvent, SoundKind, Usage } from './wire.ts'

export type FormatName = 'chat' | 'messages'

export interface Request {
  readonly format: FormatName
  readonly model: string
  readonly system: string
  readonly temperature: number | null
  readonly maxTokens: number | null
  /** `''` leaves it to the model. */
  readonly thinking: string
  readonly tools: readonly string[]
  readonly plugins: readonly string[]
  /** What the model answers with; pictures and sound are asked for. */
  readonly gives: readonly string[]
  /** Null for a model of text. */
  readonly sound: SoundKind | null
  readonly voice: string
  /** Dollars for a token. */
  readonly prices: { readonly prompt: number; readonly completion: number }
  /** Null where the session pays. */
  readonly key: string | null
}

/** A file that was said, as it was read. */
export interface Attachment {
  readonly name: string
  readonly type: string
  readonly base64: string
}

/** What one side said. */
export interface Said {
  readonly role: 'user' | 'assistant'
  readonly text: string
  /** Absent where there are none. */
  readonly files?: readonly Attachment[] | undefined
}

export interface ToolRun {
  readonly id: string
  readonly name: string
  readonly state: 'started' | 'completed' | 'failed'
}

type Source = readonly [address: string, title: string]

/** What an event of an answer tells. */
export interface Piece {
  readonly text?: string | undefined
  readonly thinking?: string | undefined
  readonly pictures?: readonly string[] | undefined
  /** Without a name it is one that was told of. */
  readonly tool?: (Omit<ToolRun, 'name'> & { readonly name?: string }) | undefined
  /** What it cites: addresses, or names, each with its title. */
  readonly sources?: readonly Source[] | undefined
  /** Ids of files that it has made. */
  readonly made?: readonly string[] | undefined
  readonly finish?: string | null | undefined
  readonly usage?: Usage | null | undefined
  readonly problem?: string | undefined
}

interface Format {
  readonly path: string
  readonly body: (request: Request, turns: readonly Said[]) => Record<string, unknown>
  /** Null for an event that tells nothing. */
  readonly read: (data: string) => Piece | null
}

/** Tokens to think with, where the format wants a number. */
const BUDGETS: Readonly<Record<string, number>> = { low: 1024, medium: 4096, high: 16_384 }
const MOST_TOKENS = 4096

const chat: Format = {
  path: 'chat/completions',
  body: ({ system, maxTokens, thinking, gives, voice, ...request }, turns) => ({
    ...sharedOf(request),
    messages: [
      ...(system === '' ? [] : [{ role: 'system', content: system }]),
      ...said(turns, (text) => ({ type: 'text', text }), chatPart),
    ],
    ...(maxTokens !== null && { max_tokens: maxTokens }),
    ...(thinking !== '' && { reasoning: { effort: thinking } }),
    ...(gives.length > 1 && { modalities: gives }),
    // What is streamed has no head; the file that is kept of it has one, and is played.
    ...(gives.includes('audio') && { audio: { voice: voice || 'alloy', format: 'pcm16' } }),
    stream: true,
    stream_options: { include_usage: true },
  }),
  read: (data) => {
    if (data === '[DONE]') return null
    const { choices, usage, error, service_tool: tool } = JSON.parse(data) as Chunk
    const { delta, finish_reason: finish } = choices?.[0] ?? {}
    return {
      text: delta?.content || delta?.audio?.transcript,
      thinking: delta?.reasoning ?? '',
      pictures: delta?.images?.map(({ image_url }) => image_url.url),
      sources: delta?.annotations?.flatMap(({ url_citation: of }) =>
        of ? [[of.url, of.title ?? of.url]] : [],
      ),
      made: delta?.annotations?.flatMap(({ file }) => file?.file_id ?? []),
      ...(tool && { tool: { id: tool.tool_call_id, name: tool.name, state: tool.state } }),
      finish,
      usage,
      ...(error && { problem: error.message ?? 'The answer failed' }),
    }
  },
}

const messages: Format = {
  path: 'messages',
  body: ({ system, maxTokens, thinking, ...request }, turns) => ({
    ...sharedOf(request),
    ...(system !== '' && { system }),
    messages: said(turns, (text) => ({ type: 'text', text }), messagesPart),
    // The format wants a number.
    max_tokens: maxTokens ?? MOST_TOKENS + (BUDGETS[thinking] ?? 0),
    ...(thinking !== '' && { thinking: { type: 'enabled', budget_tokens: BUDGETS[thinking] } }),
    stream: true,
  }),
  read: (data) => {
    const { type, content_block: block, delta, usage, error } = JSON.parse(data) as MessageEvent
    if (type === 'error') return { problem: error?.message ?? 'The answer failed' }
    return {
      text: delta?.text,
      thinking: delta?.thinking,
      tool: block && toolIn(block),
      sources: delta?.citation && [sourceIn(delta.citation)],
      made: block?.file_id ? [block.file_id] : [],
      finish: delta?.stop_reason,
      ...(usage && {
        usage: {
          prompt_tokens: usage.input_tokens ?? 0,
          completion_tokens: usage.output_tokens ?? 0,
          ...(usage.cost !== undefined && { cost: usage.cost }),
        },
      }),
    }
  },
}

export const FORMATS: Readonly<Record<FormatName, Format>> = { chat, messages }

function sharedOf({
  model,
  temperature,
  tools,
  plugins,
}: Pick<Request, 'model' | 'temperature' | 'tools' | 'plugins'>) {
  return {
    model,
    ...(temperature !== null && { temperature }),
    ...(tools.length > 0 && { tools: tools.map((name) => ({ type: `service:${name}` })) }),
    ...(plugins.length > 0 && { plugins: plugins.map((id) => ({ id })) }),
  }
}

/** Texts alone stay texts; answers that failed before their first word are left out. */
function said(
  turns: readonly Said[],
  textPart: (text: string) => object,
  filePart: (file: Attachment) => object,
): object[] {
  return turns
    .filter(({ text, files }) => text !== '' || files !== undefined)
    .map(({ role, text, files }) => ({
      role,
      content: files === undefined ? text : [textPart(text), ...files.map(filePart)],
    }))
}

function chatPart({ name, type, base64 }: Attachment): object {
  const url = `data:${type};base64,${base64}`
  if (type.startsWith('image/')) return { type: 'image_url', image_url: { url } }
  if (type.startsWith('audio/'))
    return {
      type: 'input_audio',
      input_audio: { data: base64, format: /mpeg|mp3/.test(type) ? 'mp3' : 'wav' },
    }
  return { type: 'file', file: { filename: name, file_data: url } }
}

function messagesPart({ type, base64 }: Attachment): object {
  const source = { type: 'base64', media_type: type, data: base64 }
  return { type: type.startsWith('image/') ? 'image' : 'document', source }
}

function sourceIn({
  url,
  source,
  document_title,
  title,
}: NonNullable<NonNullable<MessageEvent['delta']>['citation']>): Source {
  const address = url ?? source ?? document_title ?? 'A document'
  return [address, title ?? address]
}

function toolIn({ type, id, name, tool_use_id: of, content }: NonNullable<MessageEvent['content_block']>) {
  if (id !== undefined && name !== undefined && /^(server|mcp)_tool_use$/.test(type))
    return { id, name, state: 'started' } as const
  if (of === undefined) return
  return { id: of, state: content?.type?.endsWith('_error') ? 'failed' : 'completed' } as const
}
