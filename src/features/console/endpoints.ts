/** The console: one page for every path below /console, and the files that the build has made for it. */
import { readdirSync, readFileSync } from 'node:fs'
import { BUILT } from '../../base/built-files.js'
import { throwFault } from '../../base/fault.js'
import { gateway } from '../../http/dialects/gateway.js'
import { type Endpoint, endpointGroup, type HeaderList } from '../../http/endpoint.js'
import { parsedParam } from '../../http/params.js'
import { bytesReply, keptBytes } from '../../http/reply.js'

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
    pageEndpoint('/console/{screen}', 'assets/', built),
    pageEndpoint('/console/{screen}/{id}', '../assets/', built),
    operation('console', 'GET /console/assets/{file}', {
      summary: 'A file of the console',
      hidden: true,
      headers: ['accept-encoding'],
      params: { file: anyText },
      replies: { 200: { description: 'The file', mediaType: 'application/octet-stream' } },
      faults: ['item-not-found'],
      handle: ({ params }, call) => {
        const file = built().assets.get(params.file) ?? throwFault('item-not-found')
        return (acceptsBrotli(call.header('accept-encoding')) ? file.brotli : file.plain)()
      },
    }),
  ]
}

/** A part of a path; the page itself tells what it stands for. */
const anyText = parsedParam({ type: 'string' }, '', 'is a part of a path', (text) => text)

function pageEndpoint(
  path: `/${string}`,
  assets: string,
  built: () => ReturnType<typeof readBuilt>,
): Endpoint {
  const reply = once(() =>
    bytesReply(
      200,
      'text/html; charset=utf-8',
      keptBytes(Buffer.from(markup(built().files, assets))),
      PAGE_HEADERS,
    ),
  )
  const params = Object.fromEntries([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => [name!, anyText]))
  return operation('console', `GET ${path}`, {
    summary: 'The console',
    hidden: true,
    params,
    replies: { 200: { description: 'Its page', mediaType: 'text/html; charset=utf-8' } },
    handle: reply,
  })
}

/**
 * Nothing from elsewhere, no inline script or style, and with trusted types no text that becomes markup: words of
 * models and of strangers stay words.
 */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "media-src 'self' data: blob:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const SHARED_HEADERS: HeaderList = [
  ['X-Content-Type-Options', 'nosniff'],
  ['Cross-Origin-Resource-Policy', 'same-origin'],
]
const PAGE_HEADERS: HeaderList = [
  ...SHARED_HEADERS,
  ['Content-Security-Policy', POLICY],
  ['Cross-Origin-Opener-Policy', 'same-origin'],
  ['Permissions-Policy', 'camera=(), geolocation=(), microphone=(self)'],
  ['Referrer-Policy', 'same-origin'],
  // It names files of one build.
  ['Cache-Control', 'no-cache'],
]
const ASSET_HEADERS: HeaderList = [
  ...SHARED_HEADERS,
  // Names hold a hash of the content.
  ['Cache-Control', 'public, max-age=31536000, immutable'],
  ['Vary', 'Accept-Encoding'],
]

function readBuilt() {
  const folder = new URL('console/', BUILT)
  const read = (name: string): Buffer => readFileSync(new URL(name, folder))
  const names = readdirSync(folder).filter((name) => /\.(js|css)$/.test(name))
  return {
    files: JSON.parse(read('files.json').toString()) as ConsoleFiles,
    assets: new Map(
      names.map((name) => {
        const type = `text/${name.endsWith('.css') ? 'css' : 'javascript'}; charset=utf-8`
        const brotli: HeaderList = [...ASSET_HEADERS, ['Content-Encoding', 'br']]
        return [
          name,
          {
            plain: once(() => bytesReply(200, type, keptBytes(read(name)), ASSET_HEADERS)),
            brotli: once(() => bytesReply(200, type, keptBytes(read(`${name}.br`)), brotli)),
          },
        ] as const
      }),
    ),
  }
}

/** Browsers name it without a quality; where one is given, the plain file is right in any case. */
function acceptsBrotli(accepted: string): boolean {
  return accepted.split(',').some((coding) => coding.trim() === 'br')
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null
  return () => (made ??= { value: make() }).value
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
<noscript>The console needs JavaScript. Everything it does the API does as well: see <a href="/docs">/docs</a>.</noscript>
</body>
</html>
`
}
