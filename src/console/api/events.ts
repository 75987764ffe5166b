/** Server-sent events of an answer that is read as it comes. */

export interface ServerEvent {
  /** `message` where the server names none. */
  readonly event: string
  readonly data: string
}

/** Longest text that is kept while its end has not come; what sends more is no server of ours. */
const MOST_CHARS = 8 * 1024 * 1024

/** The events of a body, in order. Rejects as the body does, and with a RangeError for one that never ends its line. */
export async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      rest += decoder.decode(value, { stream: true })
      const blocks = rest.split(/\r?\n\r?\n/)
      rest = blocks.pop() ?? ''
      if (rest.length > MOST_CHARS) throw new RangeError('an event without an end')
      for (const block of blocks) {
        const event = eventIn(block)
        if (event !== null) yield event
      }
    }
  } finally {
    // Who stops reading lets the server stop sending.
    await reader.cancel().catch(() => {})
  }
}

/** Null for a block that holds comments alone. */
function eventIn(block: string): ServerEvent | null {
  let event = 'message'
  const data: string[] = []
  for (const line of block.split(/\r?\n/)) {
    const [, name, value] = /^([^:]*):? ?(.*)$/.exec(line) ?? []
    if (name === 'event') event = value!
    if (name === 'data') data.push(value!)
  }
  return data.length === 0 ? null : { event, data: data.join('\n') }
}
