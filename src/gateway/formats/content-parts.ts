/**
 * One walk over content that a caller, or a provider, may have filled with anything: the members of open blocks are
 * checked by nobody else. It throws for no JSON value, and its depth is not that of the call stack.
 */
import { asObject, type JsonObject } from './json-values.js'

/** Most parts that are looked at, nested ones included; what stands behind them counts for nothing. */
const MOST_PARTS = 500_000

/** Kinds whose text is their name and their input, whatever else they hold. */
const TOOL_USES: ReadonlySet<unknown> = new Set(['tool_use', 'server_tool_use', 'mcp_tool_use'])

/** A text in the place of parts, or a part that holds no further ones. */
export type ContentLeaf = string | JsonObject

/**
 * Hands the leaves of a content to `take`, in order. A part without words of its own is looked into: its `content`
 * stands for it. What is neither a text nor an object is passed over.
 */
export function forEachContentLeaf(content: unknown, take: (leaf: ContentLeaf) => void): void {
  const lists: { readonly parts: readonly unknown[]; at: number }[] = [{ parts: [content], at: 0 }]
  for (let looked = 0; lists.length > 0 && looked < MOST_PARTS; ) {
    const list = lists.at(-1)!
    if (list.at === list.parts.length) {
      lists.pop()
      continue
    }
    looked++
    const inside = nestedContent(list.parts[list.at++])
    if (Array.isArray(inside)) lists.push({ parts: inside, at: 0 })
    else if (typeof inside === 'string') take(inside)
    else if (asObject(inside) !== null) take(inside as JsonObject)
  }
}

/** The list or the text that stands for a part; the part itself where it says something or holds neither. */
function nestedContent(part: unknown): unknown {
  const { type, text, thinking, content } = asObject(part) ?? {}
  if (typeof text === 'string' || typeof thinking === 'string' || TOOL_USES.has(type)) return part
  return Array.isArray(content) || typeof content === 'string' ? content : part
}

/** What a tokenizer would see of a leaf; base64 data is none of it. */
export function contentLeafText(leaf: ContentLeaf): string {
  if (typeof leaf === 'string') return leaf
  const { type, text, thinking, name, input } = leaf
  if (typeof text === 'string') return text
  if (typeof thinking === 'string') return thinking
  return TOOL_USES.has(type) ? `${typeof name === 'string' ? name : ''}${JSON.stringify(input ?? {})}` : ''
}

/** A line per text of a content; parts that hold none are an empty line. */
export function contentText(content: unknown): string {
  const lines: string[] = []
  forEachContentLeaf(content, (leaf) => lines.push(contentLeafText(leaf)))
  return lines.join('\n')
}
