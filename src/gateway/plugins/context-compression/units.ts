/** The conversation of a request of either format, cut where it may be cut: a call and its results stay together. */
import { asList, asObject, objectsIn } from '../../formats/json-values.js'

/** What is read of a message of either format. */
export interface TalkMessage {
  readonly role: string
  readonly content?: unknown
  readonly tool_calls?: unknown
  readonly tool_call_id?: unknown
}

/** Messages `from` to `to`, both included. */
export interface Unit {
  readonly from: number
  readonly to: number
}

/** In order, without gaps. */
export function cutIntoUnits(messages: readonly TalkMessage[]): readonly Unit[] {
  const callAt = new Map<unknown, number>()
  const units: Unit[] = []
  for (let at = 0; at < messages.length; at++) {
    for (const id of callIds(messages[at]!)) callAt.set(id, at)
    let from = at
    for (const id of resultIds(messages[at]!)) from = Math.min(from, callAt.get(id) ?? at)
    // Whatever stands between a call and its result goes with them.
    while (units.length > 0 && units.at(-1)!.to >= from) units.pop()
    const first = units.length === 0 ? 0 : units.at(-1)!.to + 1
    units.push({ from: first, to: at })
  }
  return units
}

function callIds({ content, tool_calls }: TalkMessage): readonly unknown[] {
  const inBlocks = objectsIn(content).filter(({ type }) => type === 'tool_use' || type === 'server_tool_use')
  return [...objectsIn(tool_calls), ...inBlocks].map(({ id }) => id)
}

function resultIds({ role, content, tool_call_id }: TalkMessage): readonly unknown[] {
  if (role === 'tool') return [tool_call_id]
  return objectsIn(content).flatMap(({ tool_use_id: id }) => (id === undefined ? [] : [id]))
}

/** Whether the message says something of the user's own, and not results of tools alone. */
export function isUserSaying({ role, content }: TalkMessage): boolean {
  if (role !== 'user') return false
  return (
    typeof content === 'string' || asList(content).some((part) => asObject(part)?.tool_use_id === undefined)
  )
}

/** The message with each of its texts replaced; calls, and what is no text, stay. */
export function mapTexts<M extends TalkMessage>(message: M, replace: (text: string) => string): M {
  const { content } = message
  if (typeof content === 'string') return { ...message, content: replace(content) }
  if (!Array.isArray(content)) return message
  return { ...message, content: content.map((part: unknown) => mapPart(part, replace)) }
}

function mapPart(part: unknown, replace: (text: string) => string): unknown {
  const block = asObject(part)
  if (block === null) return part
  if (block.type === 'text' && typeof block.text === 'string') return { ...block, text: replace(block.text) }
  if (block.type !== 'tool_result') return part
  if (typeof block.content === 'string') return { ...block, content: replace(block.content) }
  if (!Array.isArray(block.content)) return part
  const inner = block.content.map((each: unknown) => {
    const text = asObject(each)
    return text?.type === 'text' && typeof text.text === 'string'
      ? { ...text, text: replace(text.text) }
      : each
  })
  return { ...block, content: inner }
}
