/**
 * What a simulated judge finds. A rule is broken by a text that holds a word which stands in double quotes in the rule,
 * or `judge:` with what the rule begins with before its colon: `judge:violence` breaks `violence: …`.
 */
import type { ChatMessage } from '../../gateway/formats/canonical.js'
import { isObject, ownList, ownMember } from '../../gateway/formats/json-schema/schema-values.js'
import { lastUserText } from './current-turn.js'

const QUOTED = /"([^"]{1,200})"/g
const NAME = /^([a-z][a-z0-9_/-]{0,63}):/i

/** `{"scores": […]}` for a question of rules and a text; null where the message is no such question. */
export function judgeAnswer(messages: readonly ChatMessage[]): string | null {
  const question = parsedOrNull(lastUserText(messages))
  if (!isObject(question)) return null
  const text = ownMember(question, 'text')
  if (typeof text !== 'string') return null
  const judged = text.toLowerCase()
  const scores = ownList(question, 'rules').map((rule) => {
    return typeof rule === 'string' && isBroken(rule.toLowerCase(), judged) ? 1 : 0
  })
  return JSON.stringify({ scores })
}

function isBroken(rule: string, text: string): boolean {
  const name = NAME.exec(rule)?.[1]
  if (name !== undefined && text.includes(`judge:${name}`)) return true
  for (const [, quoted = ''] of rule.matchAll(QUOTED)) if (text.includes(quoted)) return true
  return false
}

function parsedOrNull(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
