import { readFileSync } from 'node:fs'
import { test } from 'tap'
import { SETTINGS } from '../src/config/config.js'
import { FAULT_TABLE, type SeenStreamed } from './support/models/fault-table.js'

const MODELS_PAGE = readFileSync('docs/guide/simulated-models.md', 'utf8')
const SETTINGS_PAGE = readFileSync('docs/guide/settings.md', 'utf8')
/** A newcomer reads it in five minutes; what does not fit belongs into docs. */
const README_BYTES = 12 * 1024

test('the README is short enough to be read', async (t) => {
  const { length } = readFileSync('README.md')
  t.ok(length <= README_BYTES, `${length} bytes, at most ${README_BYTES}`)
})

function told(seen: SeenStreamed): string {
  if ('chunk' in seen) {
    const { tokensBefore, chunk } = seen
    return `200, ${tokensBefore} tokens, then error ${chunk.code} \`${chunk.errorType}\``
  }
  if ('finishReason' in seen) return `200, finish reason \`${seen.finishReason}\``
  const again = seen.retryAfter === null ? '' : `, Retry-After ${seen.retryAfter}`
  return `${seen.status} \`${seen.errorType}\`${again}`
}

test('the table of fault models is what the simulated provider does', async (t) => {
  const rows = FAULT_TABLE.map(
    (row) => `| \`${row.model}\` | ${told(row.nonStreaming)} | ${told(row.streaming)} |`,
  )
  const table = /<!-- faults -->\n([\s\S]*?)<!-- \/faults -->/.exec(MODELS_PAGE)?.[1] ?? ''
  t.strictSame(table.trim().split('\n').slice(2), rows)
})

test('every setting stands in the table of settings, with its key and its meaning', async (t) => {
  for (const { env, key, about } of Object.values(SETTINGS)) {
    const row = SETTINGS_PAGE.split('\n').find((line) => line.startsWith(`| \`${env}\` | \`${key}\` |`))
    t.ok(row?.includes(about.replace(/\.$/, '')), `${env}: ${about}`)
  }
})

test('the table of settings has no row of a setting that does not exist, and keeps their order', async (t) => {
  const rows = [...SETTINGS_PAGE.matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, env]) => env)
  t.strictSame(
    rows,
    Object.values(SETTINGS).map(({ env }) => env),
  )
})
