/**
 * Calls of server tools and their results as blocks of the messages format (contract/gateway 5.5, 5.7; contract/tools
 * 1.5), and what of such a block a model is told when it comes back. What a block shows is what its mark vouches for.
 */
import { asList, asObject, type JsonObject, nonEmptyText, objectsIn } from '../../formats/json-values.js'
import type { ContentBlock } from '../../formats/messages.js'
import type { UrlCitation } from '../../tools/port/tool.js'
import type { CallResult, OfferedFunction } from '../turn-format.js'

/** Begins the id of a call of ours; those of a provider's own tools are none. */
const OWN_ID = /^(?:srvtoolu|mcptoolu)_svc_[A-Za-z0-9_-]{16}$/

export function isOwnId(id: unknown): id is string {
  return typeof id === 'string' && OWN_ID.test(id)
}

/** A call as the caller sees it. */
export interface ShownCall {
  readonly id: string
  readonly offered: OfferedFunction
  readonly input: JsonObject
}

/** `nonce`: 16 characters. */
export function shownId({ function: { origin } }: OfferedFunction, nonce: string): string {
  return `${origin === undefined ? 'srvtoolu' : 'mcptoolu'}_svc_${nonce}`
}

export function callBlock({ id, offered, input }: ShownCall): ContentBlock {
  const { origin } = offered.function
  if (origin === undefined) return { type: 'server_tool_use', id, name: shownName(offered), input }
  return { type: 'mcp_tool_use', id, name: origin.tool, server_name: origin.server, input }
}

const SANDBOXES: ReadonlySet<string> = new Set(['bash', 'shell'])

function shownName({ tool: { name, type, parameters } }: OfferedFunction): string {
  if (/^code_execution_/.test(type)) return 'bash_code_execution'
  return name === 'tool_search' ? `tool_search_tool_${parameters.variant ?? 'regex'}` : name
}

function resultType({ tool: { name, type } }: OfferedFunction): string {
  if (/^code_execution_/.test(type)) return 'bash_code_execution_tool_result'
  if (!SANDBOXES.has(name)) return `${name}_tool_result`
  return `${type.startsWith('openrouter:') ? 'openrouter' : 'service'}_${name}_tool_result`
}

// ── Marks ───────────────────────────────────────────────────────────────────

/** Makes the mark over some words. */
type MarkOf = (parts: readonly string[]) => string

/** Whether a caller hands back the mark over some words. */
export type IsMarked = (parts: readonly string[], mark: unknown) => boolean

/** The member of a result that bears the mark; a list of search results has it in each of them. */
const MARK = 'service_mark'

/** JSON that says the same however its members are ordered. */
function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) => {
    const members = asObject(inner)
    if (members === null) return inner
    return Object.fromEntries(Object.entries(members).sort(([one], [other]) => (one < other ? -1 : 1)))
  })
}

interface Vouched {
  readonly id: string
  readonly name: string
  readonly input: unknown
}

function markedParts({ id, name, input }: Vouched, more: readonly string[]): string[] {
  return [id, name, canonicalJson(input ?? {}), ...more]
}

// ── Results ─────────────────────────────────────────────────────────────────

export function resultBlock(call: ShownCall, result: CallResult, markOf: MarkOf): ContentBlock {
  const { id, offered, input } = call
  const type = resultType(offered)
  const name = String(callBlock(call).name)
  const vouched = { id, name, input }
  const native = result.nativeContent ?? NATIVE[offered.tool.name]?.(result)
  if (type === 'web_search_tool_result' && !result.isError) {
    const items = native === undefined ? result.citations : objectsIn(native).map(toCitation)
    return { type, tool_use_id: id, content: items.map((item) => searchItem(item, vouched, markOf)) }
  }
  const isShaped = native !== undefined && (!result.isError || offered.function.origin !== undefined)
  const content = isShaped ? native : plainContent(type.replace(/_tool_result$/, ''), result)
  const isError = offered.function.origin === undefined ? {} : { is_error: result.isError }
  const mark = markOf(markedParts(vouched, [type, canonicalJson(content)]))
  return { type, tool_use_id: id, ...isError, content, [MARK]: mark }
}

