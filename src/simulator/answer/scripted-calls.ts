/** Tool calls that the user of a simulated model writes into the prompt. */
import type { FunctionTool } from '../../gateway/formats/canonical.js'
import { UnsupportedRequest } from '../faults.js'
import { isObject } from '../json-sampler/json-values.js'

/** A call that is to be made. */
export interface ChosenCall {
  readonly tool: FunctionTool
  /** The JSON that the user wrote for it; null for arguments that are made up. */
  readonly written: string | null
}

/** Most calls of one prompt, and most characters of the arguments of one: they are parsed in one turn. */
const MAX_CALLS = 100
const MAX_ARGUMENTS = 65_536

/** A line of its own: `call: NAME`, perhaps with a JSON object behind it. */
const CALL_LINE = /^[ \t]*call:[ \t]*([^\s{]{1,256})[ \t]*(\{.*)?$/gm

/**
 * The calls that the lines of a text ask for, in their order. A line without arguments that names none of the
 * functions is ordinary text. Throws an `UnsupportedRequest` for one with arguments that names none of them, for
 * arguments that are no JSON object, and for too many or too long ones.
 */
export function scriptedCalls(text: string, functions: readonly FunctionTool[]): readonly ChosenCall[] {
  const calls: ChosenCall[] = []
  if (!text.includes('call:')) return calls
  for (const [, name = '', written] of text.matchAll(CALL_LINE)) {
    const tool = functions.find(({ function: { name: known } }) => known === name)
    if (tool === undefined && written === undefined) continue
    if (tool === undefined) throw new UnsupportedRequest(`call: there is no function "${name}" in tools`)
    if (calls.length === MAX_CALLS) throw new UnsupportedRequest(`call: there are more than ${MAX_CALLS}`)
    calls.push({ tool, written: written === undefined ? null : checkedArguments(name, written.trimEnd()) })
  }
  return calls
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
