/** Searching and reading the web: what tools and plugins see of it. Everything that comes back is a stranger's words. */
import type { JsonObject } from '../formats/json-values.js'

/** For whom, and how long. */
export interface WebCall {
  readonly organizationId: string
  readonly signal: AbortSignal
  /** `performance.now()` by which it has to be over. */
  readonly deadlineAt: number
}

export interface SearchQuery {
  readonly text: string
  /** Most results. */
  readonly count: number
  /** Most characters of a result's content. */
  readonly maxCharacters: number
  /** Hosts, for engines that can look there only; whoever asks filters once more. At most one list has any. */
  readonly allowed: readonly string[]
  readonly excluded: readonly string[]
  /** How thorough, in the engine's own words. */
  readonly mode?: string
  /** `{city?, region?, country?, timezone?}` */
  readonly location?: JsonObject
}

export interface SearchResult {
  /** Absolute, http or https. */
  readonly url: string
  readonly title: string
  readonly content: string
  /** When the page was published, as the engine says it. */
  readonly pageAge: string | null
}

/** `error`: a sentence for the model and the operator, without a credential. */
export type SearchOutcome =
  | { readonly ok: true; readonly results: readonly SearchResult[] }
  | { readonly ok: false; readonly error: string }

export interface SearchEngine {
  /** `searxng`, `brave`, `tavily`, `exa`, `simulated`. */
  readonly name: string
  /** Host that is asked, for the audit; null where none is. */
  readonly host: string | null
  /** Never rejects; ends within a second once the signal is aborted. */
  search(query: SearchQuery, call: WebCall): Promise<SearchOutcome>
}

/** The engines there are. */
export interface SearchEngines {
  /** Those that the operator has configured, by name; the first is the one for `auto`. */
  readonly configured: ReadonlyMap<string, SearchEngine>
  /** Serves simulated models where none is configured. */
  readonly simulated: SearchEngine
}

export interface PageWish {
  /** Absolute, http or https. */
  readonly url: string
  /** Pages of the simulated web are for simulated models only. */
  readonly isSimulated: boolean
  readonly maxTokens: number
  /** Why an address may not be visited; asked for every redirect as well. */
  readonly refusal: (url: URL) => string | null
}

export interface WebPage {
  readonly ok: true
  /** Where it was found, after redirects. */
  readonly url: string
  readonly title: string
  /** Markdown of a page, text of a PDF. */
  readonly text: string
  readonly isCut: boolean
  /** ISO 8601. */
  readonly retrievedAt: string
  readonly pageAge: string | null
}

export interface PageReader {
  /** Whether pages of the public web are read at all. */
  readonly isOn: boolean
  /** Never rejects. `error` is a sentence for the model. */
  read(wish: PageWish, call: WebCall): Promise<WebPage | { readonly ok: false; readonly error: string }>
}
