/** What stands at the root of the server for those who open it, and where a 402 leads (contract/decisions 49, 50). */
import type { Catalog } from '../../gateway/catalog/catalog.js'
import { gateway } from '../../http/dialects/gateway.js'
import {
  type Endpoint,
  endpointGroup,
  type HeaderList,
  type HttpCall,
  type Reply,
} from '../../http/endpoint.js'
import { escapeMarkup, pageMarkup, pageReply, quoteForShell } from '../../http/page.js'
import { jsonReply } from '../../http/reply.js'

export interface StartPorts {
  /** Of the program. */
  readonly version: string
  /** Of the interface. */
  readonly interfaceVersion: string
  /** Public base URL, without a slash at its end. */
  readonly baseUrl: string
  readonly practice: 'open' | 'keyed' | 'off'
  /** Whether it is served: people look up and add credits there. */
  readonly hasConsole: boolean
  /** Where its page is; null when there is none. */
  readonly labUrl: string | null
  /** Where they are; null when they are off. */
  readonly metricsUrl: string | null
}

const VARYING: HeaderList = [['Vary', 'Accept']]

const operation = endpointGroup({ tag: 'service', dialect: gateway })

export const startEndpoints = (ports: StartPorts, catalog: () => Catalog): Endpoint[] => [
  pageEndpoint('start', '/', 'What runs here, and how to begin', {
    markup: () => startMarkup(ports, sampleModel(catalog())),
    json: () => startBody(ports),
  }),
  pageEndpoint('credits_page', '/credits', 'How to look up and add credits', {
    markup: () => creditsMarkup(ports),
    json: () => creditsBody(ports),
    // Relative, as a proxy may put all of it behind a prefix.
    ...(ports.hasConsole && { screen: 'console/credits' }),
  }),
]

interface Page {
  readonly markup: () => string
  readonly json: () => object
  /** Where browsers find more than the page says. */
  readonly screen?: string
}

function pageEndpoint(
  name: string,
  path: `/${string}`,
  summary: string,
  { markup, json, screen }: Page,
): Endpoint {
  return operation(name, `GET ${path}`, {
    summary,
    hidden: true,
    headers: ['accept'],
    replies: {
      200: { description: 'The page, for programs as JSON', mediaType: 'text/html; charset=utf-8' },
      ...(screen !== undefined && { 302: { description: 'For browsers: the screen of the console' } }),
    },
    handle: (_, call: HttpCall): Reply => {
      // Browsers say so; no program asks for markup by accident.
      if (!call.header('accept').includes('text/html')) return jsonReply(200, json(), VARYING)
      if (screen === undefined) return pageReply(200, markup(), VARYING)
      return { status: 302, headers: [...VARYING, ['Location', screen]], body: null }
    },
  })
}

/** A model to try: a simulated one needs no provider. */
function sampleModel({ listed, list }: Catalog): string {
  if (listed('sim/fast') !== null) return 'sim/fast'
  const some = list.find(({ id, outputModalities }) => !id.endsWith('*') && outputModalities.includes('text'))
  return some?.id ?? 'vendor/name'
}

function startBody(ports: StartPorts): object {
  const { version, interfaceVersion, baseUrl, hasConsole, labUrl, metricsUrl } = ports
  return {
    name: 'Sluice',
    version,
    interface_version: interfaceVersion,
    openai_base_url: `${baseUrl}/api/v1`,
    anthropic_base_url: `${baseUrl}/api`,
    console: hasConsole ? `${baseUrl}/console` : null,
    guide: `${baseUrl}/docs/guide`,
    documentation: `${baseUrl}/docs`,
    openapi: `${baseUrl}/api/v1/openapi.json`,
    models: `${baseUrl}/api/v1/models`,
    health: `${baseUrl}/api/v1/health`,
    metrics: metricsUrl,
    lab: labUrl,
  }
}

