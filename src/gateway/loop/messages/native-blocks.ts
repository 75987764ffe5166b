/**
 * Calls of server tools and their results as blocks of the messages format (contract/gateway 5.5, 5.7; contract/tools
 * 1.5), and what of such a block a model is told when it comes back. What a block shows is what its mark vouches for.
 */
import { asObject, type JsonObject, nonEmptyText, objectsIn, parseJson } from '../../formats/json-values.js'
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

/** A call as its block tells it. */
interface Vouched {
  readonly id: string
  readonly name: string
  readonly input: JsonObject
  /** Label of an MCP server. */
  readonly server: string | undefined
}

function markedParts({ id, name, input, server = '' }: Vouched, more: readonly string[]): string[] {
  return [id, name, server, canonicalJson(input), ...more]
}

function partsOfBlock(call: Vouched, { type, content, is_error }: ContentBlock): string[] {
  return markedParts(call, [type, canonicalJson(content), String(is_error === true)])
}

/** `place`: so that none can be left out or put elsewhere. */
function partsOfItem(
  call: Vouched,
  { url, title, content = '', pageAge }: UrlCitation,
  place: string,
): string[] {
  return markedParts(call, [place, url, title, content, pageAge ?? ''])
}

// ── Results ─────────────────────────────────────────────────────────────────

export function resultBlock(
  { id, offered, input }: ShownCall,
  result: CallResult,
  markOf: MarkOf,
): ContentBlock {
  const { origin } = offered.function
  const type = resultType(offered)
  const call = { id, name: origin?.tool ?? shownName(offered), server: origin?.server, input }
  const isSearch = type === 'web_search_tool_result' && !result.isError
  if (isSearch && result.citations.length > 0) {
    const placeOf = (at: number): string => `${at}/${result.citations.length}`
    const content = result.citations.map((item, at) =>
      searchItem(item, markOf(partsOfItem(call, item, placeOf(at)))),
    )
    return { type, tool_use_id: id, content }
  }
  const content = isSearch ? [] : contentOf(type, result)
  const block = { type, tool_use_id: id, ...(origin !== undefined && { is_error: result.isError }), content }
  return { ...block, [MARK]: markOf(partsOfBlock(call, block)) }
}

function contentOf(type: string, result: CallResult): unknown {
  const native = result.isError ? undefined : NATIVE[result.offered?.tool.name ?? '']?.(result)
  return native ?? plainContent(type.replace(/_tool_result$/, ''), result)
}

function searchItem({ url, title, content = '', pageAge = null }: UrlCitation, mark: string): ContentBlock {
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
    return [{ type: 'text', text: members?.error ?? members?.text ?? JSON.stringify(content ?? null) }]
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
  const server = nonEmptyText(server_name)
  const vouched = { id, name, server, input: asObject(input) ?? {} }
  const found = type === 'web_search_tool_result' && Array.isArray(content) ? content : null
  const bearsMarks = found !== null && found.length > 0
  if (!bearsMarks && !isMarked(partsOfBlock(vouched, result), mark)) return null
  const said = found === null ? recallContent(type, content) : recallSearch(found, vouched, isMarked)
  if (said === null) return null
  // What came from outside is quoted with where it came from.
  const quoted = server === undefined ? said : { origin: `MCP server ${server}`, text: said }
  const told = is_error === true ? { error: said } : quoted
  const isError = asObject(told)?.error !== undefined
  const recalled = { name: functionName(name, server), input: vouched.input }
  return { ...recalled, content: JSON.stringify(told), isError }
}

function functionName(shown: string, server: string | undefined): string {
  if (server !== undefined) return `${server}__${shown}`.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 64)
  if (shown === 'bash_code_execution') return 'bash'
  if (shown === 'text_editor') return 'str_replace_based_edit_tool'
  return shown.startsWith('tool_search_tool_') ? 'tool_search' : shown
}

function recallSearch(content: readonly unknown[], vouched: Vouched, isMarked: IsMarked): JsonObject | null {
  const results: JsonObject[] = []
  for (const [at, item] of content.entries()) {
    const { url, title, encrypted_content, page_age } = asObject(item) ?? {}
    if (typeof url !== 'string' || typeof title !== 'string' || typeof encrypted_content !== 'string')
      return null
    const [text = '', mark] = encrypted_content.split('.')
    const words = Buffer.from(text, 'base64url').toString()
    const pageAge = nonEmptyText(page_age) ?? null
    const found = { url, title, content: words, pageAge }
    if (!isMarked(partsOfItem(vouched, found, `${at}/${content.length}`), mark)) return null
    results.push({ title, url, content: words, ...(pageAge !== null && { page_age: pageAge }) })
  }
  return { results }
}

function recallContent(type: string, content: unknown): unknown {
  if (Array.isArray(content))
    return objectsIn(content)
      .map(({ text }) => text)
      .join('\n')
  const { type: kind, ...members } = asObject(content) ?? {}
  if (nonEmptyText(kind)?.endsWith('_error') === true)
    return { error: members.error_message ?? members.error_code }
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
  const told = asObject(parseJson(nonEmptyText(content) ?? ''))
  return objectsIn(told?.tool_references).map(({ tool_name }) => tool_name)
}
