import type { ChatRequest, ChatTool, FunctionTool } from '../../gateway/formats/canonical.js'
import { UnsupportedRequest } from '../faults.js'
import { type CurrentTurn, currentTurn, isEchoRequest } from './current-turn.js'
import { type ChosenCall, scriptedCalls } from './scripted-calls.js'

const NO_CALLS: readonly ChosenCall[] = []

/** What may be the name of a function. Words are compared, as looking for each name would cost names times text. */
const WORDS = /[\w-]+(?:\.[\w-]+)*/g
/** Characters of the user's text in which names are looked for. */
const MAX_SEARCHED = 262_144

/**
 * The calls that the simulated model makes, none for a text.
 *
 * `required` and a named function call always. `auto` calls once after a message of the user, and answers a tool's
 * result with text, so that the loops of clients end. What the user wrote in lines of `call:` comes first, a line for
 * each turn of the loop. Otherwise the function that was called least since the user spoke goes first, so that a loop
 * that ends with one of several functions ends; among equals one that the user's text names. The word `parallel` in
 * that text asks for two calls, or for all that is written, as far as the request allows several.
 */
export function chooseCalls(request: ChatRequest): readonly ChosenCall[] {
  const { tools = [], tool_choice: choice = 'auto' } = request
  if (tools.length === 0) {
    if (choice === 'none' || choice === 'auto') return NO_CALLS
    throw new UnsupportedRequest('tool_choice: there are no tools to choose from')
  }
  const functions = functionsOf(tools)
  if (choice === 'none') return NO_CALLS
  const turn = currentTurn(request.messages)
  if (choice === 'auto' && isEchoRequest(turn.text)) return NO_CALLS
  const ahead = scriptedCalls(turn.text, functions).slice(turn.called.length)
  const several = request.parallel_tool_calls !== false && /\bparallel\b/i.test(turn.text)
  if (choice !== 'auto' && choice !== 'required') {
    const tool = findChosenFunction(functions, choice)
    const [next] = ahead
    return [{ tool, written: next?.tool === tool ? next.written : null }]
  }
  if (ahead.length > 0) return several ? ahead : ahead.slice(0, 1)
  const isOver = turn.called.length > 0 || request.messages.at(-1)?.role !== 'user'
  if (choice === 'auto' && isOver) return NO_CALLS
  return madeUpCalls(functions, turn, several)
}

function functionsOf(tools: readonly ChatTool[]): readonly FunctionTool[] {
  const functions = tools.filter(isFunctionTool)
  if (functions.length === tools.length) return functions
  const foreign = tools.findIndex((tool) => !isFunctionTool(tool))
  throw new UnsupportedRequest(`tools.${foreign}: this model runs no tool of type "${tools[foreign]!.type}"`)
}

function isFunctionTool(tool: ChatTool): tool is FunctionTool {
  return tool.type === 'function'
}

function findChosenFunction(
  functions: readonly FunctionTool[],
  choice: { readonly type: string },
): FunctionTool {
  if (!('function' in choice)) {
    throw new UnsupportedRequest(`tool_choice: this model runs no tool of type "${choice.type}"`)
  }
  const { name } = choice.function as { readonly name: string }
  const chosen = functions.find((tool) => tool.function.name === name)
  if (chosen !== undefined) return chosen
  throw new UnsupportedRequest(`tool_choice: there is no function "${name}" in tools`)
}

function madeUpCalls(
  functions: readonly FunctionTool[],
  { text, called }: CurrentTurn,
  several: boolean,
): readonly ChosenCall[] {
  const times = new Map<string, number>()
  for (const name of called) times.set(name, (times.get(name) ?? 0) + 1)
  const words = new Set(functions.length > 1 ? text.slice(0, MAX_SEARCHED).match(WORDS) : null)
  const rank = ({ function: { name } }: FunctionTool): number =>
    2 * (times.get(name) ?? 0) + (words.has(name) ? 0 : 1)
  const order = functions.map((tool) => ({ tool, rank: rank(tool) })).sort((a, b) => a.rank - b.rank)
  // A single function is called twice: two calls of one function are the commonest form of parallel calls.
  const chosen = several ? [order[0]!, order[1] ?? order[0]!] : order.slice(0, 1)
  return chosen.map(({ tool }) => ({ tool, written: null }))
}
