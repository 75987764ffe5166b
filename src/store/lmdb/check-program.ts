/**
 * Reads a database from its first page to its last, in a process of its own: damaged pages end the process that reads
 * them, by a signal, and no line of code can prevent it.
 *
 *     node check-program.js <folder> <milliseconds>
 */
import { open } from 'lmdb'
import { makeLockFileForOwner } from './database-files.js'

const [folder = '', budget = '0'] = process.argv.slice(2)
makeLockFileForOwner(folder)
const until = performance.now() + Number(budget)
const root = open<Buffer, string>({
  path: folder,
  encoding: 'binary',
  noSubdir: false,
  maxDbs: 32,
  readOnly: true,
})

/** The tables of items have numbers for keys (`item-layout.ts`), all others bytes. */
function isReadToItsEnd(name: string): boolean {
  const keyEncoding = name.startsWith('item-') ? 'uint32' : 'binary'
  const table = root.openDB<Buffer, number>({ name, encoding: 'binary', keyEncoding })
  for (const _row of table.getRange({})) if (performance.now() > until) return false
  return true
}

const isComplete = [...root.getKeys()].every(isReadToItsEnd)
process.stdout.write(isComplete ? 'complete' : 'partial', () => process.exit(0))
