/** The live page of the lab: files for the control listener. Nothing is fetched from outside. */
import { readFileSync } from 'node:fs'
import { BUILT } from '../../base/built-files.js'
import { CHARTS } from './charts-script.js'
import { LIVE } from './live-script.js'
import { MARKUP } from './markup.js'
import { STYLE } from './style.js'

interface PageAsset {
  /** Media type, with its charset. */
  readonly type: string
  readonly body: Uint8Array | string
}

const HTML = 'text/html; charset=utf-8'
const SCRIPT = 'text/javascript; charset=utf-8'
const CSS = 'text/css; charset=utf-8'

const ASSETS: Readonly<Record<string, (target: string) => PageAsset>> = {
  '': (target) => ({ type: HTML, body: MARKUP.replace('{target}', () => target) }),
  'live.css': () => ({ type: CSS, body: readTokens() + STYLE }),
  'charts.js': () => ({ type: SCRIPT, body: CHARTS }),
  'live.js': () => ({ type: SCRIPT, body: LIVE }),
  'echarts.js': () => ({ type: SCRIPT, body: readPlottingLibrary() }),
}

/**
 * The file at `/lab/{path}`; the page itself is at the empty path, and names the server's URL, `target`. Null for a path
 * that is none of the page's.
 */
export function findPageAsset(path: string, target: string): PageAsset | null {
  return Object.hasOwn(ASSETS, path) ? ASSETS[path]!(target) : null
}

let tokens: string | null = null

/** Colours and type of the product, as the console has them. */
function readTokens(): string {
  tokens ??= readFileSync(new URL('pages/tokens.css', BUILT), 'utf8')
  return tokens
}

let library: Uint8Array | null = null

/** Read at the first call and kept. */
function readPlottingLibrary(): Uint8Array {
  library ??= readFileSync(new URL('pages/echarts.js', BUILT))
  return library
}

/**
 * The page's Content-Security-Policy: its own origin only, and in no frame of another page. Labels of runs come from
 * callers, and a page elsewhere could otherwise show this one under its own.
 */
export const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')
