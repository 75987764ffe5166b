/**
 * In which format the data folder is. A release that changes how something lies there counts `FORMAT` up and says in
 * `SERVES` which releases may still start on what it writes; one that knows neither leaves the folder alone.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describeClosedFile } from '../base/closed-file.js'
import { VERSION } from '../base/version.js'

/** Of this release. */
export const FORMAT = 1
/** The oldest format whose releases may start on a folder of this one. */
export const SERVES = 1

const NAME = 'format.json'

export const folderFormatPath = (dataDir: string): string => join(dataDir, NAME)

/** Of the name of a release. */
const MOST_CHARS = 64

/** What the release that has served last from a folder wrote there. */
export interface FolderFormat {
  readonly format: number
  readonly serves: number
  readonly release: string
}

/** Null in a folder without one: it is new, or of a build before there was any. Throws a sentence when it cannot be read. */
export function readFolderFormat(dataDir: string): FolderFormat | null {
  const path = folderFormatPath(dataDir)
  try {
    return parseFormat(readFileSync(path, 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    const closed = describeClosedFile(path, error, dataDir)
    if (closed !== null) throw new Error(`${closed.found}: ${closed.remedy}`, { cause: error })
    throw new Error(`${path} cannot be read: put it back from a backup of the whole folder`, { cause: error })
  }
}

function parseFormat(text: string): FolderFormat {
  const { format, serves, release } = Object(JSON.parse(text)) as Partial<Record<keyof FolderFormat, unknown>>
  if (!isCount(format) || !isCount(serves) || typeof release !== 'string' || release.length > MOST_CHARS) {
    throw new Error('members are missing, or of another kind')
  }
  return { format, serves, release }
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) > 0

/** Why this release must not use a folder of that format; null where it may. */
export function refusesFormat(found: FolderFormat | null): string | null {
  if (found === null || found.serves <= FORMAT) return null
  return `the data folder is in format ${found.format}, of release ${found.release}; this release (${VERSION}) knows format ${FORMAT}: run that release, or put a backup of the whole folder in its place`
}

/** Says that this release has served from the folder. A newer format is left as it is. */
export function markFormat(dataDir: string, found: FolderFormat | null): void {
  if (found !== null && (found.format > FORMAT || (found.format === FORMAT && found.release === VERSION)))
    return
  const path = folderFormatPath(dataDir)
  writeFileSync(`${path}.new`, `${JSON.stringify({ format: FORMAT, serves: SERVES, release: VERSION })}\n`, {
    mode: 0o600,
  })
  renameSync(`${path}.new`, path)
}
