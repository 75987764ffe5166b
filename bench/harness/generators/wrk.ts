/** wrk 4 and wrk2, which shares its name and banner: how to tell them apart, and one report of both. */

/** Percentiles in the report. */
const PERCENTILES = ['50', '75', '90', '95', '99', '99.9', '99.99']

/**
 * The end of every Lua program: one line of JSON on standard error, because standard output belongs to wrk's own text.
 * `next` is the value of the global `next_id` of its only thread, 1 for a program without one.
 */
export const WRK_REPORT_SCRIPT = `
local worker
setup = function(thread) worker = thread end
done = function(summary, latency)
  local e = summary.errors
  local parts = {}
  for _, p in ipairs({${PERCENTILES.join(', ')}}) do
    parts[#parts + 1] = string.format('"p%s":%.3f', tostring(p), latency:percentile(p))
  end
  io.stderr:write(string.format(
    '{"requests":%d,"duration":%.0f,"bytes":%d,"connect":%d,"read":%d,"write":%d,"status":%d,"timeout":%d,' ..
    '"mean":%.3f,"max":%.3f,"percentiles":{%s},"next":%d}\\n',
    summary.requests, summary.duration, summary.bytes, e.connect, e.read, e.write, e.status, e.timeout,
    latency.mean, latency.max, table.concat(parts, ','), worker:get('next_id') or 1))
end
`

/** Times in microseconds. */
export interface WrkReport {
  readonly requests: number
  readonly duration: number
  readonly bytes: number
  readonly connect: number
  readonly read: number
  readonly write: number
  /** Answers of 400 and above. */
  readonly status: number
  readonly timeout: number
  readonly mean: number
  readonly max: number
  readonly percentiles: Readonly<Record<string, number>>
  readonly next: number
}

/** Which of the two printed `text`, with its version line; null for another program. wrk2 says `--rate` in its usage. */
export function recogniseWrk(
  text: string,
): { readonly name: 'wrk' | 'wrk2'; readonly version: string } | null {
  const version = /^wrk2? \S+ \[\w+\]/m.exec(text)?.[0]
  return version === undefined ? null : { name: text.includes('--rate') ? 'wrk2' : 'wrk', version }
}
