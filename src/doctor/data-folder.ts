/** The data folder: where it lies, whether it may be used, how fast its disk is, whether its databases are sound. */
import { randomBytes } from 'node:crypto'
import { existsSync, statfsSync, statSync } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { createLog } from '../base/log.js'
import type { Config } from '../config/config.js'
import { ledgerPaths } from '../ledger/journal/segment-format.js'
import { type FileSystemKind, fileSystemOf } from '../process/file-system.js'
import { folderFormatPath, readFolderFormat, refusesFormat } from '../process/folder-format.js'
import { checkStore, UnusableDatabase } from '../process/store-check.js'
import { type Finding, fail, failWithSentence, ok, warn } from './finding.js'

type FolderSettings = Pick<Config, 'dataDir' | 'diskReserveBytes'>

const SYNCS = 16
const SYNC_BUDGET_MS = 2_000
const BLOCK_BYTES = 4_096
const SLOW_SYNC_MS = 20
const GIB = 2 ** 30

/** The folder, or the nearest above it that exists: a look makes none. */
export function nearestFolder(dataDir: string): string {
  const path = resolve(dataDir)
  return existsSync(path) || dirname(path) === path ? path : nearestFolder(dirname(path))
}

export function examineFileSystem({ dataDir }: FolderSettings, kindOf = fileSystemOf): Finding {
  const { name, trait } = kindOf(nearestFolder(dataDir))
  const found = `${resolve(dataDir)} lies on ${name}`
  const remedy = REMEDIES[trait]
  if (remedy === null) return ok('data folder', found)
  return (trait === 'network' ? fail : warn)('data folder', found, remedy)
}

const REMEDIES: Readonly<Record<FileSystemKind['trait'], string | null>> = {
  local: null,
  network: 'put it on a local disk: databases are damaged where machines or mounts share their pages',
  memory: 'put it on a disk: all of it is gone with the machine',
  layer: 'mount a volume there: all of it is gone with the container',
  unknown: 'make sure that it is a local disk and no network behind that program',
}

/** Room beside what the server keeps free. */
export function examineRoom(
  { dataDir, diskReserveBytes }: FolderSettings,
  read: (path: string) => { readonly bavail: number; readonly bsize: number } = statfsSync,
): Finding {
  const { bavail, bsize } = read(nearestFolder(dataDir))
  const free = bavail * bsize
  const found = `${(free / GIB).toFixed(1)} GiB free`
  if (free > diskReserveBytes + GIB) return ok('disk room', found)
  const state = free > diskReserveBytes ? 'soon' : 'now'
  const verdict = free > diskReserveBytes ? warn : fail
  return verdict(
    'disk room',
    found,
    `make room: uploads and new items are refused ${state} (SLUICE_DISK_RESERVE_BYTES)`,
  )
}

/** How long the disk takes to have a block, by a file of its own that is removed. */
export async function examineSync({ dataDir }: FolderSettings): Promise<Finding> {
  const folder = nearestFolder(dataDir)
  const path = join(folder, `.sluice-doctor-${process.pid}-${randomBytes(4).toString('hex')}`)
  const times: number[] = []
  try {
    const file = await open(path, 'wx', 0o600)
    try {
      const begin = performance.now()
      for (let at = 0; at < SYNCS && performance.now() - begin < SYNC_BUDGET_MS; at++) {
        const before = performance.now()
        await file.write(randomBytes(BLOCK_BYTES), 0, BLOCK_BYTES, at * BLOCK_BYTES)
        await file.datasync()
        times.push(performance.now() - before)
      }
    } finally {
      await file.close()
      await rm(path, { force: true })
    }
  } catch (error) {
    const remedy = 'let the user of the server write there, or name another folder (SLUICE_DATA_DIR)'
    return fail('disk sync', (error as Error).message, remedy)
  }
  return judgeSync(times)
}

/** @param times milliseconds, at least one */
export function judgeSync(times: readonly number[]): Finding {
  const sorted = times.toSorted((a, b) => a - b)
  const middle = sorted[Math.floor(sorted.length / 2)]!
  const found = `${middle.toFixed(1)} ms for a block (longest of ${sorted.length}: ${sorted.at(-1)!.toFixed(1)})`
  if (middle < SLOW_SYNC_MS) return ok('disk sync', found)
  return warn(
    'disk sync',
    found,
    'take a faster disk: every write of the practice API and every row waits for it',
  )
}

/** What is wrong with the mark of its format; nothing where nothing is. */
export function examineFormatMark({ dataDir }: Pick<Config, 'dataDir'>): readonly Finding[] {
  try {
    const refusal = refusesFormat(readFolderFormat(dataDir))
    return refusal === null ? [] : [failWithSentence('data folder', refusal)]
  } catch (error) {
    return [failWithSentence('data folder', (error as Error).message)]
  }
}

/** Reads both databases, as a start does, and looks whether the user of a server may have them. */
export async function examineStore({ dataDir }: FolderSettings): Promise<Finding> {
  try {
    await checkStore(dataDir, false, createLog('silent', 'command'))
  } catch (error) {
    if (!(error instanceof UnusableDatabase)) throw error
    return fail('databases', error.found, error.remedy)
  }
  if (!existsSync(join(dataDir, 'data.mdb'))) return ok('databases', 'none yet: the first start makes them')
  return findFileOfRoot(dataDir) ?? ok('databases', 'what was read of them is sound')
}

/** Root may read all, and so would not notice what keeps the user of the server out. */
function findFileOfRoot(dataDir: string): Finding | null {
  const folder = resolve(dataDir)
  const { uid } = statSync(folder)
  if (uid === 0 || process.geteuid?.() !== 0) return null
  const databases = [folder, ledgerPaths(folder).database].flatMap((each) => [
    join(each, 'data.mdb'),
    join(each, 'lock.mdb'),
  ])
  const paths = [...databases, folderFormatPath(folder)]
  const path = paths.find((each) => statSync(each, { throwIfNoEntry: false })?.uid === 0)
  if (path === undefined) return null
  const found = `${path} belongs to root, and the folder to uid ${uid}`
  return warn('databases', found, `chown -R ${uid} ${folder}, unless the server runs as root`)
}
