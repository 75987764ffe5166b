/** Tavily: `POST /search`. */
import { asObject } from '../../formats/json-values.js'
import type { SearchEngine } from '../port.js'
import type { AskEngine } from './ask-engine.js'
import { searchResults } from './results.js'

const MOST_RESULTS = 20

interface Account {
  readonly baseUrl: string
  readonly key: string
}

export function tavily(ask: AskEngine, { baseUrl, key }: Account): SearchEngine {
  return {
    name: 'tavily',
    host: new URL(baseUrl).host,
    async search(query, call) {
      const { text, count, allowed, excluded, mode } = query
      const body = {
        query: text,
        max_results: Math.min(MOST_RESULTS, count),
        search_depth: mode === 'advanced' || mode?.startsWith('deep') ? 'advanced' : 'basic',
        ...(allowed.length > 0 && { include_domains: allowed }),
        ...(excluded.length > 0 && { exclude_domains: excluded }),
      }
      const headers = { authorization: `Bearer ${key}` }
      const reply = await ask({ url: `${baseUrl}/search`, headers, body }, call)
      if (!reply.ok) return { ok: false, error: `tavily ${reply.error}` }
      const results = searchResults(
        asObject(reply.value)?.results,
        query,
        ({ content }) => [content],
        ({ published_date: date }) => date,
      )
      return { ok: true, results }
    },
  }
}
