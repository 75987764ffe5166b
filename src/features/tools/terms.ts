/**
 * What the operator says of server tools and plugins, as it may be shown: names of backends, never where they are; and
 * to others than the operator nothing of the machine and nothing of other organizations.
 */
import { nanosToDollars } from '../../base/money.js'
import type { Principal } from '../../base/principal.js'
import type { GatewayConfig } from '../../gateway/catalog/configuration.js'
import { isSwitchedOff, type ToolsConfig, toolSettings } from '../../gateway/tools/configuration.js'

/** A tool of the configuration. */
type Section = keyof Omit<ToolsConfig, 'maxCalls'>

interface Means {
  /** Who does the work, the one for requests that name none first. Empty where the server does it itself. */
  readonly backends: readonly string[]
  /** The setting without which requests are refused; null where nothing is missing. */
  readonly needs: string | null
}

/** Of tools that are more than code of this server. */
const TOOL_MEANS: Readonly<Partial<Record<Section, (config: GatewayConfig) => Means>>> = {
  bash: ({ tools: { bash } }) => ({
    backends: bash.enabled === true ? [bash.url === null ? 'local' : 'remote'] : [],
    needs: bash.enabled === true ? null : 'tools.bash.enabled',
  }),
  image_generation: ({ tools }) => needing(tools.image_generation.model, 'tools.image_generation.model'),
  mcp: ({ mcpServers }) => ({ backends: Object.keys(mcpServers), needs: null }),
  web_fetch: ({ tools }) => ({
    backends: [],
    needs: tools.web_fetch.enabled === true ? null : 'tools.web_fetch.enabled',
  }),
  web_search: searchMeans,
}

const ENGINES = ['searxng', 'brave', 'tavily', 'exa'] as const

function searchMeans({ tools: { web_search: search } }: GatewayConfig): Means {
  const engines = ENGINES.filter((engine) => search[engine] !== null)
  const first = engines.filter((engine) => engine === search.backend)
  const backends = [...first, ...engines.filter((engine) => engine !== search.backend)]
  return { backends, needs: backends.length > 0 ? null : 'tools.web_search.backend' }
}

function needing(model: string | null, setting: string): Means {
  return model === null ? { backends: [], needs: setting } : { backends: [model], needs: null }
}

export function toolTerms(config: GatewayConfig, { operator }: Principal) {
  const { maxCalls: _, ...sections } = config.tools
  return (Object.keys(sections) as Section[]).map((name) => {
    const { price, timeoutMs, limits } = toolSettings(config.tools, name)!
    const { backends, needs } = TOOL_MEANS[name]?.(config) ?? { backends: [], needs: null }
    return {
      name,
      enabled: !isSwitchedOff(config.tools, name),
      needs,
      backends: [...backends],
      price: nanosToDollars(price),
      timeout_ms: timeoutMs,
      calls_per_minute_per_key: limits.callsPerMinutePerKey,
      calls_per_minute_per_organization: limits.callsPerMinutePerOrganization,
      settings: ownSettings(sections[name], operator),
    }
  })
}

const OF_EVERY_TOOL: ReadonlySet<string> = new Set(['enabled', 'price', 'timeoutMs'])

/** What a request meets. How much the machine bears, and as whom it runs commands, is for the operator alone. */
const OF_REQUESTS: ReadonlySet<string> = new Set([
  ...['known_addresses_only', 'max_bytes'],
  ...['memory_mib', 'disk_mib', 'files', 'processes', 'cpu_seconds', 'max_output_bytes', 'max_file_mib'],
  ...['container_minutes', 'containers_per_organization', 'runs_per_organization'],
  ...['egress_mib', 'egress_connections'],
])

/** Numbers and switches alone: what is text may be an address or the name of a credential's variable. */
function ownSettings(section: object, isAll: boolean): Record<string, number | boolean> {
  const shown = Object.entries(section).filter(
    ([name, value]) => !OF_EVERY_TOOL.has(name) && (typeof value === 'number' || typeof value === 'boolean'),
  )
  const named = shown.map(
    ([name, value]) => [name.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`), value] as const,
  )
  return Object.fromEntries(named.filter(([name]) => isAll || OF_REQUESTS.has(name)))
}

/** What plugins need, and what they cost; the rest need nothing and are free. */
const PLUGIN_MEANS: Readonly<
  Record<
    string,
    (config: GatewayConfig) => Means & { readonly price?: number; readonly unit?: 'call' | 'page' }
  >
> = {
  alignment: ({ plugins }) => needing(plugins.alignment.model, 'plugins.alignment.model'),
  'file-parser': ({ plugins }) => {
    const { ocr } = plugins['file-parser']
    const needs = null
    return ocr === null
      ? { backends: [], needs }
      : { backends: [ocr.model], needs, price: ocr.pricePerPage, unit: 'page' }
  },
  moderation: ({ plugins: { moderation } }) =>
    needing(moderation.provider ?? moderation.model, 'plugins.moderation'),
  'switchyard-router': ({ plugins }) => ({
    ...needing(plugins['switchyard-router'].model, ''),
    needs: null,
  }),
  web: (config) => ({ ...searchMeans(config), price: config.tools.web_search.price, unit: 'call' }),
  'web-fetch': (config) => ({
    ...TOOL_MEANS.web_fetch!(config),
    price: config.tools.web_fetch.price,
    unit: 'call',
  }),
}

/** Defaults are those for the requests of the caller's organization; for the operator, all of them. */
export function pluginTerms(
  config: GatewayConfig,
  ids: readonly string[],
  { operator, organizationId }: Principal,
) {
  const isShown = (id: string): boolean => operator || id === organizationId
  return ids.map((id) => {
    const {
      backends,
      needs,
      price = 0,
      unit = null,
    } = PLUGIN_MEANS[id]?.(config) ?? { backends: [], needs: null }
    const defaults = config.plugins.defaults.filter(
      (each) => each.id === id && (each.organizations?.some(isShown) ?? true),
    )
    return {
      ...{ id, needs, backends: [...backends], price: nanosToDollars(price), price_per: unit },
      defaults: defaults.map(({ options, organizations, overridable }) => ({
        options,
        organizations: organizations === null ? null : organizations.filter(isShown),
        overridable,
      })),
    }
  })
}
