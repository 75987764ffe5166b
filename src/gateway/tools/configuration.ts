/**
 * What the operator says of server tools: one member of `tools` per tool. Every tool has the members that stand here;
 * its own ones stand in its folder (`configuration.ts`) and come in by one line of the table.
 */
import { z } from 'zod'
import { nanosPerMillion } from '../../base/money.js'
import {
  camelCased,
  flag,
  integerBetween,
  MILLION,
  milliseconds,
  orNull,
  perRequest,
} from '../catalog/configuration/values.js'
import { bashMembers } from './bash/configuration.js'
import { imageGenerationMembers } from './image-generation/configuration.js'
import { mcpMembers } from './mcp/configuration.js'
import { webFetchMembers } from './web-fetch/configuration.js'
import { webSearchMembers } from './web-search/configuration.js'

const callsPerMinute = orNull(integerBetween(1, 1_000_000_000))

const limits = z
  .strictObject({
    calls_per_minute_per_key: callsPerMinute.describe(
      'Calls of the tool that each key may make in a minute.',
    ),
    calls_per_minute_per_organization: callsPerMinute.describe(
      'Calls of the tool that the keys of an organization may make in a minute, together.',
    ),
  })
  .transform(camelCased)

/** What every tool has. */
const members = {
  enabled: orNull(flag).describe(
    'Whether requests may use it; false refuses them. What is needed beside it stands with the tool.',
  ),
  price: perRequest
    .default('0')
    .transform((dollars) => nanosPerMillion(dollars)! / MILLION)
    .describe('Dollars that a caller is charged for each call; 0 when absent.'),
  timeout_ms: milliseconds.default(30_000).describe('Most time for a call.'),
  limits: limits.prefault({}),
}

/** The section of a tool with `own` members beside those of all. May be absent. */
function section<T extends z.ZodRawShape>(about: string, own: T) {
  return z
    .strictObject({ ...members, ...own })
    .transform(camelCased)
    .prefault({} as never)
    .describe(about)
}

const NONE = {}

/** Models beneath a call take their time; the deadline of the request holds for them as well. */
const MODELS = { timeout_ms: milliseconds.default(600_000).describe('Most time for a call.') }

/** One line per tool, by its neutral name. */
const TOOL_SECTIONS = {
  advisor: section('Asks a stronger model.', MODELS),
  bash: section(
    'Commands in a sandbox; `shell` of the messages format as well. Off unless enabled.',
    bashMembers,
  ),
  datetime: section('Date and time.', NONE),
  experimental__search_models: section('Looks through the models of this server.', NONE),
  files: section('Files of the workspace.', NONE),
  fusion: section('Asks several models and weighs their answers.', MODELS),
  image_generation: section('Paints pictures.', { ...MODELS, ...imageGenerationMembers }),
  mcp: section('Tools of MCP servers; `mcp_servers` says which.', mcpMembers),
  memory: section('Notes that a workspace keeps.', NONE),
  subagent: section('Gives a task to another model.', MODELS),
  text_editor: section('Edits files of the workspace.', NONE),
  tool_search: section('Finds tools that a request defers.', NONE),
  web_fetch: section(
    'Reads pages and PDFs of the web, where it is enabled; off when nothing is said.',
    webFetchMembers,
  ),
  web_search: section('Searches the web.', webSearchMembers).refine(
    ({ backend, ...engines }) => backend === null || engines[backend] !== null,
    { path: ['backend'], error: 'names an engine that is not configured' },
  ),
} as const

/** A tool that has no section of its own is switched, priced and limited with another. */
const SECTION_OF: Readonly<Record<string, keyof typeof TOOL_SECTIONS>> = { shell: 'bash' }

/** Sections that are off where nothing is said. */
const OFF_UNLESS_ENABLED: ReadonlySet<string> = new Set(['bash'])

export const toolsSchema = z
  .strictObject({
    max_calls: integerBetween(1, 1_000)
      .default(100)
      .describe('Most calls of server tools in one request, whatever it asks for.'),
    ...TOOL_SECTIONS,
  })
  .transform(({ max_calls: maxCalls, ...tools }) => ({ ...tools, maxCalls }))
  .describe('Server tools: which may be used, at what price, how often.')

export type ToolsConfig = z.output<typeof toolsSchema>

/** What the operator says of every tool. `enabled` is null where nothing is said; `price` is in nano-dollars. */
type ToolSettings = Pick<ToolsConfig['datetime'], 'enabled' | 'price' | 'timeoutMs' | 'limits'>

/** By neutral name; null for what is no tool. */
export function toolSettings(config: ToolsConfig, name: string): ToolSettings | null {
  const section = Object.hasOwn(SECTION_OF, name) ? SECTION_OF[name]! : name
  return Object.hasOwn(TOOL_SECTIONS, section) ? config[section as keyof typeof TOOL_SECTIONS] : null
}

/** Whether requests may name it at all. */
export function isSwitchedOff(config: ToolsConfig, name: string): boolean {
  const settings = toolSettings(config, name)
  if (settings === null) return false
  const section = SECTION_OF[name] ?? name
  return settings.enabled === false || (settings.enabled === null && OFF_UNLESS_ENABLED.has(section))
}

/** What else is done with the means of a tool, and counts as a call of it: its other name, and plugins by their ids. */
const COUNTED_AS: Readonly<Record<string, keyof typeof TOOL_SECTIONS>> = {
  ...SECTION_OF,
  web: 'web_search',
  'web-fetch': 'web_fetch',
}

/** How often keys and organizations may call each tool, by the names of tools and plugins. */
export function toolLimits({
  maxCalls: _,
  ...sections
}: ToolsConfig): Readonly<Record<string, ToolSettings['limits'] & { readonly tool: string }>> {
  const named = [...Object.keys(sections).map((name) => [name, name] as const), ...Object.entries(COUNTED_AS)]
  return Object.fromEntries(
    named.map(([name, tool]) => [name, { ...sections[tool as keyof typeof TOOL_SECTIONS].limits, tool }]),
  )
}

/** The setting that turns a tool on and off, for whoever is refused. */
export function switchOf(name: string): string {
  return `tools.${Object.hasOwn(SECTION_OF, name) ? SECTION_OF[name]! : name}.enabled`
}
