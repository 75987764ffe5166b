/** The server tools and plugins of a worker: one line each. */
import type { Clock } from '../base/clock.js'
import { createFusionPlugin } from '../gateway/plugins/fusion/fusion.js'
import type { Plugin } from '../gateway/plugins/port/plugin.js'
import { createAdvisorTool } from '../gateway/tools/advisor/advisor.js'
import { isSwitchedOff, type ToolsConfig, toolSettings } from '../gateway/tools/configuration.js'
import { createDatetimeTool } from '../gateway/tools/datetime/datetime.js'
import { createFilesTool } from '../gateway/tools/files/files.js'
import { createFusionTool } from '../gateway/tools/fusion/fusion.js'
import { createImageGenerationTool } from '../gateway/tools/image-generation/image-generation.js'
import { createMcpTool, type McpDirectory } from '../gateway/tools/mcp/mcp.js'
import { createMemoryTool, createTextEditorTool } from '../gateway/tools/memory/memory.js'
import { withFlatPrice, withSwitch } from '../gateway/tools/operator-terms.js'
import type { ServerTool } from '../gateway/tools/port/tool.js'
import { createSearchModelsTool } from '../gateway/tools/search-models/search-models.js'
import { createSubagentTool } from '../gateway/tools/subagent/subagent.js'
import { createToolSearchTool } from '../gateway/tools/tool-search/tool-search.js'
import { innerParametersFault } from '../inference-http/server-tools.js'
import type { Store } from '../store/store.js'
import { ownPlugins, type PluginParts } from './plugins.js'
import { composeWeb, type WebParts } from './web.js'
import { workspaceTexts } from './workspace-files.js'

/** What tools and plugins are made of. */
export interface ToolParts extends PluginParts, WebParts {
  readonly clock: Clock
  /** What the operator says of tools at this moment. */
  readonly toolsConfig: () => ToolsConfig
  readonly mcp: McpDirectory
  readonly store: Pick<Store, 'memory' | 'accounts'>
  /** bash and shell. */
  readonly sandboxed: readonly ServerTool[]
}

/** By neutral name. */
export function composeTools(parts: ToolParts): ReadonlyMap<string, ServerTool> {
  const { clock, catalog, toolsConfig, mcp, sandboxed, store } = parts
  const texts = workspaceTexts(store)
  /** Tools whose every call costs what the operator asks for one. */
  const flat: readonly ServerTool[] = [
    createDatetimeTool(clock),
    createSearchModelsTool(catalog),
    createAdvisorTool(innerParametersFault),
    createSubagentTool(innerParametersFault),
    createFusionTool(catalog, innerParametersFault),
    createMcpTool(mcp),
    createToolSearchTool(),
    createFilesTool(),
    createMemoryTool(texts),
    createTextEditorTool(texts),
    createImageGenerationTool({ catalog, model: () => toolsConfig().image_generation.model }),
    ...sandboxed,
  ]
  const tools = flat.map((tool) =>
    withFlatPrice(tool, () => toolSettings(toolsConfig(), tool.name)?.price ?? 0),
  )
  const all = [...tools, ...composeWeb(parts).tools]
  const switched = all.map((tool) => withSwitch(tool, () => isSwitchedOff(toolsConfig(), tool.name)))
  return new Map(switched.map((tool) => [tool.name, tool]))
}

/** By id. */
export function composePlugins(parts: ToolParts): ReadonlyMap<string, Plugin> {
  const plugins: readonly Plugin[] = [
    createFusionPlugin(parts.catalog, innerParametersFault),
    ...ownPlugins(parts),
    ...composeWeb(parts).plugins,
  ]
  return new Map(plugins.map((plugin) => [plugin.id, plugin]))
}
