/** What of a request its organization and the operator let run (contract/tools 2.5, 4). */
import { type Fault, invalidInput } from '../../base/fault.js'
import type { Principal } from '../../base/principal.js'
import { NO_TOOLING, type RequestedPlugin, type Tooling } from '../formats/tooling.js'
import type { DefaultPlugin, PluginsConfig } from '../plugins/configuration.js'
import { isSwitchedOff, switchOf, type ToolsConfig } from '../tools/configuration.js'

interface OperatorConfig {
  readonly tools: ToolsConfig
  readonly plugins: PluginsConfig
}

/** The tooling with the plugins that run unasked; the caller's 400 where it names a tool that is switched off. */
export function admitTooling(config: OperatorConfig, caller: Principal, tooling: Tooling): Tooling | Fault {
  for (const { name, type, place, isNative } of tooling.tools) {
    // A tool with a date may be the provider's to run, whatever is switched off here; otherwise it is refused later.
    if (!isNative && isSwitchedOff(config.tools, name))
      return invalidInput(
        ['body', ...place, 'type'],
        `names a tool that is switched off here (${switchOf(name)}): ${type}`,
      )
  }
  const defaults = defaultsOf(config.plugins, caller)
  return defaults.length === 0 ? tooling : { ...tooling, plugins: mergePlugins(tooling, defaults) }
}

/** The tooling of a request that asks for nothing itself; null where nothing runs unasked for that caller. */
export function defaultTooling({ plugins }: OperatorConfig, caller: Principal): Tooling | null {
  if (plugins.defaults.length === 0 || defaultsOf(plugins, caller).length === 0) return null
  return NO_TOOLING
}

function defaultsOf({ defaults }: PluginsConfig, { organizationId }: Principal): readonly DefaultPlugin[] {
  return defaults.filter(
    ({ organizations }) => organizations === null || organizations.includes(organizationId),
  )
}

/**
 * Those that may not be overridden run as configured, whatever the request says of them, and stand first: of two routers
 * the first one chooses. One that the request only implies (`service/auto`) has the options of the default.
 */
function mergePlugins(
  { plugins, disabled }: Pick<Tooling, 'plugins' | 'disabled'>,
  defaults: readonly DefaultPlugin[],
): readonly RequestedPlugin[] {
  const ready = defaults.map(({ id, options, overridable }) => ({
    overridable,
    plugin: { id, options, place: ['plugins'] },
  }))
  const fixed = ready.filter(({ overridable }) => !overridable).map(({ plugin }) => plugin)
  const open = ready.filter(({ overridable }) => overridable).map(({ plugin }) => plugin)
  const isOf = (list: readonly RequestedPlugin[], id: string): boolean => list.some((each) => each.id === id)
  const asked = plugins.filter((each) => !isOf(fixed, each.id) && !(isImplied(each) && isOf(open, each.id)))
  const added = open.filter(({ id }) => !disabled.includes(id) && !isOf(asked, id))
  return [...fixed, ...asked, ...added]
}

/** It follows from another member of the request, which says nothing of how. */
function isImplied({ place, options }: RequestedPlugin): boolean {
  return place[0] !== 'plugins' && Object.keys(options).length === 0
}
