/** Asks a plugin as the loop does, without a loop. */
import type { ChatRequest, RoutedRequest } from '../../../src/gateway/formats/canonical.js'
import type { JsonObject } from '../../../src/gateway/formats/json-values.js'
import type { RequestedPlugin } from '../../../src/gateway/formats/tooling.js'
import type {
  Plugin,
  PluginRequest,
  PluginRun,
  PreparedPlugin,
  Question,
} from '../../../src/gateway/plugins/port/plugin.js'
import { CALLER, toolRun } from './tool-call.js'

export function asked(id: string, options: JsonObject = {}): RequestedPlugin {
  return { id, options, place: ['plugins', 0] }
}

export function pluginRun(run: Partial<PluginRun> = {}): PluginRun {
  const { signal, files, nested } = toolRun()
  return {
    caller: CALLER,
    signal,
    files,
    nested,
    contextLength: 128_000,
    countTokens: async (texts) => texts.map((text) => Math.ceil(text.length / 4)),
    charge: async () => true,
    ...run,
  }
}

/** Throws where the plugin refuses. */
export function preparedPlugin(
  plugin: Plugin,
  request: RoutedRequest,
  options: JsonObject = {},
  more: Partial<PluginRequest> = {},
): PreparedPlugin {
  const of = { caller: CALLER, isSimulated: false, request, ...more }
  const ready = plugin.prepare(asked(plugin.id, options), of)
  if ('refused' in ready) throw new Error(`refused: ${ready.refused}`)
  return ready
}

/** A chat request as a plugin sees it that only reads. */
export function chatQuestion(request: ChatRequest): Question {
  return { request, asChat: () => request } as unknown as Question
}
