/**
 * Search engines on loopback that take what the public documentation of each lists, and nothing else. What they find is
 * given by the test.
 */
import type { MockRequest, Peer } from './mock-upstream.js'
import {
  isFlag,
  isFlagText,
  isText,
  isTextList,
  jsonMembers,
  oneOf,
  requireHeader,
  requireListed,
  WireRefusal,
  within,
} from './strict-service.js'

export const SEARCH_KEY = 'search-key-123'

export interface Found {
  readonly url: string
  readonly title: string
  readonly text: string
  readonly date?: string
}

type Answer = (request: MockRequest, found: readonly Found[]) => unknown

const query = ({ path }: MockRequest) => new URL(path, 'http://engine').searchParams
const isCountry = (value: unknown): boolean => /^[A-Z]{2}$/.test(String(value))

function requirePath({ method, path }: MockRequest, expected: string): void {
  if (`${method} ${path.split('?')[0]}` !== expected) throw new WireRefusal(404, 'path', `${method} ${path}`)
}

export const ENGINES: Readonly<Record<'searxng' | 'brave' | 'tavily' | 'exa', Answer>> = {
  searxng: (request, found) => {
    requirePath(request, 'GET /search')
    requireListed(query(request), { q: isText, format: oneOf('json') }, 400)
    const results = found.map(({ url, title, text, date }) => ({
      ...{ url, title, content: text, engine: 'test', engines: ['test'], score: 1, category: 'general' },
      publishedDate: date ?? null,
    }))
    return { query: query(request).get('q'), number_of_results: 0, results, unresponsive_engines: [] }
  },
  brave: (request, found) => {
    requirePath(request, 'GET /res/v1/web/search')
    requireHeader(request, 'x-subscription-token', SEARCH_KEY, 401)
    requireHeader(request, 'accept', 'application/json')
    const rules = {
      q: (value: unknown) =>
        isText(value) && String(value).length <= 400 && String(value).split(' ').length <= 50,
      count: within(1, 20),
      country: isCountry,
      text_decorations: isFlagText,
      extra_snippets: isFlagText,
    }
    requireListed(query(request), rules, 422)
    const results = found.slice(0, Number(query(request).get('count'))).map(({ url, title, text, date }) => ({
      ...{ type: 'search_result', url, title, description: text, extra_snippets: ['More of it.'] },
      ...(date !== undefined && { page_age: date }),
    }))
    return { type: 'search', ...(results.length > 0 && { web: { type: 'search', results } }) }
  },
  tavily: (request, found) => {
    requirePath(request, 'POST /search')
    requireHeader(request, 'authorization', `Bearer ${SEARCH_KEY}`, 401)
    const rules = {
      query: isText,
      max_results: within(0, 20),
      search_depth: oneOf('basic', 'advanced'),
      include_domains: isTextList,
      exclude_domains: isTextList,
    }
    const members = jsonMembers(request)
    requireListed(Object.entries(members), rules, 422)
    const results = found.slice(0, Number(members.max_results)).map(({ url, title, text, date }) => ({
      ...{ url, title, content: text, score: 0.9, raw_content: null },
      ...(date !== undefined && { published_date: date }),
    }))
    return { query: members.query, answer: null, images: [], results, response_time: 0.1 }
  },
  exa: (request, found) => {
    requirePath(request, 'POST /search')
    requireHeader(request, 'x-api-key', SEARCH_KEY, 401)
    const rules = {
      query: isText,
      type: oneOf('auto', 'fast', 'instant', 'deep', 'deep-lite', 'deep-reasoning'),
      numResults: within(1, 100),
      includeDomains: isTextList,
      excludeDomains: isTextList,
      userLocation: isCountry,
      contents: (value: unknown) => {
        const { text } = value as { text: { maxCharacters: number } }
        return Number.isInteger(text.maxCharacters) && !isFlag(text)
      },
    }
    const members = jsonMembers(request)
    requireListed(Object.entries(members), rules, 400)
    const results = found.slice(0, Number(members.numResults)).map(({ url, title, text, date }) => ({
      ...{ id: url, url, title, text, score: 0.5 },
      publishedDate: date ?? null,
    }))
    return { requestId: 'r1', resolvedSearchType: 'neural', results, costDollars: { total: 0.005 } }
  },
}

/** Answers as the engine does, or refuses what its documentation does not list. */
export function playEngine(name: keyof typeof ENGINES, found: readonly Found[]) {
  return (peer: Peer, request: MockRequest): void => {
    try {
      peer.json(ENGINES[name](request, found))
    } catch (error) {
      const { status, message } = error as WireRefusal
      peer.json({ error: message }, status ?? 500)
    }
  }
}
