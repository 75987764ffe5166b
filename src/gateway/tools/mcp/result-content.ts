/** What a tool of an MCP server answered, as a model is shown it, and as the messages format has it. */
import type { CallToolResult } from '@modelcontextprotocol/client'
import { asObject, type JsonObject, jsonText } from '../../formats/json-values.js'

interface ShownResult {
  readonly text: string
  /** Data URLs. */
  readonly images: readonly string[]
}

const MOST_IMAGES = 4
const PICTURES = /^image\/(?:png|jpeg|gif|webp)$/
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

/**
 * Texts as they are, one below the other; of what is no text only what it is. Pictures go along by themselves. Longer
 * than `mostChars` it is cut, and says so.
 */
export function showResult({ content, structuredContent }: CallToolResult, mostChars: number): ShownResult {
  const images: string[] = []
  const texts = content.map((block) => {
    const picture = pictureIn(block)
    if (picture === null) return textOf(block)
    if (images.length >= MOST_IMAGES) return '[a further picture]'
    images.push(picture)
    return `[picture ${images.length}]`
  })
  // What is structured stands in the texts as well, where a server follows the specification.
  if (content.length === 0 && structuredContent !== undefined) {
    texts.push(jsonText(structuredContent) ?? '[a structure that is nested too deep]')
  }
  return { text: cutTo(mostChars, texts.join('\n')), images }
}

function cutTo(mostChars: number, text: string): string {
  if (text.length <= mostChars) return text
  return `${text.slice(0, mostChars).replace(/[\ud800-\udbff]$/, '')}\n[cut: ${text.length} characters in all]`
}

function pictureIn({ type, ...rest }: CallToolResult['content'][number]): string | null {
  const { data, mimeType } = rest as JsonObject
  if (type !== 'image' || typeof data !== 'string' || !PICTURES.test(String(mimeType))) return null
  return BASE64.test(data) ? `data:${mimeType};base64,${data}` : null
}

function textOf(block: CallToolResult['content'][number]): string {
  if (block.type === 'text') return block.text
  if (block.type === 'resource_link') return `[${block.name}](${block.uri})`
  if (block.type === 'resource') return resourceText(block.resource)
  const { mimeType } = block as JsonObject
  return `[${block.type}${typeof mimeType === 'string' ? ` ${mimeType}` : ''}]`
}

function resourceText(resource: unknown): string {
  const { uri, mimeType, text } = asObject(resource) ?? {}
  if (typeof text === 'string') return `${String(uri)}:\n${text}`
  return `[file ${String(uri)}${typeof mimeType === 'string' ? ` ${mimeType}` : ''}]`
}
