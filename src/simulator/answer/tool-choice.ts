import type { ChatMessage, ChatRequest, ChatTool, FunctionTool } from '../../gateway/formats/canonical.js'

/** The functions that an answer calls, none for a text; or the sentence that says why there is no answer. */
type ToolSelection = readonly FunctionTool[] | { readonly wrong: string }

const NO_FUNCTIONS: readonly FunctionTool[] = []

/**
 * Which functions the simulated model calls.
 *
 * `required` and a named function call always. `auto` calls after a message of the user, and answers a tool's
 * result with text, so that the loops of clients end. A function that the user's text names goes before the first
 * of the list; the word `parallel` in it asks for two calls, as far as the request allows several.
 */
export function chooseTools(request: ChatRequest, userText: string): ToolSelection {
  const { tools, tool_choice: choice } = request
  if (tools === undefined || tools.length === 0) return selectWithoutTools(choice)
  const foreign = tools.findIndex((tool) => tool.type !== 'function')
  if (foreign >= 0)
    return { wrong: `tools.${foreign}: this model runs no tool of type "${tools[foreign]!.type}"` }
  if (choice === 'none') return NO_FUNCTIONS
  const functions = tools.filter(isFunctionTool)
  if (choice === undefined || choice === 'auto') {
    return isLastFromUser(request.messages) && !isEchoRequest(userText)
      ? orderFunctions(functions, request, userText)
      : NO_FUNCTIONS
  }
  if (choice === 'required') return orderFunctions(functions, request, userText)
  const name = chosenFunctionName(choice)
  if (name === null) return { wrong: `tool_choice: this model runs no tool of type "${choice.type}"` }
  const named = functions.filter((tool) => tool.function.name === name)
  return named.length > 0
    ? named.slice(0, 1)
    : { wrong: `tool_choice: there is no function "${name}" in tools` }
}

function selectWithoutTools(choice: ChatRequest['tool_choice']): ToolSelection {
  if (choice === undefined || choice === 'none' || choice === 'auto') return NO_FUNCTIONS
  return { wrong: 'tool_choice: there are no tools to choose from' }
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

function isLastFromUser(messages: readonly ChatMessage[]): boolean {
  return messages[messages.length - 1]?.role === 'user'
}

function isFunctionTool(tool: ChatTool): tool is FunctionTool {
  return tool.type === 'function'
}

function chosenFunctionName(choice: { readonly type: string }): string | null {
  return 'function' in choice ? (choice.function as { readonly name: string }).name : null
}

const ECHO = 'echo:'

export function isEchoRequest(userText: string): boolean {
  return userText.startsWith(ECHO)
}

/** What stands behind `echo:`. */
export function echoText(userText: string): string {
  return userText.slice(ECHO.length).trim()
}

/** The text of the last message when it is the user's, otherwise of the last the user sent; `''` for none. */
export function lastUserText(messages: readonly ChatMessage[]): string {
  const message = messages.findLast(({ role }) => role === 'user')
  const content = message?.content
  if (content === undefined || content === null) return ''
  if (typeof content === 'string') return content
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('')
}
