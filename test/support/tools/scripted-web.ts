/** A web that says what a test wants: an engine and a reader of pages, and what they were asked. */
import type {
  PageReader,
  PageWish,
  SearchEngine,
  SearchEngines,
  SearchOutcome,
  SearchQuery,
  WebPage,
} from '../../../src/gateway/web/port.js'

export function found(url: string, more: object = {}) {
  return { url, title: `About ${url}`, content: 'some words', pageAge: null, ...more }
}

export class ScriptedEngine implements SearchEngine {
  readonly asked: SearchQuery[] = []
  outcome: SearchOutcome = { ok: true, results: [found('https://a.example/'), found('https://b.example/')] }

  constructor(
    readonly name: string,
    readonly host: string | null = null,
  ) {}

  search(query: SearchQuery): Promise<SearchOutcome> {
    this.asked.push(query)
    return Promise.resolve(this.outcome)
  }
}

export function enginesOf(...configured: readonly SearchEngine[]): SearchEngines {
  return {
    configured: new Map(configured.map((engine) => [engine.name, engine])),
    simulated: new ScriptedEngine('simulated'),
  }
}

export function webPage(url: string, text: string, more: Partial<WebPage> = {}): WebPage {
  return {
    ...{ ok: true, url, text, title: `Page ${url}`, isCut: false, pageAge: null },
    retrievedAt: '2026-01-01T00:00:00.000Z',
    ...more,
  }
}

export class ScriptedReader implements PageReader {
  readonly asked: PageWish[] = []
  answer: (wish: PageWish) => Awaited<ReturnType<PageReader['read']>> = ({ url }) => webPage(url, 'its words')

  constructor(readonly isOn = true) {}

  read(wish: PageWish): ReturnType<PageReader['read']> {
    this.asked.push(wish)
    const why = wish.refusal(new URL(wish.url))
    return Promise.resolve(why === null ? this.answer(wish) : { ok: false, error: why })
  }
}
