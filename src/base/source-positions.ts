/** Stack traces that name the sources: the build has put many of them into one file. */
import { readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { BUILT } from './built-files.js'

/** By URL of a built file: of those only that have one, because a trace begins with a message that others may have written. */
const maps = new Map<string, SourceMap>()

/**
 * The same trace with places in the sources. Not for every error: Node and libraries read traces that nobody sees, and
 * the first one that is mapped reads the maps of its files, which can take a tenth of a second.
 */
export function traceToSources(trace: string): string {
  return trace.replace(
    /(file:\/\/[^\s()]+\.js):(\d+):(\d+)/g,
    (place: string, built: string, line, column) => {
      if (!built.startsWith(BUILT)) return place
      const origin = mapOf(built)?.findEntry(Number(line) - 1, Number(column) - 1)
      if (origin === undefined || !('originalSource' in origin)) return place
      const source = new URL(origin.originalSource, built).href
      return `${source}:${origin.originalLine + 1}:${origin.originalColumn + 1}`
    },
  )
}

function mapOf(built: string): SourceMap | null {
  const known = maps.get(built)
  if (known !== undefined) return known
  try {
    const map = new SourceMap(JSON.parse(readFileSync(new URL(`${built}.map`), 'utf8')))
    maps.set(built, map)
    return map
  } catch {
    return null
  }
}
