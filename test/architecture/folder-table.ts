/** The import rules as the table that docs/architecture.md shows. Run as a program it writes the table there. */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type Allowance, FOLDERS } from './rules.js'

const PAGE = fileURLToPath(new URL('../../../docs/architecture.md', import.meta.url))
const BLOCK = /(?<=<!-- folders:begin -->\n).*(?=<!-- folders:end -->)/s

/** A row per place of the import rules, in their order. */
export function folderTable(): string {
  const rows = FOLDERS.map(({ place, says, may }) => `| \`${place}\` | ${says} | ${allowances(may)} |`)
  return ['| Folder | What stands there | May import |', '| - | - | - |', ...rows, ''].join('\n')
}

function allowances(may: readonly Allowance[]): string {
  if (may.length === 0) return 'nothing of ours'
  if (may.some(({ to }) => to === 'src/')) return 'everything'
  return may.map(named).join(', ')
}

function named({ to, typesOnly }: Allowance): string {
  const name = `\`${to.replace(/^src\//, '').replace(/\/$/, '')}\``
  return typesOnly === true ? `types of ${name}` : name
}

/** What stands between the two marks of the page; null when the marks are not there. */
export function tableOfPage(): string | null {
  return BLOCK.exec(readFileSync(PAGE, 'utf8'))?.[0] ?? null
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  writeFileSync(PAGE, readFileSync(PAGE, 'utf8').replace(BLOCK, folderTable()))
}
