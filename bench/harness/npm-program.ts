/** Programs of the npm registry that run beside ours: installed only when somebody asks; the product never needs them. */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { PROJECT_FOLDER } from './project.js'

export interface NpmProgram {
  readonly name: string
  readonly version: string
  /** Its file within the package. */
  readonly program: string
  /** Versions of what it needs, where those that its own ranges allow break it. */
  readonly overrides?: Readonly<Record<string, string>>
}

const folderOf = ({ name, version }: NpmProgram): string =>
  join(
    PROJECT_FOLDER,
    'node_modules',
    '.cache',
    'sluice-bench',
    `${name.replaceAll(/[^a-z]+/g, '-')}-${version}`,
  )

/** Where the program is or will be. */
export const npmProgramPath = (wanted: NpmProgram): string =>
  join(folderOf(wanted), 'node_modules', wanted.name, wanted.program)

/**
 * The path of the program, installed without its install scripts into the project's cache of downloads unless it is
 * there. Throws with npm's last words when that fails.
 */
export function installNpmProgram(wanted: NpmProgram): string {
  const { name, version, overrides = {} } = wanted
  const program = npmProgramPath(wanted)
  if (existsSync(program)) return program
  const folder = folderOf(wanted)
  mkdirSync(folder, { recursive: true })
  const manifest = { private: true, dependencies: { [name]: version }, overrides }
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest))
  process.stderr.write(`${name} ${version} is installed, once, into node_modules/.cache\n`)
  const npm = spawnSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: folder,
    encoding: 'utf8',
  })
  if (npm.status !== 0 || !existsSync(program)) {
    throw new Error(`${name} ${version} could not be installed: ${(npm.stderr ?? '').slice(-500)}`)
  }
  return program
}
