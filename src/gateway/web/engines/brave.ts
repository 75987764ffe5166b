/** Brave Search: `GET /res/v1/web/search`. */
import { asList, asObject, nonEmptyText } from '../../formats/json-values.js'
import type { SearchEngine, SearchQuery } from '../port.js'
import type { AskEngine } from './ask-engine.js'
import { searchResults } from './results.js'

/** Bounds of its interface. */
const MOST_RESULTS = 20
const MOST_CHARS = 400
const MOST_WORDS = 50

interface Account {
  readonly baseUrl: string
  readonly key: string
}

export function brave(ask: AskEngine, { baseUrl, key }: Account): SearchEngine {
  return {
    name: 'brave',
    host: new URL(baseUrl).host,
    async search(query, call) {
      const { country } = query.location ?? {}
      const parameters = new URLSearchParams({
        q: queryText(query),
        count: String(Math.min(MOST_RESULTS, query.count)),
        text_decorations: 'false',
        extra_snippets: 'true',
        ...(typeof country === 'string' &&
          /^[A-Za-z]{2}$/.test(country) && { country: country.toUpperCase() }),
      })
      const headers = { 'x-subscription-token': key, ...placeHeaders(query) }
      const url = `${baseUrl}/res/v1/web/search?${parameters}`
      const reply = await ask({ url, headers, body: null }, call)
      if (!reply.ok) return { ok: false, error: `brave ${reply.error}` }
      // Where nothing is found, `web` is left out.
      const web = asObject(asObject(reply.value)?.web)
      const results = searchResults(
        web?.results,
        query,
        ({ description, extra_snippets: more }) => [description, ...asList(more)],
        ({ page_age: age }) => age,
      )
      return { ok: true, results }
    },
  }
}

function queryText({ text, allowed, excluded }: SearchQuery): string {
  const sites =
    allowed.length > 0
      ? allowed.map((host) => `site:${host}`).join(' OR ')
      : excluded.map((host) => `NOT site:${host}`).join(' ')
  const whole = `${text} ${sites}`.trim()
  const fits = whole.length <= MOST_CHARS && whole.split(/\s+/).length <= MOST_WORDS
  return fits ? whole : text.split(/\s+/).slice(0, MOST_WORDS).join(' ').slice(0, MOST_CHARS)
}

/** Only what a header field can hold. */
function placeHeaders({ location = {} }: SearchQuery): Readonly<Record<string, string>> {
  const fields = { 'x-loc-city': 'city', 'x-loc-state-name': 'region', 'x-loc-timezone': 'timezone' }
  const known = Object.entries(fields).flatMap(([field, member]) => {
    const value = nonEmptyText(location[member])
    return value !== undefined && /^[\x20-\x7e]{1,100}$/.test(value) ? [[field, value]] : []
  })
  return Object.fromEntries(known)
}
