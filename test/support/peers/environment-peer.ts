/**
 * A process that does to an LMDB environment what another server process may do to it: `open FOLDER` opens and closes
 * it, `reopen FOLDER` does so until it is killed, `set-back FOLDER COUNT` takes COUNT off the number of the last
 * transaction, as a process does that opens the environment while others commit.
 */
import { openSync, readSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { LmdbEnvironment } from '../../../src/store/lmdb/environment.js'

const [deed, folder = '', count = '1'] = process.argv.slice(2)

if (deed === 'open' || deed === 'reopen') {
  do {
    await new LmdbEnvironment(folder).close()
    process.stdout.write('.')
    await setImmediate()
  } while (deed === 'reopen')
}
if (deed === 'set-back') {
  const LAST_TRANSACTION = 8
  const file = openSync(join(folder, 'lock.mdb'), 'r+')
  const bytes = Buffer.alloc(8)
  readSync(file, bytes, 0, bytes.length, LAST_TRANSACTION)
  bytes.writeBigUInt64LE(bytes.readBigUInt64LE() - BigInt(count))
  writeSync(file, bytes, 0, bytes.length, LAST_TRANSACTION)
}