function startMarkup(ports: StartPorts, model: string): string {
  const { version, interfaceVersion, baseUrl, practice, hasConsole, labUrl, metricsUrl } = ports
  const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Say hello.' }] })
  const chat = `curl ${baseUrl}/api/v1/chat/completions \\
  -H "Authorization: Bearer $SLUICE_API_KEY" \\
  -H 'Content-Type: application/json' \\
  -d ${quoteForShell(body)}`
  const links: readonly (readonly [what: string, where: string | null, about: string])[] = [
    ['Console', hasConsole ? '/console' : null, 'what happens now, keys, usage, the playground'],
    ['Documentation', '/docs/guide', 'every task, the contract, what has changed'],
    ['Operations', '/docs', 'all of the API, to try out'],
    ['OpenAPI', '/api/v1/openapi.json', 'the same as a document'],
    ['Models', '/api/v1/models', 'what can be named in <code>model</code>'],
    ['Health', '/api/v1/health', 'of the worker that answers'],
    ['Metrics', metricsUrl, 'for Prometheus'],
    ['Lab', labUrl, 'the live page of the load-test lab'],
    ['Credits', '/credits', 'how to look them up and add some'],
  ]
  return pageMarkup(
    'Sluice',
    `<h1>Sluice ${escapeMarkup(version)}</h1>
<p class="soft">A model gateway${practice === 'off' ? '' : ` and a load-test practice API (version ${escapeMarkup(interfaceVersion)})`}.</p>
<h2>Base URLs for clients</h2>
<dl>
<dt>OpenAI format</dt><dd><code>${escapeMarkup(baseUrl)}/api/v1</code></dd>
<dt>Messages format</dt><dd><code>${escapeMarkup(baseUrl)}/api</code></dd>
</dl>
<h2>Try it</h2>
<p>Without a key:</p>
${pre(`curl ${baseUrl}/api/v1/models`)}
${practice === 'open' ? pre(`curl '${baseUrl}/api/v1/items?limit=3'`) : ''}
<p>With a key:</p>
${pre(`export SLUICE_API_KEY=…   # yours\n${chat}`)}
<h2>Where the keys are</h2>
<p>The first start prints an ordinary key and a management key, once. More are made on the server's machine with <code>npx sluice keys create --name mine</code>, or with the management key by <code>POST /api/v1/keys</code>. <code>SLUICE_API_KEY</code> and <code>SLUICE_MANAGEMENT_KEY</code> choose those of the first start.</p>
<h2>Where to go</h2>
<dl>
${links.map(([what, where, about]) => (where === null ? '' : `<dt><a href="${escapeMarkup(where)}">${what}</a></dt><dd class="soft">${about}</dd>\n`)).join('')}</dl>
`,
  )
}

function creditsBody({ baseUrl }: StartPorts): object {
  return {
    read_credits: `GET ${baseUrl}/api/v1/credits with a management key`,
    add_credits: `POST ${baseUrl}/api/v1/credits with the operator's management key`,
    read_key_limit: `GET ${baseUrl}/api/v1/key with the key itself`,
    change_key_limit: `PATCH ${baseUrl}/api/v1/keys/{hash} with a management key`,
  }
}

function creditsMarkup({ baseUrl }: StartPorts): string {
  const call = (path: string, key: string, more = ''): string =>
    pre(`curl ${baseUrl}/api/v1/${path} \\\n  -H "Authorization: Bearer $${key}"${more}`)
  const json = (body: object): string =>
    ` \\\n  -H 'Content-Type: application/json' \\\n  -d ${quoteForShell(JSON.stringify(body))}`
  return pageMarkup(
    'Sluice: credits',
    `<h1>Credits</h1>
<p>A call is refused with 402 when what it may cost is more than what is left: of the credits of the organization, or of the spending limit of the key. The message says which of them it was, and what would fit.</p>
<h2>What is left of a key's limit</h2>
<p>Every key may ask for itself: <code>limit_remaining</code> and <code>usage</code>.</p>
${call('key', 'SLUICE_API_KEY')}
<h2>What is left of the credits</h2>
<p>With a management key of the organization: <code>total_credits</code> less <code>total_usage</code>.</p>
${call('credits', 'SLUICE_MANAGEMENT_KEY')}
<h2>More of either</h2>
<p>The operator's management key adds dollars to an organization; without <code>organization_id</code> to the operator's own.</p>
${call('credits', 'SLUICE_MANAGEMENT_KEY', json({ amount: 10 }))}
<p>A management key changes the limit of a key of its organization, by its hash (<code>GET /api/v1/keys</code> lists them); <code>null</code> takes the limit away.</p>
${call('keys/$HASH', 'SLUICE_MANAGEMENT_KEY', ` \\\n  -X PATCH${json({ limit: 20 })}`)}
<p><a href="/">Start page</a> · <a href="/docs/guide/credits-limits-ledger.html">Credits, limits and the ledger</a></p>
`,
  )
}

function pre(text: string): string {
  return `<pre>${escapeMarkup(text)}</pre>`
}
