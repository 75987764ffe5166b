/** The server tools and plugins of a worker: one line each. */
import type { Clock } from '../base/clock.js'
import type { Catalog } from '../gateway/catalog/catalog.js'
import type { Plugin } from '../gateway/plugins/port/plugin.js'
import { createDatetimeTool } from '../gateway/tools/datetime/datetime.js'
import type { ServerTool } from '../gateway/tools/port/tool.js'
import { createSearchModelsTool } from '../gateway/tools/search-models/search-models.js'

/** What tools and plugins are made of. */
export interface ToolParts {
  readonly clock: Clock
  /** The catalogue of this moment. */
  readonly catalog: () => Catalog
}

/** By neutral name. */
export function composeTools({ clock, catalog }: ToolParts): ReadonlyMap<string, ServerTool> {
  const tools: readonly ServerTool[] = [createDatetimeTool(clock), createSearchModelsTool(catalog)]
  return new Map(tools.map((tool) => [tool.name, tool]))
}

/** By id. */
export function composePlugins(_: ToolParts): ReadonlyMap<string, Plugin> {
  const plugins: readonly Plugin[] = []
  return new Map(plugins.map((plugin) => [plugin.id, plugin]))
}
