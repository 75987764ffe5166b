/** Tool calls that the user of a simulated model writes into the prompt. */
import type { FunctionTool } from '../../gateway/formats/canonical.js'
import { isObject } from '../../gateway/formats/json-schema/schema-values.js'
import { UnsupportedRequest } from '../faults.js'

/** A call that is to be made. */
export interface ChosenCall {
  readonly tool: FunctionTool
  /** The JSON that the user wrote for it; null for arguments that are made up. */
  readonly written: string | null
}

/** Most calls of one prompt, and most characters of the arguments of one: they are parsed in one turn. */
const MAX_CALLS = 100
const MAX_ARGUMENTS = 65_536

const WORD = 'call:'
/** How often the word is looked at: a prompt may hold any number of it. */
const MAX_WORDS = 1_000
/** Most blanks before the word on its line. */
const MAX_INDENT = 64
/** Behind the word: a name, and perhaps a JSON object. */
const CALL = /^[ \t]*([^\s{]{1,256})[ \t]*(\{.*)?$/

/**
 * The calls that the lines of a text ask for, in their order: `call: NAME`, perhaps with a JSON object behind it. A
 * line without arguments that names none of the functions is ordinary text. Throws an `UnsupportedRequest` for one with
 * arguments that names none of them, for arguments that are no JSON object, and for too many or too long ones.
 */
export function scriptedCalls(text: string, functions: readonly FunctionTool[]): readonly ChosenCall[] {
  const calls: ChosenCall[] = []
  let at = text.indexOf(WORD)
  for (let seen = 0; at >= 0 && seen < MAX_WORDS; seen++) {
    const call = callAt(text, at, functions)
    if (call !== null) calls.push(call)
    if (calls.length > MAX_CALLS) throw new UnsupportedRequest(`call: there are more than ${MAX_CALLS}`)
    at = text.indexOf(WORD, at + WORD.length)
  }
  return calls
}

function callAt(text: string, at: number, functions: readonly FunctionTool[]): ChosenCall | null {
  const before = at <= MAX_INDENT ? `\n${text.slice(0, at)}` : text.slice(at - MAX_INDENT, at)
  if (!/\n[ \t]*$/.test(before)) return null
  const from = at + WORD.length
  const end = text.indexOf('\n', from)
  const [, name = '', written] = CALL.exec(text.slice(from, end < 0 ? undefined : end).trimEnd()) ?? []
  const tool = functions.find(({ function: { name: known } }) => known === name)
  if (tool !== undefined)
    return { tool, written: written === undefined ? null : checkedArguments(name, written) }
  if (written === undefined) return null
  throw new UnsupportedRequest(`call: there is no function "${name}" in tools`)
}

/** As they are written, so that a client can be given whatever a model might say. */
function checkedArguments(name: string, written: string): string {
  if (written.length > MAX_ARGUMENTS) {
    throw new UnsupportedRequest(
      `call: the arguments of "${name}" have more than ${MAX_ARGUMENTS} characters`,
    )
  }
  if (isObject(parsedOrNull(written))) return written
  throw new UnsupportedRequest(`call: the arguments of "${name}" are no JSON object on one line`)
}

function parsedOrNull(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
