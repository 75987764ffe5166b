/** The engines that a configuration names. */
import type { SearchEngine } from '../port.js'
import type { AskEngine } from './ask-engine.js'
import { brave } from './brave.js'
import { exa } from './exa.js'
import { searxng } from './searxng.js'
import { tavily } from './tavily.js'

/** As `tools.web_search` says them. A key is resolved. */
interface EngineSettings {
  readonly searxng: { readonly baseUrl: string } | null
  readonly brave: { readonly baseUrl: string; readonly key: string } | null
  readonly tavily: { readonly baseUrl: string; readonly key: string } | null
  readonly exa: { readonly baseUrl: string; readonly key: string } | null
  /** The one for `auto`; null for the first that is there. */
  readonly preferred: string | null
}

/** By name, the one for `auto` first. */
export function configuredEngines(
  ask: AskEngine,
  settings: EngineSettings,
): ReadonlyMap<string, SearchEngine> {
  const engines = [
    settings.searxng && searxng(ask, settings.searxng),
    settings.brave && brave(ask, settings.brave),
    settings.tavily && tavily(ask, settings.tavily),
    settings.exa && exa(ask, settings.exa),
  ].filter((engine) => engine !== null)
  const isFirst = ({ name }: SearchEngine): number => (name === settings.preferred ? 0 : 1)
  engines.sort((one, other) => isFirst(one) - isFirst(other))
  return new Map(engines.map((engine) => [engine.name, engine]))
}
