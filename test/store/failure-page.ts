/** The failure table as the guide shows it, for the defaults. Run as a program it writes the table there. */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { SETTINGS } from '../../src/config/config.js'
import { FAILURE_COLUMNS, failureTable } from '../../src/store/fleet-failures.js'

const PAGE = fileURLToPath(new URL('../../../docs/guide/many-machines.md', import.meta.url))
const BLOCK = /(?<=<!-- failures:begin -->\n).*(?=<!-- failures:end -->)/s

export function failurePageTable(): string {
  const failures = failureTable({
    fleetStalenessMs: SETTINGS.fleetStalenessMs.default,
    fleetWhenStoreIsAway: SETTINGS.fleetWhenStoreIsAway.default,
  })
  const rows = failures.map((row) => [
    `**${row.failure}**`,
    ...FAILURE_COLUMNS.map(([member]) => row[member]),
  ])
  const head = ['', ...FAILURE_COLUMNS.map(([, label]) => label)]
  const lines = [head, head.map(() => '-'), ...rows].map((cells) => `| ${cells.join(' | ')} |\n`)
  return lines.join('')
}

/** What stands between the two marks of the page; null when the marks are not there. */
export function tableOfPage(): string | null {
  return BLOCK.exec(readFileSync(PAGE, 'utf8'))?.[0] ?? null
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(PAGE, readFileSync(PAGE, 'utf8').replace(BLOCK, failurePageTable()))
}
