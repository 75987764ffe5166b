/** The console: one page for every path below /console, and the files that the build has made for it. */
import { readdirSync, readFileSync } from 'node:fs'
import { BUILT } from '../../base/built-files.js'
import { throwFault } from '../../base/fault.js'
import { ASK_AGAIN, BuiltFile, FILE_HEADERS, KEEP, once, strictPolicy } from '../../http/built-file.js'
import { gateway } from '../../http/dialects/gateway.js'
import { type Endpoint, endpointGroup, type HeaderList } from '../../http/endpoint.js'
import { anyText } from '../../http/params.js'

/** What the build says of its files. */
interface ConsoleFiles {
  readonly script: string
  readonly style: string
  /** What the script loads at once. */
  readonly preloads: readonly string[]
}

const operation = endpointGroup({ tag: 'Service', dialect: gateway })

/** Whether a path is one of the console's own. */
export function isConsolePath(path: string): boolean {
  return path === '/console' || path.startsWith('/console/')
}

/**
 * The page is the same at each depth but for the way to its files, which is relative: a proxy may put all of it behind
 * a prefix. Everything is read at the first request, so a server goes on with its own files when others are built.
 */
export function consoleEndpoints(): Endpoint[] {
  const built = once(readBuilt)
  return [
    pageEndpoint('/console', 'console/assets/', built),
    closingSlash,
    pageEndpoint('/console/{screen}', 'assets/', built),
    pageEndpoint('/console/{screen}/{id}', '../assets/', built),
    operation('console', 'GET /console/assets/{file}', {
      summary: 'A file of the console',
      hidden: true,
      headers: FILE_HEADERS,
      params: { file: anyText },
      replies: { 200: { description: 'The file', mediaType: 'application/octet-stream' } },
      faults: ['item-not-found'],
      handle: ({ params }, call) =>
        (built().assets.get(params.file) ?? throwFault('item-not-found'))().reply(call),
    }),
  ]
}

/** Whoever types the closing slash, or comes by a proxy that adds it; relative, as a prefix may stand before it. */
const closingSlash = operation('console', 'GET /console/', {
  summary: 'The console',
  hidden: true,
  // One that it knows, so that the query is read at all.
  query: { sign_in: anyText },
  replies: { 308: { description: 'Its address' } },
  handle: (_, { query }) => ({
    status: 308,
    headers: [['Location', `../console${query && `?${query}`}`], ...ASK_AGAIN],
    body: null,
  }),
})

function pageEndpoint(
  path: `/${string}`,
  assets: string,
  built: () => ReturnType<typeof readBuilt>,
): Endpoint {
  const page = once(() => new BuiltFile('.html', Buffer.from(markup(built().files, assets)), PAGE_HEADERS))
  const params = Object.fromEntries([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name!, anyText]))
  return operation('console', `GET ${path}`, {
    summary: 'The console',
    hidden: true,
    headers: FILE_HEADERS,
    params,
    replies: { 200: { description: 'Its page', mediaType: 'text/html; charset=utf-8' } },
    handle: (_, call) => page().reply(call),
  })
}

/** Words of models and of strangers stay words. */
const PAGE_HEADERS: HeaderList = [
  ...strictPolicy(["img-src 'self' data: blob:", "media-src 'self' data: blob:", "connect-src 'self'"]),
  // Nothing of it asks for one: recordings are files that somebody chooses.
  ['Permissions-Policy', 'camera=(), geolocation=(), microphone=()'],
  ...ASK_AGAIN,
]

function readBuilt() {
  const folder = new URL('console/', BUILT)
  const read = (name: string): Buffer => readFileSync(new URL(name, folder))
  const names = readdirSync(folder).filter((name) => /\.(js|css)$/.test(name))
  return {
    files: JSON.parse(read('files.json').toString()) as ConsoleFiles,
    assets: new Map(names.map((name) => [name, once(() => new BuiltFile(name, read(name), KEEP))])),
  }
}

const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='4' fill='%232456c9'/%3E%3Cpath d='M3.5 6c1.5-1.4 3-1.4 4.5 0s3 1.4 4.5 0M3.5 10c1.5-1.4 3-1.4 4.5 0s3 1.4 4.5 0' fill='none' stroke='%23fff' stroke-width='1.5' stroke-linecap='round'/%3E%3C/svg%3E"

/** The script holds the first paint: it knows whether light or dark was chosen, and a page must not flash. */
function markup({ script, style, preloads }: ConsoleFiles, assets: string): string {
  const preloaded = preloads.map((name) => `<link rel="modulepreload" href="${assets}${name}">\n`)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Sluice console</title>
<link rel="icon" href="${ICON}">
<link rel="stylesheet" href="${assets}${style}">
${preloaded.join('')}<script type="module" blocking="render" src="${assets}${script}"></script>
</head>
<body>
<div id="console"></div>
<noscript>The console needs JavaScript. Everything it does the API does as well: see <a href="/docs/guide">/docs/guide</a>.</noscript>
</body>
</html>
`
}