function toCitation({ url, title, content, text, page_age }: JsonObject): UrlCitation {
  const words = nonEmptyText(content) ?? nonEmptyText(text)
  return {
    url: String(url),
    title: nonEmptyText(title) ?? String(url),
    ...(words !== undefined && { content: words }),
    pageAge: nonEmptyText(page_age) ?? null,
  }
}

function searchItem(found: UrlCitation, vouched: Vouched, markOf: MarkOf): ContentBlock {
  const { url, title, content = '', pageAge = null } = found
  const mark = markOf(markedParts(vouched, [url, title, content, pageAge ?? '']))
  const encrypted_content = `${Buffer.from(content).toString('base64url')}.${mark}`
  return { type: 'web_search_result', url, title, encrypted_content, page_age: pageAge }
}

/** Where the format has a shape for what a tool says. */
const NATIVE: Readonly<Record<string, (result: CallResult) => unknown>> = {
  web_fetch: ({ content }) => {
    const { url, title, content: data, retrieved_at } = asObject(content) ?? {}
    if (typeof url !== 'string' || typeof data !== 'string') return undefined
    const source = { type: 'text', media_type: 'text/plain', data }
    const document = {
      type: 'document',
      source,
      title: nonEmptyText(title) ?? null,
      citations: { enabled: false },
    }
    return {
      type: 'web_fetch_result',
      url,
      retrieved_at: nonEmptyText(retrieved_at) ?? null,
      content: document,
    }
  },
  bash: ({ content, offered }) => {
    const { stdout, stderr, exit_code, return_code, files } = asObject(content) ?? {}
    if (!/^code_execution_/.test(offered?.tool.type ?? '')) return undefined
    return {
      type: 'bash_code_execution_result',
      stdout: nonEmptyText(stdout) ?? '',
      stderr: nonEmptyText(stderr) ?? '',
      return_code: Number(exit_code ?? return_code ?? 0),
      content: objectsIn(files).map(({ id, file_id }) => ({
        type: 'bash_code_execution_output',
        file_id: file_id ?? id,
      })),
    }
  },
  tool_search: ({ content }) => ({
    type: 'tool_search_tool_search_result',
    tool_references: objectsIn(asObject(content)?.tool_references),
  }),
  advisor: ({ content }) => {
    const { advice } = asObject(content) ?? {}
    return typeof advice === 'string' ? { type: 'advisor_result', text: advice } : undefined
  },
}

/** What a tool says as the content of a block, and how it went wrong in the way of the format. */
function plainContent(kind: string, { content, isError, offered }: CallResult): unknown {
  const members = asObject(content)
  if (offered?.function.origin !== undefined)
    return [{ type: 'text', text: nonEmptyText(members?.error) ?? JSON.stringify(content ?? null) }]
  if (isError) {
    const message = nonEmptyText(members?.error) ?? JSON.stringify(content ?? null)
    return { type: `${kind}_tool_result_error`, error_code: errorCode(message), error_message: message }
  }
  return members === null ? { type: `${kind}_result`, content } : { type: `${kind}_result`, ...members }
}

/** The words that the format has for it. */
function errorCode(message: string): string {
  if (/max_uses/.test(message)) return 'max_uses_exceeded'
  if (/too many|limit/i.test(message)) return 'too_many_requests'
  return /argument|invalid|must be/i.test(message) ? 'invalid_tool_input' : 'unavailable'
}

// ── What comes back ─────────────────────────────────────────────────────────

/** A call and its result as a model is told them again. */
export interface RecalledCall {
  /** Name of the function. */
  readonly name: string
  readonly input: JsonObject
  /** JSON. */
  readonly content: string
  readonly isError: boolean
}

