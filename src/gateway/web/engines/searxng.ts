/** SearXNG, and searx before it: `GET /search?format=json`. */
import { asList, asObject, type JsonObject, objectsIn } from '../../formats/json-values.js'
import type { SearchEngine, SearchOutcome, SearchQuery } from '../port.js'
import type { AskEngine, EngineReply } from './ask-engine.js'
import { searchResults } from './results.js'

export function searxng(ask: AskEngine, { baseUrl }: { readonly baseUrl: string }): SearchEngine {
  return {
    name: 'searxng',
    host: new URL(baseUrl).host,
    async search(query, call) {
      const parameters = new URLSearchParams({ q: queryText(query), format: 'json' })
      const url = `${baseUrl}/search?${parameters}`
      return outcome(await ask({ url, headers: {}, body: null }, call), query)
    },
  }
}

/**
 * What makes a word a command to it: `!engine`, `!!elsewhere`, `:language`, `<seconds`. Whoever searches has no say in
 * which engines are asked, not even in those that are switched off there, nor in how long.
 */
const COMMANDS = /(?<=^|[\s\p{Cc}])[!:<]+/gu

/** Most of the engines behind it know `site:`; whoever asks filters once more. */
function queryText({ text, allowed, excluded }: SearchQuery): string {
  const words = text.replace(COMMANDS, '')
  const [only] = allowed
  if (allowed.length === 1 && only !== undefined) return `${words} site:${only}`
  return [words, ...excluded.slice(0, 5).map((host) => `-site:${host}`)].join(' ')
}

function outcome(reply: EngineReply, query: SearchQuery): SearchOutcome {
  if (!reply.ok) {
    const isFormat = reply.status === 403
    const hint = isFormat ? '; its settings have to list json among search.formats' : ''
    return { ok: false, error: `searxng ${reply.error}${hint}` }
  }
  const body = asObject(reply.value)
  if (body === null || !Array.isArray(body.results)) return { ok: false, error: 'searxng sends no results' }
  const entries = objectsIn(body.results)
  const silent = silentEngines(body)
  // Engines that are blocked are no sign that nothing is to be found.
  if (entries.length === 0 && silent.length > 0)
    return { ok: false, error: `searxng has no results because engines did not answer: ${silent.join(', ')}` }
  const results = searchResults(
    entries,
    query,
    ({ content }) => [content],
    ({ publishedDate }) => publishedDate,
  )
  return { ok: true, results }
}

/** `[[name, why], …]`. */
function silentEngines({ unresponsive_engines: engines }: JsonObject): readonly string[] {
  const told = asList(engines).slice(0, 10)
  return told.map((engine) => {
    const [name, why] = Array.isArray(engine) ? engine.map(shortText) : [shortText(engine)]
    return why === undefined ? (name ?? '') : `${name} (${why})`
  })
}

function shortText(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value).slice(0, 60) : ''
}
