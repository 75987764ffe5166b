/** Tools with a date, which a provider of the messages format runs itself and others do not (contract/tools 3.12). */
import type { MessagesRequest, MessagesTool } from '../../formats/messages.js'
import { nativeToolName } from '../../formats/native-tools.js'
import type { RequestedTool } from '../../formats/tooling.js'
import type { RequestRefusal } from '../turn-format.js'

/**
 * The request in which each of these tools is either the provider's or ours. `runsNative`: the provider that is planned
 * first knows them.
 */
export function leaveToProvider(
  request: MessagesRequest,
  runsNative: boolean,
): MessagesRequest | RequestRefusal {
  const { tooling, tools = [] } = request
  if (tooling === undefined) return request
  const shared = tooling.tools.filter((asked) => tools.some((tool) => isNativeOf(tool, asked)))
  if (shared.length === 0) return request
  if (runsNative) {
    const own = tooling.tools.filter((asked) => !shared.includes(asked))
    return { ...request, tooling: { ...tooling, tools: own } }
  }
  const bound = shared.find(({ parameters }) => parameters.engine === 'native')
  if (bound !== undefined) {
    const refused = 'has the engine native, and the provider of this model runs no such tool'
    return { place: bound.place, refused }
  }
  const { tools: _, ...rest } = request
  const kept = tools.filter((tool) => !shared.some((asked) => isNativeOf(tool, asked)))
  return kept.length === 0 ? rest : { ...rest, tools: kept }
}

/** The provider's tool and the one that we would run in its place have come from the same tool of the request. */
function isNativeOf({ type }: MessagesTool, { name, parameters }: RequestedTool): boolean {
  if (nativeToolName(type) !== name) return false
  return name !== 'tool_search' || type?.includes(String(parameters.variant)) === true
}
