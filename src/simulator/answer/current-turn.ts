/** What the user asked last, and how far it has come. */
import type { ChatMessage } from '../../gateway/formats/canonical.js'

export interface CurrentTurn {
  /** What the user said when the turn began; `''` where nobody has said anything. */
  readonly text: string
  /** Names of the functions that were called since, in their order. */
  readonly called: readonly string[]
  /** Answers since then that called any. */
  readonly turns: number
}

/**
 * The turn that is under way. A message of the user right before or right behind results of tools belongs to them, as
 * the reminders of agents do: it begins no turn.
 */
export function currentTurn(messages: readonly ChatMessage[]): CurrentTurn {
  const called: string[] = []
  let turns = 0
  for (let at = messages.length - 1; at >= 0; at--) {
    const message = messages[at]!
    if (message.role === 'assistant') {
      if (message.tool_calls?.length) turns++
      for (const { function: call } of message.tool_calls?.toReversed() ?? []) called.push(call.name)
    } else if (message.role === 'user' && !isBesideResults(messages, at)) {
      return { text: textOfContent(message.content, '\n'), called: called.reverse(), turns }
    }
  }
  return { text: '', called: called.reverse(), turns }
}

function isBesideResults(messages: readonly ChatMessage[], at: number): boolean {
  return messages[at - 1]?.role === 'tool' || messages[at + 1]?.role === 'tool'
}

const ECHO = 'echo:'

export function isEchoRequest(userText: string): boolean {
  return userText.startsWith(ECHO)
}

/** What stands behind `echo:`. */
export function echoText(userText: string): string {
  return userText.slice(ECHO.length).trim()
}

/** The text of the last message of the user; `''` for none. */
export function lastUserText(messages: readonly ChatMessage[]): string {
  return textOfContent(messages.findLast(({ role }) => role === 'user')?.content)
}

/** The text of a content, its media left out; `between` stands between its parts. */
export function textOfContent(content: ChatMessage['content'], between = ''): string {
  if (typeof content === 'string') return content
  return (content ?? []).map((part) => (part.type === 'text' ? part.text : '')).join(between)
}
