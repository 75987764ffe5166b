/** Files of the build: written only where their bytes differ, and by renaming, so nobody ever reads half of one. */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * Makes a folder hold these files, by their paths within, and no others.
 *
 * @param {string} folder
 * @param {ReadonlyMap<string, Uint8Array>} files
 */
export function writeFolder(folder, files) {
  for (const [path, contents] of files) writeChanged(join(folder, path), contents)
  for (const path of filesUnder(folder)) {
    const isFile = !files.has(path.slice(folder.length + 1)) && !statSync(path).isDirectory()
    if (isFile) rmSync(path, { force: true })
  }
}

/**
 * Whether it was another one.
 *
 * @param {string} path
 * @param {Uint8Array} contents
 */
export function writeChanged(path, contents) {
  if (contentsOf(path)?.equals(contents)) return false
  mkdirSync(dirname(path), { recursive: true })
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, contents)
  renameSync(draft, path)
  return true
}

/** @param {string} path */
export function contentsOf(path) {
  try {
    return readFileSync(path)
  } catch {
    return undefined
  }
}

/**
 * Absolute paths of everything in a folder and the folders in it; nothing where there is no such folder.
 *
 * @param {string} folder
 * @returns {string[]}
 */
export function filesUnder(folder) {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name))
  } catch {
    return []
  }
}
