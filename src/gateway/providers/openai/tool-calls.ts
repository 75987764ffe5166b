/** Tool calls of many servers, repaired to contract/gateway 3.2 and 4.3. */
import type { ToolCall, ToolCallDelta } from '../../formats/canonical.js'
import { asCount, asObject, type JsonObject, nonEmptyText, objectsIn } from '../../formats/json-values.js'

/** Parallel calls one answer may hold; further ones are dropped, so that a server cannot fill our memory. */
const MAX_CALLS = 1024

/** The calls of a whole message; undefined when there is none. The old single `function_call` counts as one. */
export function parseToolCalls(message: JsonObject, generationId: string): readonly ToolCall[] | undefined {
  const calls = toolCallFragments(message).flatMap(
    (fragment, index) => parseToolCall(fragment, index, generationId) ?? [],
  )
  return calls.length > 0 ? calls : undefined
}

function parseToolCall(fragment: JsonObject, index: number, generationId: string): ToolCall | null {
  const called = asObject(fragment.function)
  const name = nonEmptyText(called?.name)
  if (name === undefined) return null
  const id = nonEmptyText(fragment.id) ?? syntheticCallId(generationId, index)
  return { id, type: 'function', function: { name, arguments: argumentsText(called?.arguments) } }
}

/** The tool call members of a message or a delta, in one shape. */
function toolCallFragments(members: JsonObject): readonly JsonObject[] {
  const single = asObject(members.function_call)
  if (single !== null) return [{ function: single }]
  return objectsIn(members.tool_calls)
}

function syntheticCallId(generationId: string, index: number): string {
  return `call_${generationId.replace(/^gen-/, '')}_${index}`
}

/** Arguments are a text of JSON; some servers send the value itself. */
function argumentsText(value: unknown): string {
  if (typeof value === 'string') return value
  return value === undefined || value === null ? '' : JSON.stringify(value)
}

interface ToolCallSlot {
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
  private readonly slots: ToolCallSlot[] = []

  constructor(private readonly generationId: string) {}

  /** What a delta adds; undefined when it adds nothing. */
  addDelta(delta: JsonObject): readonly ToolCallDelta[] | undefined {
    if (delta.tool_calls === undefined && delta.function_call === undefined) return undefined
    const out: ToolCallDelta[] = []
    for (const addFragment of toolCallFragments(delta)) {
      const added = this.addFragment(addFragment)
      if (added !== null) out.push(added)
    }
    return out.length > 0 ? out : undefined
  }

  /** Whether a call began and was never named. */
  hasUnnamedCall(): boolean {
    return this.slots.some((slot) => slot.held !== null)
  }

  private addFragment(addFragment: JsonObject): ToolCallDelta | null {
    const index = this.findSlot(addFragment)
    if (index < 0) return null
    const slot = this.slots[index]!
    const called = asObject(addFragment.function)
    const text = argumentsText(called?.arguments)
    if (slot.held === null) return text === '' ? null : { index, function: { arguments: text } }
    const name = nonEmptyText(called?.name)
    slot.held += text
    return name === undefined ? null : this.firstDelta(index, slot, name)
  }

  private firstDelta(index: number, slot: ToolCallSlot, name: string): ToolCallDelta {
    const text = slot.held ?? ''
    slot.held = null
    return { index, id: slot.id, type: 'function', function: { name, arguments: text } }
  }

  /** By index, where the server counts; a new id under a known index is another call. By id, or the last one, else. */
  private findSlot(addFragment: JsonObject): number {
    const theirs = asCount(addFragment.index)
    const id = nonEmptyText(addFragment.id)
    const known = this.slots.findLastIndex((slot) => continuesCall(slot, addFragment, theirs, id))
    if (known >= 0) return known
    if (theirs === undefined && id === undefined && this.slots.length > 0 && !namesFunction(addFragment))
      return this.slots.length - 1
    return this.addSlot(theirs, id)
  }

  private addSlot(theirs: number | undefined, id: string | undefined): number {
    const index = this.slots.length
    if (index === MAX_CALLS) return -1
    this.slots.push({ id: id ?? syntheticCallId(this.generationId, index), theirs, held: '' })
    return index
  }
}

/** Some servers make up a new id for every fragment; only one that names a function begins another call. */
function continuesCall(
  slot: ToolCallSlot,
  fragment: JsonObject,
  theirs: number | undefined,
  id: string | undefined,
): boolean {
  if (theirs === undefined) return id !== undefined && slot.id === id
  return slot.theirs === theirs && (id === undefined || slot.id === id || !namesFunction(fragment))
}

/** A fragment that names a function may begin a call. */
function namesFunction(fragment: JsonObject): boolean {
  return nonEmptyText(asObject(fragment.function)?.name) !== undefined
}
