/** Where blocks of an answer name files of the account at the server. */
import { asObject, type JsonObject } from '../../formats/json-values.js'
import type { ContentBlock } from '../../formats/messages.js'

/** Kinds that say nothing but words of the model, or JSON of its making. */
const PLAIN: ReadonlySet<string> = new Set([
  ...['text', 'thinking', 'redacted_thinking', 'tool_use', 'server_tool_use', 'mcp_tool_use'],
  ...['text_delta', 'thinking_delta', 'signature_delta', 'input_json_delta'],
])
/** JSON of the model's making, which names nothing. */
const OWN_JSON: ReadonlySet<string> = new Set(['input', 'partial_json'])

/** What stands in the place of an id: our own and what is known of its file, or nothing. */
export type FileNamer = (id: string) => (JsonObject & { readonly file_id: string }) | null

/** Whether a block, or a delta of one, may name a file at all. Hot: asked of every piece of every answer. */
export function mayNameFiles({ type, citations }: ContentBlock): boolean {
  return !PLAIN.has(type) || citations !== undefined
}

/** The ids in a block, or in a delta of one. */
export function fileIdsIn(block: ContentBlock): readonly string[] {
  const ids: string[] = []
  replaceIn(block, (id) => {
    ids.push(id)
    return null
  })
  return ids
}

/** A block with each id as `replace` gives it; null leaves out what it stands in, where that is an output of code. */
export function replaceFileIds(block: ContentBlock, replace: FileNamer): ContentBlock {
  const replaced = replaceIn(block, replace)
  if (block.type !== 'container_upload' || replaced.file_id !== null || block.file_id === null)
    return replaced
  // A block of its own cannot be left out: those behind it are numbered.
  return { type: 'text', text: '[a file that could not be kept]', citations: [] }
}

function replaceIn<T extends JsonObject>(members: T, replace: FileNamer): T {
  let changed: Record<string, unknown> | null = null
  for (const name in members) {
    const value = members[name]
    if (OWN_JSON.has(name) || value === null) continue
    const isId = name === 'file_id' && typeof value === 'string'
    const next = isId ? null : replaceValue(value, replace)
    if (next === value) continue
    changed ??= { ...members }
    Object.assign(changed, isId ? (replace(value) ?? { file_id: null }) : { [name]: next })
  }
  return (changed as T | null) ?? members
}

function replaceValue(value: unknown, replace: FileNamer): unknown {
  if (!Array.isArray(value)) {
    const members = asObject(value)
    return members === null ? value : replaceIn(members, replace)
  }
  let isChanged = false
  const items = value.flatMap((item: unknown) => {
    const next = replaceValue(item, replace)
    if (next === item) return [item]
    isChanged = true
    const isLost = asObject(next)?.file_id === null && asObject(item)?.type === 'code_execution_output'
    return isLost ? [] : [next]
  })
  return isChanged ? items : value
}
