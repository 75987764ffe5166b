/** One search, whichever engine answers it: what it is asked, and what of its answer is shown. */
import { asObject, type JsonObject } from '../formats/json-values.js'
import type { ToolRefusal, UrlCitation } from '../tools/port/tool.js'
import type { DomainFilter } from './domains.js'
import { cut } from './engines/results.js'
import type { SearchEngine, SearchEngines, SearchOutcome, SearchResult, WebCall } from './port.js'

export interface SearchWish {
  readonly text: string
  /** Most results. */
  readonly count: number
  readonly maxCharacters: number
  readonly domains: DomainFilter
  readonly mode?: string
  readonly location?: JsonObject
}

/** Engines take no longer questions. */
export const MOST_QUERY_CHARS = 1_000
/** As the hosted services have it. */
export const DEFAULT_RESULTS = 5
export const MOST_RESULTS = 20
/** Of all results of a search. */
const MOST_CHARACTERS = 200_000
const CHARACTERS_OF_SIZE: Readonly<Record<string, number>> = { low: 5_000, medium: 15_000, high: 30_000 }
const DEFAULT_CHARACTERS = 4_000

/** Most characters of a result: what is said outright, else what the size of the context stands for. */
export function charactersPerResult(maxCharacters: unknown, contextSize: unknown): number {
  if (typeof maxCharacters === 'number') return Math.min(maxCharacters, MOST_CHARACTERS)
  return CHARACTERS_OF_SIZE[String(contextSize)] ?? DEFAULT_CHARACTERS
}

/** `{country, region, city, timezone}`, which one of the formats puts one level deeper. Null where nothing is said. */
export function placeOf(userLocation: unknown): JsonObject | null {
  const place = asObject(userLocation)
  return asObject(place?.approximate) ?? place
}

/** The engine that is asked for; `auto` takes the configured one. Else why there is none, after the member's name. */
export function chooseEngine(
  { configured, simulated }: SearchEngines,
  { engine = 'auto', x_search: posts }: JsonObject,
  isSimulated: boolean,
): SearchEngine | ToolRefusal {
  const refused = (why: string): ToolRefusal => ({ refused: why, member: ['engine'] })
  if (posts !== undefined)
    return {
      refused: 'is for providers that search posts themselves: no engine here does',
      member: ['x_search'],
    }
  const name = String(engine)
  if (name === 'native') return refused('native: the provider of the model has no search of its own')
  if (name !== 'auto')
    return configured.get(name) ?? refused(`${name} is not configured: set tools.web_search.${name}`)
  const [first] = configured.values()
  if (first !== undefined) return first
  if (isSimulated) return simulated
  return refused(
    'auto finds no search engine configured: set tools.web_search, for example tools.web_search.searxng',
  )
}

/** Asks for more than is wanted where results are filtered, and filters whatever comes. Never rejects. */
export async function search(engine: SearchEngine, wish: SearchWish, call: WebCall): Promise<SearchOutcome> {
  const { allowedHosts: allowed, deniedHosts: excluded } = wish.domains
  const isFiltered = allowed.length + excluded.length > 0
  const outcome = await engine.search(
    {
      text: wish.text,
      count: isFiltered ? MOST_RESULTS : wish.count,
      maxCharacters: wish.maxCharacters,
      allowed,
      excluded,
      ...(wish.mode !== undefined && { mode: wish.mode }),
      ...(wish.location !== undefined && { location: wish.location }),
    },
    call,
  )
  if (!outcome.ok) return outcome
  const wanted = outcome.results.filter(({ url }) => wish.domains.allows(new URL(url))).slice(0, wish.count)
  return { ok: true, results: withinBudget(wanted) }
}

function withinBudget(results: readonly SearchResult[]): readonly SearchResult[] {
  let left = MOST_CHARACTERS
  return results.map((result) => {
    const content = cut(result.content, left)
    left -= content.length
    return { ...result, content }
  })
}

export function citationOf({ url, title, content, pageAge }: SearchResult): UrlCitation {
  return { url, title, content, pageAge }
}
