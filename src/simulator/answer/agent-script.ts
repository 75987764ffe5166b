/**
 * What a simulated agent does: what lines of the user's message tell it to, turn by turn.
 *
 * `call NAME {json}` is a turn with one call, `and NAME {json}` calls in the same turn as the line above, `say TEXT` is
 * what the turn below says before it calls, `forever` repeats the last turn as long as tools may be called, and
 * `answer TEXT` is what it says at the end. A name may carry the prefix of a server tool. Names are taken as they are,
 * also those of no tool in the request: models do that.
 */
import type { ChatMessage, ChatRequest, ToolChoice } from '../../gateway/formats/canonical.js'
import { isObject } from '../../gateway/formats/json-schema/schema-values.js'
import { UnsupportedRequest } from '../faults.js'
import { currentTurn, textOfContent } from './current-turn.js'

interface WrittenCall {
  readonly name: string
  /** JSON, as it is written. */
  readonly written: string
}

/** What the agent says and does in one turn: calls, or none at the end. */
export interface AgentTurn {
  readonly says: string
  readonly calls: readonly WrittenCall[]
}

interface AgentScript {
  readonly turns: readonly AgentTurn[]
  readonly isEndless: boolean
  /** Null where the message does not say. */
  readonly answer: string | null
}

const LINE = /^[ \t]{0,8}(call|and|say|answer|forever)(?:[ \t]+(.*))?$/
const CALL = /^(?:service:|openrouter:)?([\w.-]{1,128})[ \t]*(\{.*\})?$/
const MOST_LINES = 200
const LONGEST_LINE = 65_536

/**
 * The turn that is due; null where the user's message tells nothing to do and no tool has answered, so that the model
 * answers as any other does, or where it has to call something else. Throws an `UnsupportedRequest` for arguments that are no JSON object.
 */
export function nextAgentTurn(request: ChatRequest): AgentTurn | null {
  const { text, turns: done } = currentTurn(request.messages)
  const script = readScript(text)
  const { tools = [], tool_choice: choice = 'auto' } = request
  const due = choice !== 'none' && tools.length > 0 ? dueTurn(script, request, done) : null
  if (choice !== 'none' && choice !== 'auto') return satisfies(due, choice) ? due : null
  if (due !== null) return due
  const results = resultsSince(request.messages)
  if (script.answer !== null) return { says: script.answer, calls: [] }
  return results.length === 0 ? null : { says: tellResults(results), calls: [] }
}

/** A choice that is forced and that the script does not meet is met as by any other model. */
function satisfies(due: AgentTurn | null, choice: ToolChoice): boolean {
  if (typeof choice === 'string' || !('function' in choice)) return due !== null
  return due?.calls.some(({ name }) => name === choice.function.name) === true
}

/** Turns of a request that forbids several calls at a time have one call each. */
function dueTurn(script: AgentScript, { parallel_tool_calls }: ChatRequest, done: number): AgentTurn | null {
  const turns = parallel_tool_calls === false ? script.turns.flatMap(singleCalls) : script.turns
  return turns[done] ?? (script.isEndless ? (turns.at(-1) ?? null) : null)
}

function singleCalls({ says, calls }: AgentTurn): AgentTurn[] {
  return calls.map((call, at) => ({ says: at === 0 ? says : '', calls: [call] }))
}

function readScript(text: string): AgentScript {
  const turns: { says: string; calls: WrittenCall[] }[] = []
  let says = ''
  let answer: string | null = null
  let isEndless = false
  let lines = 0
  for (const line of text.split('\n')) {
    const [, word, rest = ''] = line.length > LONGEST_LINE ? [] : (LINE.exec(line.trimEnd()) ?? [])
    if (word === undefined) continue
    if (++lines > MOST_LINES) throw new UnsupportedRequest(`the script has more than ${MOST_LINES} lines`)
    if (word === 'say') says = rest
    else if (word === 'answer') answer = rest
    else if (word === 'forever') isEndless ||= rest === ''
    else {
      const call = readCall(rest)
      if (call === null) continue
      const last = turns.at(-1)
      if (word === 'and' && last !== undefined) last.calls.push(call)
      else turns.push({ says, calls: [call] })
      says = ''
    }
  }
  return { turns, isEndless, answer }
}

/** A line that has no arguments in braces is one only where it is nothing but a name. */
function readCall(text: string): WrittenCall | null {
  const [, name, written = '{}'] = CALL.exec(text) ?? []
  if (name === undefined) return null
  if (isObject(parsedOrNull(written))) return { name, written }
  throw new UnsupportedRequest(`call: the arguments of "${name}" are no JSON object on one line`)
}

function parsedOrNull(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

// ── The end ─────────────────────────────────────────────────────────────────

/** What tools have said since the user spoke, in their order. */
function resultsSince(messages: readonly ChatMessage[]): readonly string[] {
  const from = messages.findLastIndex(({ role }) => role === 'user')
  return messages.slice(from + 1).flatMap((message) => {
    return message.role === 'tool' ? [textOfContent(message.content, '\n')] : []
  })
}

const LONGEST_TOLD = 240
const MOST_SOURCES = 5

/** A line for each result: what it found, with where it found it; otherwise its beginning. */
function tellResults(results: readonly string[]): string {
  return results.map((result) => `- ${tellResult(result)}`).join('\n')
}

function tellResult(text: string): string {
  const value = parsedOrNull(text)
  if (!isObject(value)) return beginningOf(text)
  const { results, url, error } = value
  if (Array.isArray(results) && results.some(isSource))
    return results.filter(isSource).slice(0, MOST_SOURCES).map(tellSource).join('; ')
  if (typeof url === 'string' && isSource(value)) return tellSource(value)
  return error === undefined ? beginningOf(text) : `It did not work: ${beginningOf(JSON.stringify(error))}`
}

interface Source {
  readonly url: string
  readonly title: string
  readonly content?: unknown
}

function isSource(value: unknown): value is Source {
  return isObject(value) && typeof value.url === 'string' && typeof value.title === 'string'
}

function tellSource({ title, url, content }: Source): string {
  const says = typeof content === 'string' ? `: ${beginningOf(content)}` : ''
  return `${title} (${url})${says}`
}

function beginningOf(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length <= LONGEST_TOLD ? line : `${line.slice(0, LONGEST_TOLD).toWellFormed()} …`
}
