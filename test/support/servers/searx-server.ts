/**
 * A searx server of the distribution, which nobody here wrote. Its only engine is a corpus on loopback, so that it finds
 * what a test says, without a network.
 */
import { spawn } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { type Lifetime, tempFolder } from '../data/temp-folder.js'
import { eventually } from '../timing/eventually.js'
import { freePort } from './listen.js'

const PROGRAM = '/usr/bin/searx-run'
const SHARED = '/usr/share/python3-searx'

export const HAS_SEARX = existsSync(PROGRAM) && existsSync(SHARED)

interface CorpusEntry {
  readonly url: string
  readonly title: string
  readonly text: string
}

interface SearxServer {
  readonly baseUrl: string
  /** What its engine was asked, in order. */
  readonly asked: readonly string[]
  /** What its engine finds from now on; null makes the engine fail. */
  corpus: readonly CorpusEntry[] | null
}

/** Ends with the test. */
export async function startSearx(t: Lifetime): Promise<SearxServer> {
  const asked: string[] = []
  const [port, corpusPort] = [await freePort(), await freePort()]
  const server: SearxServer = { baseUrl: `http://127.0.0.1:${port}`, asked, corpus: [] }
  const corpus = createServer((request, response) => {
    asked.push(new URL(request.url ?? '', 'http://corpus').searchParams.get('q') ?? '')
    response.writeHead(server.corpus === null ? 500 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ results: server.corpus ?? [] }))
  })
  await new Promise<void>((resolve) => corpus.listen(corpusPort, '127.0.0.1', resolve))
  const settings = join(tempFolder(t), 'settings.yml')
  writeFileSync(settings, settingsOf(port, corpusPort))
  const child = spawn(PROGRAM, [], {
    env: { SEARX_SETTINGS_PATH: settings },
    stdio: 'ignore',
    detached: true,
  })
  const over = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  t.after(async () => {
    // The program and what it has started.
    process.kill(-child.pid!, 'SIGKILL')
    await over
    await new Promise((resolve) => corpus.close(resolve))
  })
  await eventually(() => fetch(`${server.baseUrl}/`).then(({ ok }) => ok), 60_000)
  return server
}

/** YAML takes JSON. */
function settingsOf(port: number, corpusPort: number): string {
  return JSON.stringify({
    general: { debug: false, instance_name: 'loopback' },
    search: { safe_search: 0, autocomplete: '', default_lang: '', formats: ['html', 'json'] },
    server: {
      ...{ port, bind_address: '127.0.0.1', secret_key: '0123456789abcdef', base_url: false },
      ...{ image_proxy: false, http_protocol_version: '1.1', method: 'GET', default_http_headers: {} },
    },
    ui: {
      ...{ static_path: `${SHARED}/static`, templates_path: `${SHARED}/templates` },
      ...{ default_theme: 'oscar', theme_args: {} },
    },
    outgoing: {
      ...{ request_timeout: 5, useragent_suffix: '', pool_connections: 10, pool_maxsize: 10 },
      enable_http2: false,
    },
    engines: [
      {
        ...{ name: 'corpus', engine: 'json_engine', shortcut: 'co', categories: 'general', paging: false },
        search_url: `http://127.0.0.1:${corpusPort}/find?q={query}`,
        ...{ url_query: 'url', title_query: 'title', content_query: 'text', results_query: 'results' },
        ...{ enable_http: true, disabled: false },
      },
    ],
    locales: { en: 'English' },
    doi_resolvers: { 'oadoi.org': 'https://oadoi.org/' },
    default_doi_resolver: 'oadoi.org',
  })
}
