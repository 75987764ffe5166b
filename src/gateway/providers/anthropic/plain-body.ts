/**
 * The body of a messages call that is words, figures and tools that are known, put together as text. Byte for byte what
 * `buildMessagesBody` comes to; whatever it has to think about goes there.
 */
import { isKnown, oncePerKnown, textOfKnown } from '../../../base/known-json.js'
import type { ContentBlock, MessagesMessage, MessagesRequest } from '../../formats/messages.js'
import { refuseAccountReference } from '../http/server.js'
import type { ProviderCall } from '../port/provider.js'

/** Longer words are written elsewhere, in pieces. */
const LONGEST_TEXT = 16 * 1024
const LONGEST_BODY = 128 * 1024
const MOST_MESSAGES = 32
const MOST_BLOCKS = 8

/** Null for a call that holds more than that. */
export function writePlainBody(call: ProviderCall<MessagesRequest>, stream: boolean): string | null {
  const { request, serviceTier } = call
  if (serviceTier !== undefined || request.messages.length > MOST_MESSAGES) return null
  const members = writeMembers(request)
  const messages = members === null ? null : writeMessages(request.messages)
  if (messages === null) return null
  return `{"model":${JSON.stringify(call.endpoint.upstreamModel)},"messages":[${messages}]${members},"stream":${stream},"metadata":{"user_id":${JSON.stringify(call.endUser)}}}`
}

/** The members beside the messages, each behind a comma; null where one is more than a figure or known tools. */
function writeMembers(request: MessagesRequest): string | null {
  let written = ''
  for (const name in request) {
    switch (name) {
      case 'max_tokens':
      case 'temperature':
      case 'top_p':
      case 'top_k': {
        const figure = request[name]
        if (figure === undefined || figure === null) break
        if (!Number.isFinite(figure)) return null
        written += `,"${name}":${figure}`
        break
      }
      case 'system': {
        if (request.system === undefined) break
        const text = writeContent(request.system)
        if (text === null) return null
        written += `,"system":${text}`
        break
      }
      case 'tools': {
        const { tools } = request
        if (tools === undefined) break
        if (!isKnown(tools) || !refersToNothing(tools)) return null
        written += `,"tools":${textOfKnown(tools)}`
        break
      }
      case 'tool_choice': {
        const choice = request[name]
        if (choice === undefined) break
        for (const member in choice) if (!CHOICE_MEMBERS.has(member)) return null
        written += `,"tool_choice":${JSON.stringify(choice)}`
        break
      }
      // The gateway acts on these, or writes them down.
      case 'model':
      case 'models':
      case 'messages':
      case 'provider':
      case 'route':
      case 'stream':
      case 'user':
      case 'account':
      case 'session_id':
      case 'trace':
        break
      default:
        return null
    }
  }
  return written
}

const CHOICE_MEMBERS: ReadonlySet<string> = new Set(['type', 'name', 'disable_parallel_tool_use'])

const refersToNothing = oncePerKnown((tools: object) => refuseAccountReference({ tools }) === null)

/** Null where one is more than words. */
function writeMessages(messages: readonly MessagesMessage[]): string | null {
  let written = ''
  for (let at = 0; at < messages.length; at++) {
    const message = messages[at]!
    let members = ''
    for (const name in message) {
      const comma = members === '' ? '' : ','
      if (name === 'role') members += `${comma}"role":"${message.role}"`
      else if (name === 'content') {
        const content = writeContent(message.content)
        if (content === null) return null
        members += `${comma}"content":${content}`
      } else return null
    }
    written += at === 0 ? `{${members}}` : `,{${members}}`
    if (written.length > LONGEST_BODY) return null
  }
  return written
}

/** A text, or a few blocks of nothing but text; null for more. */
function writeContent(content: string | readonly ContentBlock[]): string | null {
  if (typeof content === 'string') return writeText(content)
  if (!Array.isArray(content) || content.length > MOST_BLOCKS) return null
  let written = ''
  for (let at = 0; at < content.length; at++) {
    const block = content[at]!
    let members = ''
    for (const name in block) {
      const comma = members === '' ? '' : ','
      if (name === 'type' && block.type === 'text') members += `${comma}"type":"text"`
      else if (name === 'text' && typeof block.text === 'string') {
        const text = writeText(block.text)
        if (text === null) return null
        members += `${comma}"text":${text}`
      } else return null
    }
    written += at === 0 ? `{${members}}` : `,{${members}}`
  }
  return `[${written}]`
}

function writeText(text: string): string | null {
  return text.length > LONGEST_TEXT ? null : JSON.stringify(text)
}
