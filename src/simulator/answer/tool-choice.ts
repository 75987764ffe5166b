import type { ChatMessage, ChatRequest, ChatTool, FunctionTool } from '../../gateway/formats/canonical.js'
import { UnsupportedRequest } from '../faults.js'

const NO_FUNCTIONS: readonly FunctionTool[] = []

/**
 * The functions that the simulated model calls, none for a text.
 *
 * `required` and a named function call always. `auto` calls after a message of the user, and answers a tool's
 * result with text, so that the loops of clients end. A function that the user's text names goes before the first
 * of the list; the word `parallel` in it asks for two calls, as far as the request allows several.
 */
export function chooseTools(request: ChatRequest, userText: string): readonly FunctionTool[] {
  const { tools = [], tool_choice: choice = 'auto' } = request
  if (tools.length === 0) {
    if (choice === 'none' || choice === 'auto') return NO_FUNCTIONS
    throw new UnsupportedRequest('tool_choice: there are no tools to choose from')
  }
  const functions = tools.filter(isFunctionTool)
  if (functions.length < tools.length) {
    const foreign = tools.findIndex((tool) => !isFunctionTool(tool))
    throw new UnsupportedRequest(
      `tools.${foreign}: this model runs no tool of type "${tools[foreign]!.type}"`,
    )
  }
  if (choice === 'none') return NO_FUNCTIONS
  if (choice === 'auto') {
    const calls = request.messages.at(-1)?.role === 'user' && !isEchoRequest(userText)
    return calls ? orderFunctions(functions, request, userText) : NO_FUNCTIONS
  }
  if (choice === 'required') return orderFunctions(functions, request, userText)
  return [findChosenFunction(functions, choice)]
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

function orderFunctions(
  functions: readonly FunctionTool[],
  request: ChatRequest,
  userText: string,
): readonly FunctionTool[] {
  const named = functions.filter((tool) => userText.includes(tool.function.name))
  const order = [...named, ...functions.filter((tool) => !named.includes(tool))]
  const several = request.parallel_tool_calls !== false && /\bparallel\b/i.test(userText)
  // A single function is called twice: two calls of one function are the commonest form of parallel calls.
  return several ? [order[0]!, order[1] ?? order[0]!] : order.slice(0, 1)
}

function isFunctionTool(tool: ChatTool): tool is FunctionTool {
  return tool.type === 'function'
}

const ECHO = 'echo:'

export function isEchoRequest(userText: string): boolean {
  return userText.startsWith(ECHO)
}

/** What stands behind `echo:`. */
export function echoText(userText: string): string {
  return userText.slice(ECHO.length).trim()
}

/** The text of the last message of the user; `''` for none. */
export function lastUserText(messages: readonly ChatMessage[]): string {
  return textOfContent(messages.findLast(({ role }) => role === 'user')?.content)
}

/** The text of a content, its media left out. */
export function textOfContent(content: ChatMessage['content']): string {
  if (typeof content === 'string') return content
  return (content ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('')
}
