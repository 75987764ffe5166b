/** The sources of the floors, which are frozen: a ratio means the same from one version of ours to the next. */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { PROJECT_FOLDER } from '../harness/project.js'

const PROGRAMS = [
  'bench/performance/floor-server.ts',
  'bench/performance/floor-loop.ts',
  'bench/performance/floor-loop-thread.ts',
  'bench/performance/gateway/bare-relay.ts',
]
/** Imports of files of ours that are there when the program runs. */
const IMPORTED = /^(?:import|export)\s+(?!type\b)[^'"]*from '(\.[^']+)\.js'/gm

/** SHA-256 of each source by its path, with all of ours that the programs import. */
export function hashFloorSources(): Record<string, string> {
  const hashes: Record<string, string> = {}
  const add = (path: string): void => {
    if (Object.hasOwn(hashes, path)) return
    const source = readFileSync(join(PROJECT_FOLDER, path), 'utf8')
    hashes[path] = createHash('sha256').update(source).digest('hex')
    for (const [, imported = ''] of source.matchAll(IMPORTED)) add(`${join(dirname(path), imported)}.ts`)
  }
  for (const path of PROGRAMS) add(path)
  return hashes
}

/** The hashes at which they were frozen. */
export function frozenFloorSources(): Record<string, string> {
  return JSON.parse(readFileSync(join(PROJECT_FOLDER, 'bench/floors.json'), 'utf8')) as Record<string, string>
}

/** A line of the report: whether they are what was frozen, and a hash over all. */
export function floorsLine(): string {
  const now = hashFloorSources()
  const frozen = frozenFloorSources()
  const changed = Object.keys(now).filter((path) => now[path] !== frozen[path])
  const all = createHash('sha256').update(JSON.stringify(now)).digest('hex').slice(0, 16)
  const state = changed.length === 0 ? 'as frozen in bench/floors.json' : `CHANGED: ${changed.join(', ')}`
  return `floors: ${state}; sha256 over all ${all}`
}
