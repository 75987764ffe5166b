/** What servers of both kinds say of an answer that consumed given amounts, whole and streamed. */

/** How much of each kind, none of it counted twice. */
export interface Facts {
  readonly plain: number
  readonly read: number
  readonly write5m: number
  readonly write1h: number
  readonly heard: number
  readonly seen: number
  readonly watched: number
  readonly said: number
  readonly thought: number
  readonly spoken: number
  readonly painted: number
  readonly searches: number
  readonly picturesIn: number
  readonly picturesOut: number
}

interface Told {
  readonly facts: Facts
  /** Tier in the words of the price table; null for the usual one, undefined where the server does not say. */
  readonly tier: string | null | undefined
}

function openAiUsage({ facts }: Told): object {
  const { plain, read, write5m, write1h, heard, seen, watched, said, thought, spoken, painted } = facts
  const written = write5m + write1h
  return {
    prompt_tokens: plain + read + written + heard + seen + watched,
    completion_tokens: said + thought + spoken + painted,
    prompt_tokens_details: {
      cached_tokens: read,
      cache_write_tokens: written,
      audio_tokens: heard,
      image_tokens: seen,
      video_tokens: watched,
      cache_creation_token_details: {
        ephemeral_5m_input_tokens: write5m,
        ephemeral_1h_input_tokens: write1h,
      },
    },
    completion_tokens_details: { reasoning_tokens: thought, audio_tokens: spoken, image_tokens: painted },
    server_tool_use_details: { web_search_requests: facts.searches },
  }
}

export const PNG = { image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }

export function openAiAnswer(told: Told, stream: boolean): readonly string[] {
  const { facts, tier } = told
  const head = { id: 'x', ...(tier !== undefined && { service_tier: tier ?? 'default' }) }
  const images = Array.from({ length: facts.picturesOut }, () => PNG)
  const message = { role: 'assistant', content: 'yes', ...(images.length > 0 && { images }) }
  if (!stream) {
    const choices = [{ index: 0, message, finish_reason: 'stop' }]
    return [JSON.stringify({ ...head, choices, usage: openAiUsage(told) })]
  }
  const pieces = images.map((image) => ({ images: [image] }))
  const deltas: object[] = [{ role: 'assistant', content: 'yes' }, ...pieces]
  return [
    ...deltas.map((delta) => chunkOf({ ...head, choices: [{ index: 0, delta, finish_reason: null }] })),
    chunkOf({ ...head, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
    chunkOf({ ...head, choices: [], usage: openAiUsage(told) }),
    'data: [DONE]\n\n',
  ]
}

function chunkOf(members: object): string {
  return `data: ${JSON.stringify(members)}\n\n`
}

function anthropicUsage({ facts, tier }: Told): object {
  return {
    input_tokens: facts.plain,
    output_tokens: facts.said + facts.thought,
    cache_read_input_tokens: facts.read,
    cache_creation_input_tokens: facts.write5m + facts.write1h,
    cache_creation: {
      ephemeral_5m_input_tokens: facts.write5m,
      ephemeral_1h_input_tokens: facts.write1h,
    },
    output_tokens_details: { thinking_tokens: facts.thought },
    server_tool_use: { web_search_requests: facts.searches, web_fetch_requests: 0 },
    ...(tier === 'fast' && { speed: 'fast', service_tier: 'standard' }),
    ...(tier !== 'fast' && tier !== undefined && { service_tier: tier ?? 'standard' }),
  }
}

export function anthropicAnswer(told: Told, stream: boolean): readonly string[] {
  const usage = anthropicUsage(told)
  const message = { id: 'm', type: 'message', role: 'assistant', stop_reason: null, stop_sequence: null }
  const text = { type: 'text', text: 'yes' }
  if (!stream) return [JSON.stringify({ ...message, content: [text], stop_reason: 'end_turn', usage })]
  const empty = { ...text, text: '' }
  const delta = { type: 'text_delta', text: 'yes' }
  const stop = { stop_reason: 'end_turn', stop_sequence: null }
  return [
    {
      type: 'message_start',
      message: { ...message, content: [], usage: { input_tokens: 1, output_tokens: 1 } },
    },
    { type: 'content_block_start', index: 0, content_block: empty },
    { type: 'content_block_delta', index: 0, delta },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: stop, usage },
    { type: 'message_stop' },
  ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
}
