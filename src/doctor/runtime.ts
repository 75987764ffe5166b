/** Node, the C library, and the native code that belongs to them. */
import { mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { systemClock } from '../base/clock.js'
import { withStore } from '../compose/command-store.js'
import type { Config } from '../config/config.js'
import { glibcVersion, loadNativeServer, NativeServerUnavailable } from '../transport/native-server.js'
import { type Finding, fail, ok, warn } from './finding.js'

/** The newer build of the native server, and with it Node 24, wants it. */
const GLIBC_OF_24 = [2, 38] as const

/** @param glibc version of the C library; null for another one, such as musl */
export function examineNode(version: string, glibc: string | null): Finding {
  const major = Number.parseInt(version, 10)
  const runs24 = hasGlibcOf24(glibc)
  const found = `${version}, ${glibc === null ? 'no glibc' : `glibc ${glibc}`}`
  const recommended = runs24 ? 24 : 22
  if (glibc === null)
    return fail('node', found, 'run on a system with glibc: Alpine and others with musl have no binary')
  if (major < 22) return warn('node', found, `run Node ${recommended}: this one gets no fixes any more`)
  if (major >= 24 && !runs24) return fail('node', found, 'run Node 22, or a system with glibc 2.38 or later')
  if (major === 22 && runs24) return ok('node', `${found} (Node 24 runs here as well)`)
  if (major === 22 || major === 24) return ok('node', found)
  return warn('node', found, `run Node ${recommended}: this one is not tested`)
}

function hasGlibcOf24(glibc: string | null): boolean {
  const [major = 0, minor = 0] = (glibc ?? '').split('.').map(Number)
  return major > GLIBC_OF_24[0] || (major === GLIBC_OF_24[0] && minor >= GLIBC_OF_24[1])
}

export const examineThisNode = (): Finding => examineNode(process.versions.node, glibcVersion())

export async function examineNativeServer({ native }: Pick<Config, 'native'>): Promise<Finding> {
  try {
    const { build } = await loadNativeServer(native)
    return ok('native server', `${build.version} loads`)
  } catch (error) {
    if (!(error instanceof NativeServerUnavailable)) throw error
    const at = error.message.lastIndexOf(': ')
    return fail('native server', error.message.slice(0, at), error.message.slice(at + 2))
  }
}

/**
 * Makes a store in a folder of its own, which is removed, and reads it.
 * @param places folders to make it in, tried in their order: an image on a read-only root may write to its volume alone
 */
export async function examineNativeStore(places: readonly string[]): Promise<Finding> {
  const dataDir = makeFolderIn(places)
  if (dataDir === null) {
    const found = `not tried: nothing can be written to ${[...new Set(places)].join(' or ')}`
    return warn('native store', found, 'let this user write to one of them, with a volume or --tmpfs /tmp')
  }
  try {
    const settings = { dataDir, databaseUrl: '', fleetStalenessMs: 0 }
    await withStore(settings, systemClock, ({ accounts }) => accounts.organizations())
    return ok('native store', 'lmdb loads, writes and reads')
  } finally {
    rmSync(dataDir, { recursive: true, force: true })
  }
}

/** Null where none of them takes one. */
function makeFolderIn(places: readonly string[]): string | null {
  for (const place of places) {
    try {
      return mkdtempSync(join(place, '.sluice-doctor-'))
    } catch {
      // The next one may.
    }
  }
  return null
}
