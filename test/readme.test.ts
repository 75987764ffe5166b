import { readFileSync } from 'node:fs'
import { test } from 'tap'
import { SETTINGS } from '../src/config/config.js'
import { FAULT_TABLE, type SeenStreamed } from '../src/simulator/fault-table.js'

const README = readFileSync('README.md', 'utf8')

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
  const table = /<!-- faults -->\n([\s\S]*?)<!-- \/faults -->/.exec(README)?.[1] ?? ''
  t.strictSame(table.trim().split('\n').slice(2), rows)
})

test('every setting stands in the table of settings, with its key and its meaning', async (t) => {
  for (const { env, key, about } of Object.values(SETTINGS)) {
    const row = README.split('\n').find((line) => line.startsWith(`| \`${env}\` | \`${key}\` |`))
    t.ok(row?.includes(about.replace(/\.$/, '')), `${env}: ${about}`)
  }
})
