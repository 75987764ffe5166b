/** What the first start of this release would do to a data folder and a database, without doing it. */
import { existsSync, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Fault } from '../base/fault.js'
import { VERSION } from '../base/version.js'
import { withFleet } from '../compose/fleet-commands.js'
import { type Config, InvalidConfigError } from '../config/config.js'
import {
  FORMAT,
  type FolderFormat,
  readFolderFormat,
  refusesFormat,
  SERVES,
} from '../process/folder-format.js'
import { examineFormatMark, examineStore, nearestFolder } from './data-folder.js'
import { type Finding, fail, failWithSentence, look, ok, warn } from './finding.js'

const LONG_MS = 30_000
const MIB = 2 ** 20

type UpgradeSettings = Pick<Config, 'dataDir' | 'databaseUrl' | 'diskReserveBytes'>

export async function examineUpgrade(config: UpgradeSettings): Promise<readonly Finding[]> {
  const remedy = 'name the folder and the database of the older release, by its settings'
  const found = [
    await look({ check: 'data folder', deadlineMs: LONG_MS, remedy }, () => examineFormat(config)),
    await look({ check: 'databases', deadlineMs: LONG_MS, remedy }, () => examineStore(config)),
    await look({ check: 'disk room', deadlineMs: LONG_MS, remedy }, () => examineBackupRoom(config.dataDir)),
    await look({ check: 'database', deadlineMs: LONG_MS, remedy }, () => examineMigrations(config)),
  ]
  return found.flat()
}

function examineFormat({ dataDir }: UpgradeSettings): readonly Finding[] {
  const faults = examineFormatMark({ dataDir })
  if (faults.length > 0) return faults
  if (!existsSync(join(dataDir, 'data.mdb')))
    return [ok('data folder', `${dataDir} has no store: there is nothing to do`)]
  return judgeFormat(readFolderFormat(dataDir))
}

/** @param found null in a folder of a build that told none */
export function judgeFormat(found: FolderFormat | null): readonly Finding[] {
  const refusal = refusesFormat(found)
  if (refusal !== null) return [failWithSentence('data folder', refusal)]
  if (found === null) {
    return [
      ok('data folder', `of a build that told no format; ${VERSION} marks it as format ${FORMAT}`),
      ok('way back', 'that build can start again: it does not look at the mark'),
    ]
  }
  if (found.format >= FORMAT) {
    return [
      ok('data folder', `format ${found.format}, of release ${found.release}, stays as it is`),
      ok('way back', `release ${found.release} can start again`),
    ]
  }
  const step = ok('data folder', `format ${found.format}, of release ${found.release}, becomes ${FORMAT}`)
  if (SERVES <= found.format) return [step, ok('way back', `release ${found.release} can start again`)]
  const remedy = 'stop the server and back up the whole folder first'
  return [step, warn('way back', `release ${found.release} cannot start on format ${FORMAT}`, remedy)]
}

/** Room for a copy of the databases: the way back that always works. */
function examineBackupRoom(dataDir: string): Finding {
  const sizes = ['data.mdb', join('ledger', 'data.mdb')].map(
    (name) => statSync(join(dataDir, name), { throwIfNoEntry: false })?.size ?? 0,
  )
  const wanted = sizes.reduce((sum, size) => sum + size, 0)
  const { bavail, bsize } = statfsSync(nearestFolder(dataDir))
  const found = `${Math.floor((bavail * bsize) / MIB)} MiB free; the databases take ${Math.ceil(wanted / MIB)} MiB, files/ not counted`
  if (bavail * bsize > wanted) return ok('disk room', found)
  return warn('disk room', found, 'put the backup on another disk')
}

async function examineMigrations(config: UpgradeSettings): Promise<readonly Finding[]> {
  if (config.databaseUrl === '') return []
  try {
    const { applied, pending, hasWayBack } = await withFleet(config, ({ schema }) => schema.read())
    if (pending.length === 0) return [ok('database', `its schema (${applied.at(-1)}) stays as it is`)]
    const step = ok('database', `the first start adds ${pending.join(', ')}`)
    if (applied.length === 0) return [step]
    if (hasWayBack) return [step, ok('way back', 'machines of the release before go on, and may start again')]
    const loss = 'machines of the release before go on, but cannot start again after it'
    return [step, warn('way back', loss, 'back up the database first')]
  } catch (error) {
    if (error instanceof InvalidConfigError) {
      return [fail('database', error.faults[0]!.problem, 'this release must not be used with it')]
    }
    if (!(error instanceof Fault)) throw error
    return [
      fail(
        'database',
        error.detail ?? error.kind,
        'see that PostgreSQL runs, and that SLUICE_DATABASE_URL leads there',
      ),
    ]
  }
}
