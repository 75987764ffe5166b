/** Tools that a model is not shown before it has searched for them (contract/tools 3.9). */
import { asList, asObject, objectsIn } from '../../formats/json-values.js'
import type { MessagesRequest, MessagesTool } from '../../formats/messages.js'
import type { ToolFunction } from '../../tools/port/tool.js'
import type { CallResult, OfferedFunction } from '../turn-format.js'
import { knownToolNames } from './native-blocks.js'

export class DeferredTools {
  /** All of them, found or not. */
  readonly functions: ToolFunction[] = []
  readonly #waiting = new Set<string>()
  readonly #isOurs: boolean

  /** Without a search of ours nothing is kept back. What the conversation knows already is there. */
  constructor(request: MessagesRequest, offered: readonly OfferedFunction[]) {
    this.#isOurs = offered.some(({ tool }) => tool.name === 'tool_search')
    if (!this.#isOurs) return
    for (const tool of request.tools ?? [])
      if (tool.defer_loading === true) this.functions.push(toFunction(tool))
    for (const each of offered)
      if (isDeferred(each)) this.functions.push({ ...each.function, name: each.name })
    for (const { name } of this.functions) this.#waiting.add(name)
    for (const name of knownToolNames(request.messages)) this.#waiting.delete(name)
  }

  isLoaded(name: string): boolean {
    return !this.#waiting.has(name)
  }

  /** A tool that was found is one like any other: a server would look for a search of its own. */
  toLoaded(tool: MessagesTool): MessagesTool {
    const { defer_loading, ...rest } = tool
    return defer_loading === undefined || !this.#isOurs ? tool : rest
  }

  /** Tools that a search has found may be called from the next turn on. */
  load({ offered, content }: CallResult): void {
    if (offered?.tool.name !== 'tool_search') return
    for (const { tool_name } of objectsIn(asObject(content)?.tool_references))
      this.#waiting.delete(String(tool_name))
  }
}

/** A function of a server of tools, some or all of which its toolset defers. */
function isDeferred({ function: { origin }, tool: { parameters } }: OfferedFunction): boolean {
  if (origin === undefined) return false
  const { defer_loading = false, defer_exceptions } = parameters
  const isException = asList(defer_exceptions).includes(origin.tool)
  return isException !== (defer_loading === true)
}

function toFunction({
  name = '',
  description = '',
  input_schema: parameters = {},
}: MessagesTool): ToolFunction {
  return { name, description, parameters }
}
