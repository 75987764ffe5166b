import { join } from 'node:path'

/** Where the ledger and the journals lie in the folder of the store. */
export function ledgerPaths(dataDir: string): { readonly database: string; readonly journals: string } {
  const database = join(dataDir, 'ledger')
  return { database, journals: join(database, 'journals') }
}
