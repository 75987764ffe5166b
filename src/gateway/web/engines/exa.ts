/** Exa: `POST /search` with the texts of the pages. */
import { asList, asObject } from '../../formats/json-values.js'
import type { SearchEngine } from '../port.js'
import type { AskEngine } from './ask-engine.js'
import { searchResults } from './results.js'

const MOST_RESULTS = 100
/** Words for how thorough it is to search; others stand for other engines. */
const MODES: ReadonlySet<string> = new Set(['instant', 'fast', 'auto', 'deep-lite', 'deep', 'deep-reasoning'])

interface Account {
  readonly baseUrl: string
  readonly key: string
}

export function exa(ask: AskEngine, { baseUrl, key }: Account): SearchEngine {
  return {
    name: 'exa',
    host: new URL(baseUrl).host,
    async search(query, call) {
      const { text, count, maxCharacters, allowed, excluded, mode = 'auto', location } = query
      const country = location?.country
      const body = {
        query: text,
        type: MODES.has(mode) ? mode : 'auto',
        numResults: Math.min(MOST_RESULTS, count),
        ...(allowed.length > 0 && { includeDomains: allowed }),
        ...(excluded.length > 0 && { excludeDomains: excluded }),
        ...(typeof country === 'string' &&
          /^[A-Za-z]{2}$/.test(country) && { userLocation: country.toUpperCase() }),
        contents: { text: { maxCharacters } },
      }
      const headers = { 'x-api-key': key }
      const reply = await ask({ url: `${baseUrl}/search`, headers, body }, call)
      if (!reply.ok) return { ok: false, error: `exa ${reply.error}` }
      const results = searchResults(
        asObject(reply.value)?.results,
        query,
        ({ text: content, highlights, summary }) => [content ?? summary, ...asList(highlights)],
        ({ publishedDate }) => publishedDate,
      )
      return { ok: true, results }
    },
  }
}
