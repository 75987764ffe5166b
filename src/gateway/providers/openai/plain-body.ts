/**
 * The body of a call that is words, figures and functions that are known, as most are, put together as text: half the
 * time of an object and its `JSON.stringify`. Byte for byte what `buildChatBody` comes to; whatever it has to think about
 * goes there.
 */
import { isKnown, oncePerKnown, textOfKnown } from '../../../base/known-json.js'
import type { ChatMessage, ChatRequest } from '../../formats/canonical.js'
import type { ProviderCall } from '../port/provider.js'

/** Longer words are written elsewhere, in pieces. */
const LONGEST_TEXT = 16 * 1024
const MOST_MESSAGES = 32

/** Null for a call that holds more than that. */
export function writePlainBody(call: ProviderCall, stream: boolean): string | null {
  const { request, serviceTier } = call
  if (serviceTier !== undefined || request.messages.length > MOST_MESSAGES) return null
  const figures = writeFigures(request)
  const messages = figures === null ? null : writeMessages(request.messages)
  if (messages === null) return null
  const streamed = stream ? 'true,"stream_options":{"include_usage":true}' : 'false'
  return `{"model":${JSON.stringify(call.endpoint.upstreamModel)},"messages":[${messages}],"stream":${streamed}${figures},"user":${JSON.stringify(call.endUser)}}`
}

/** The members beside the messages, each behind a comma; null where one is no figure and says something to a provider. */
function writeFigures(request: ChatRequest): string | null {
  let written = ''
  for (const name in request) {
    switch (name) {
      case 'temperature':
      case 'top_p':
      case 'frequency_penalty':
      case 'presence_penalty':
      case 'seed':
      case 'max_completion_tokens': {
        const figure = request[name]
        if (figure === undefined || figure === null) break
        if (!Number.isFinite(figure)) return null
        written += `,"${name}":${figure}`
        break
      }
      case 'tools': {
        const tools = request[name]
        if (tools === undefined || tools === null) break
        if (!isKnown(tools) || !areUnmarked(tools)) return null
        written += `,"tools":${textOfKnown(tools)}`
        break
      }
      case 'tool_choice': {
        const choice = request[name]
        if (choice === undefined || choice === null) break
        if (typeof choice !== 'string') return null
        written += `,"tool_choice":"${choice}"`
        break
      }
      case 'parallel_tool_calls': {
        const flag = request[name]
        if (flag !== undefined && flag !== null) written += `,"parallel_tool_calls":${flag}`
        break
      }
      // The gateway acts on these, or writes them down.
      case 'model':
      case 'models':
      case 'messages':
      case 'provider':
      case 'route':
      case 'stream':
      case 'stream_options':
      case 'max_tokens':
      case 'user':
      case 'session_id':
      case 'trace':
      case 'metadata':
        break
      default:
        return null
    }
  }
  const { max_tokens: limit, max_completion_tokens: newer } = request
  return limit === undefined || limit === null || (newer ?? null) !== null
    ? written
    : `${written},"max_tokens":${limit}`
}

/** Functions alone, without a mark of a cache: some servers do not take it. A function's parameters refer to nothing. */
const areUnmarked = oncePerKnown((tools: NonNullable<ChatRequest['tools']>) =>
  tools.every((tool) => tool.type === 'function' && tool.cache_control === undefined),
)

/** Null where one is more than a text. */
function writeMessages(messages: readonly ChatMessage[]): string | null {
  let written = ''
  for (let at = 0; at < messages.length; at++) {
    const message = messages[at]!
    let members = ''
    let hasContent = false
    for (const name in message) {
      const value = (message as unknown as Readonly<Record<string, unknown>>)[name]
      if (typeof value !== 'string' || value.length > LONGEST_TEXT) return null
      if (name === 'role') members += members === '' ? `"role":"${value}"` : `,"role":"${value}"`
      else if (name === 'content') {
        members +=
          members === '' ? `"content":${JSON.stringify(value)}` : `,"content":${JSON.stringify(value)}`
        hasContent = true
      } else return null
    }
    if (!hasContent) return null
    written += at === 0 ? `{${members}}` : `,{${members}}`
  }
  return written
}
