/** The folder of the store, made ready before anything opens what lies in it. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Log } from '../base/log.js'
import { fileSystemOf } from './file-system.js'
import { type FolderFormat, markFormat, readFolderFormat, refusesFormat } from './folder-format.js'
import { lockFolder } from './folder-lock.js'
import { checkStore, dropDamagedReplica } from './store-check.js'
import { restrictStoreAccess } from './store-privacy.js'

/**
 * Takes the folder for this process, closes it to other users, and reads its databases. Resolves with whether an earlier
 * start has made a store there. Rejects with a sentence when another server has the folder, or it is damaged.
 */
export async function takeDataFolder(dataDir: string, log: Log): Promise<{ readonly hadStore: boolean }> {
  // Also when a start fails half-way.
  const lock = lockFolder(dataDir)
  process.once('exit', lock.release)
  const format = readFolderFormat(dataDir)
  const refusal = refusesFormat(format)
  if (refusal !== null) throw new Error(refusal)
  const { closed, open } = restrictStoreAccess(dataDir)
  if (closed > 0) log.warn({ closed }, 'took the store from the reach of other users of this machine')
  if (open.length > 0) log.warn({ open }, 'other users of this machine may reach the store')
  const { name, trait } = fileSystemOf(dataDir)
  if (trait === 'network')
    log.warn({ fileSystem: name }, 'the data folder lies on a network: its databases may be damaged')
  const hadStore = existsSync(join(dataDir, 'data.mdb'))
  await checkStore(dataDir, lock.wasKilled, log)
  await dropDamagedReplica(dataDir, log)
  markOrTell(dataDir, format, log)
  return { hadStore }
}

/** A disk without room is no reason not to serve what is there. */
function markOrTell(dataDir: string, found: FolderFormat | null, log: Log): void {
  try {
    markFormat(dataDir, found)
  } catch (err) {
    log.warn({ err }, 'the format of the data folder could not be written down')
  }
}
