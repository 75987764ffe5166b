/** Tools that a model is not shown before it has searched for them (contract/tools 3.9). */
import { asList, asObject, objectsIn } from '../../formats/json-values.js'
import type { MessagesRequest, MessagesTool } from '../../formats/messages.js'
import type { CallResult, OfferedFunction } from '../turn-format.js'
import { knownToolNames } from './native-blocks.js'

export class DeferredTools {
  readonly #waiting = new Set<string>()
  readonly #isOurs: boolean

  /** Without a search of ours nothing is kept back. What the conversation knows already is there. */
  constructor(request: MessagesRequest, offered: readonly OfferedFunction[]) {
    this.#isOurs = offered.some(({ tool }) => tool.name === 'tool_search')
    if (!this.#isOurs) return
    for (const { name, defer_loading } of request.tools ?? [])
      if (defer_loading === true && name !== undefined) this.#waiting.add(name)
    for (const each of offered) if (isDeferred(each)) this.#waiting.add(each.name)
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
