/** Tool calls of many servers, repaired to contract/gateway 3.2 and 4.3. */
import type { ToolCall, ToolCallDelta } from '../../formats/canonical.js'
import { countOf, type Members, objectOf, objectsIn, textOf } from '../../formats/shape.js'

/** Parallel calls one answer may hold; further ones are dropped, so that a server cannot fill our memory. */
const MAX_CALLS = 1024

/** The calls of a whole message; undefined when there is none. The old single `function_call` counts as one. */
export function toolCallsOf(message: Members, generationId: string): readonly ToolCall[] | undefined {
  const calls = fragmentsOf(message).flatMap((fragment, index) => callOf(fragment, index, generationId) ?? [])
  return calls.length > 0 ? calls : undefined
}

function callOf(fragment: Members, index: number, generationId: string): ToolCall | null {
  const called = objectOf(fragment.function)
  const name = textOf(called?.name)
  if (name === undefined) return null
  const id = textOf(fragment.id) ?? madeId(generationId, index)
  return { id, type: 'function', function: { name, arguments: argumentsOf(called?.arguments) } }
}

/** The tool call members of a message or a delta, in one shape. */
function fragmentsOf(members: Members): readonly Members[] {
  const single = objectOf(members.function_call)
  if (single !== null) return [{ function: single }]
  return objectsIn(members.tool_calls)
}

function madeId(generationId: string, index: number): string {
  return `call_${generationId.replace(/^gen-/, '')}_${index}`
}

/** Arguments are a text of JSON; some servers send the value itself. */
function argumentsOf(value: unknown): string {
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : JSON.stringify(value)
}

interface Slot {
  readonly id: string
  /** What the server counts the call by. */
  readonly theirs: number | undefined
  /** Arguments that came before the name; null once the first fragment has gone out. */
  held: string | null
}

/**
 * The tool calls of one streamed choice. Calls are counted in the order in which they begin. The first fragment that
 * goes out carries id, type and name, the later ones arguments only; a call whose name has not come yet is held.
 */
export class ToolCallStream {
  private readonly slots: Slot[] = []

  constructor(private readonly generationId: string) {}

  /** What a delta adds; undefined when it adds nothing. */
  next(delta: Members): readonly ToolCallDelta[] | undefined {
    if (delta.tool_calls === undefined && delta.function_call === undefined) return undefined
    const out: ToolCallDelta[] = []
    for (const fragment of fragmentsOf(delta)) {
      const added = this.fragment(fragment)
      if (added !== null) out.push(added)
    }
    return out.length > 0 ? out : undefined
  }

  /** Whether a call began and was never named. */
  unnamed(): boolean {
    return this.slots.some((slot) => slot.held !== null)
  }

  private fragment(fragment: Members): ToolCallDelta | null {
    const index = this.slotOf(fragment)
    if (index < 0) return null
    const slot = this.slots[index]!
    const called = objectOf(fragment.function)
    const text = argumentsOf(called?.arguments)
    if (slot.held === null) return text === '' ? null : { index, function: { arguments: text } }
    const name = textOf(called?.name)
    slot.held += text
    return name === undefined ? null : this.opening(index, slot, name)
  }

  private opening(index: number, slot: Slot, name: string): ToolCallDelta {
    const text = slot.held ?? ''
    slot.held = null
    return { index, id: slot.id, type: 'function', function: { name, arguments: text } }
  }

  /** By index, where the server counts; a new id under a known index is another call. By id, or the last one, else. */
  private slotOf(fragment: Members): number {
    const theirs = countOf(fragment.index)
    const id = textOf(fragment.id)
    const known = this.slots.findLastIndex((slot) => continues(slot, fragment, theirs, id))
    if (known >= 0) return known
    if (theirs === undefined && id === undefined && this.slots.length > 0 && !begins(fragment))
      return this.slots.length - 1
    return this.add(theirs, id)
  }

  private add(theirs: number | undefined, id: string | undefined): number {
    const index = this.slots.length
    if (index === MAX_CALLS) return -1
    this.slots.push({ id: id ?? madeId(this.generationId, index), theirs, held: '' })
    return index
  }
}

/** Some servers make up a new id for every fragment; only one that names a function begins another call. */
function continues(
  slot: Slot,
  fragment: Members,
  theirs: number | undefined,
  id: string | undefined,
): boolean {
  if (theirs === undefined) return id !== undefined && slot.id === id
  return slot.theirs === theirs && (id === undefined || slot.id === id || !begins(fragment))
}

/** A fragment that names a function may begin a call. */
function begins(fragment: Members): boolean {
  return textOf(objectOf(fragment.function)?.name) !== undefined
}
