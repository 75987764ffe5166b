/** What the pages of the server have in common: one file without a script, and nothing from elsewhere. */
import { createHash } from 'node:crypto'
import type { HeaderList, Reply } from '../transport/exchange.js'
import { bytesReply } from './reply.js'

const STYLE = `
:root { color-scheme: light dark; --text: #1c2430; --soft: #55606e; --back: #fbfbf9; --box: #f0f0eb; --link: #0b5cad }
@media (prefers-color-scheme: dark) {
  :root { --text: #e4e7ea; --soft: #9aa5b1; --back: #14181d; --box: #1f252c; --link: #7fb8f0 }
}
* { box-sizing: border-box }
body { margin: 0 auto; padding: 2.5rem 1.2rem 4rem; max-width: 46rem; background: var(--back); color: var(--text);
  font: 16px/1.55 system-ui, sans-serif }
h1 { margin: 0; font-size: 1.7rem }
h2 { margin: 2.2rem 0 .5rem; font-size: 1.05rem }
p { margin: .5rem 0 }
.soft { color: var(--soft) }
a { color: var(--link) }
code { font: .88em/1.5 ui-monospace, monospace; overflow-wrap: anywhere }
pre { margin: .6rem 0; padding: .8rem 1rem; border-radius: 6px; background: var(--box); white-space: pre-wrap;
  overflow-wrap: anywhere; font: .84rem/1.5 ui-monospace, monospace }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .35rem 1.2rem; margin: .6rem 0 }
dt { font-weight: 600 }
dd { margin: 0; overflow-wrap: anywhere }
@media (max-width: 30rem) {
  dl { grid-template-columns: 1fr; gap: 0 }
  dd { margin-bottom: .6rem }
}
`

/** Nothing is loaded, and the one style that counts is the page's own. */
const PAGE_POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  'img-src data:',
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ')

export function pageReply(status: number, markup: string, headers: HeaderList): Reply {
  return bytesReply(status, 'text/html; charset=utf-8', markup, [
    ['Content-Security-Policy', PAGE_POLICY],
    ['X-Content-Type-Options', 'nosniff'],
    ...headers,
  ])
}

/**
 * `body` is markup.
 * @param next a path to which the page goes on at once; `''` when it stays
 */
export function pageMarkup(title: string, body: string, next = ''): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeMarkup(title)}</title>
<link rel="icon" href="data:,">
${next === '' ? '' : `<meta http-equiv="refresh" content="0; url=${escapeMarkup(next)}">\n`}<style>${STYLE}</style>
</head>
<body>
${body}</body>
</html>
`
}

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

export function escapeMarkup(text: string): string {
  return text.replace(/[&<>"]/g, (character) => ENTITIES[character]!)
}

/** A text in the words of a shell, whatever it holds. */
export function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