/** What a caller hands back of a call and its result; null where they are not what was given out. */
export function recallCall(
  call: ContentBlock,
  result: ContentBlock,
  isMarked: IsMarked,
): RecalledCall | null {
  const { id, name, input, server_name } = call
  if (typeof id !== 'string' || typeof name !== 'string') return null
  const { type, content, is_error, [MARK]: mark } = result
  const vouched = { id, name, input: asObject(input) ?? {} }
  const isSearch = Array.isArray(content) && type === 'web_search_tool_result'
  if (!isSearch && !isMarked(markedParts(vouched, [type, canonicalJson(content)]), mark)) return null
  const said = isSearch ? recallSearch(content, vouched, isMarked) : recallContent(type, content)
  if (said === null) return null
  // What came from outside is quoted with where it came from.
  const quoted = typeof server_name === 'string' ? { origin: `MCP server ${server_name}`, text: said } : said
  const told = is_error === true ? { error: said } : quoted
  const isError = asObject(told)?.error !== undefined
  const recalled = { name: functionName(name, server_name), input: vouched.input }
  return { ...recalled, content: JSON.stringify(told), isError }
}

function functionName(shown: string, server: unknown): string {
  if (typeof server === 'string') return `${server}__${shown}`.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 64)
  if (shown === 'bash_code_execution') return 'bash'
  return shown.startsWith('tool_search_tool_') ? 'tool_search' : shown
}

function recallSearch(content: readonly unknown[], vouched: Vouched, isMarked: IsMarked): JsonObject | null {
  const results: JsonObject[] = []
  for (const item of content) {
    const { url, title, encrypted_content, page_age } = asObject(item) ?? {}
    const [text = '', mark] = typeof encrypted_content === 'string' ? encrypted_content.split('.') : []
    const words = Buffer.from(text, 'base64url').toString()
    const age = nonEmptyText(page_age)
    if (!isMarked(markedParts(vouched, [String(url), String(title), words, age ?? '']), mark)) return null
    results.push({ title, url, content: words, ...(age !== undefined && { page_age: age }) })
  }
  return { results }
}

function recallContent(type: string, content: unknown): unknown {
  if (Array.isArray(content))
    return objectsIn(content)
      .map(({ text }) => text)
      .join('\n')
  const { type: kind, ...members } = asObject(content) ?? {}
  if (String(kind).endsWith('_error')) return { error: members.error_message ?? members.error_code }
  if (type !== 'web_fetch_tool_result') return members
  const { source, title } = asObject(members.content) ?? {}
  const { url, retrieved_at } = members
  return { url, title, content: asObject(source)?.data, retrieved_at }
}

/** Whether a block is a result of a tool that a server ran. */
export function isResultBlock({ type, tool_use_id }: ContentBlock): boolean {
  return type.endsWith('_tool_result') && typeof tool_use_id === 'string'
}

/** Names of tools that a conversation has made known: searched for, or called. */
export function knownToolNames(messages: readonly { readonly content: unknown }[]): Set<string> {
  const known = new Set<string>()
  const searches = new Set<unknown>()
  const note = (name: unknown): void => {
    if (typeof name === 'string') known.add(name)
  }
  for (const { content } of messages) {
    for (const block of objectsIn(content)) {
      if (block.type === 'tool_use') {
        note(block.name)
        if (block.name === 'tool_search') searches.add(block.id)
      }
      const inner = asObject(block.content)?.tool_references ?? block.content
      for (const { type, tool_name } of objectsIn(inner)) if (type === 'tool_reference') note(tool_name)
      if (block.type !== 'tool_result' || !searches.has(block.tool_use_id)) continue
      for (const name of referencesIn(block.content)) note(name)
    }
  }
  return known
}

function referencesIn(content: unknown): readonly unknown[] {
  try {
    const told = asObject(JSON.parse(String(content)))
    return asList(told?.tool_references).map((each) => asObject(each)?.tool_name)
  } catch {
    return []
  }
}
