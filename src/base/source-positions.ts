/** Stack traces that name the sources: the build has put many of them into one file. */
import { readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { BUILT } from './built-files.js'

/** By URL of a built file; null where there is no map. */
const maps = new Map<string, SourceMap | null>()

/**
 * From now on stack traces of this process name places in the sources. Node's own way reads every map at the start,
 * which takes a tenth of it; here a map is read when a trace is first asked for that leads through its file.
 */
export function traceToSources(): void {
  Error.prepareStackTrace = (error, sites) =>
    [describeError(error), ...sites.map((site) => `    at ${describeSite(site)}`)].join('\n')
}

/** As without us: what an error says of itself may fail. */
function describeError(error: Error): string {
  try {
    return Error.prototype.toString.call(error)
  } catch {
    return '<error>'
  }
}

function describeSite(site: NodeJS.CallSite): string {
  const built = site.getFileName()
  const [line, column] = [site.getLineNumber(), site.getColumnNumber()]
  if (!built?.startsWith(BUILT) || line === null || column === null) return String(site)
  const origin = mapOf(built)?.findEntry(line - 1, column - 1)
  if (origin === undefined || !('originalSource' in origin)) return String(site)
  const source = new URL(origin.originalSource, built).href
  const place = `${source}:${origin.originalLine + 1}:${origin.originalColumn + 1}`
  return String(site).replace(`${built}:${line}:${column}`, () => place)
}

function mapOf(built: string): SourceMap | null {
  let map = maps.get(built)
  if (map === undefined) {
    map = readMap(built)
    maps.set(built, map)
  }
  return map
}

function readMap(built: string): SourceMap | null {
  try {
    return new SourceMap(JSON.parse(readFileSync(new URL(`${built}.map`), 'utf8')))
  } catch {
    return null
  }
}
