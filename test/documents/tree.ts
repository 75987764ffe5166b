/** Files of the project as texts. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Texts } from './citations.js'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const TEXT = /\.(?:ts|js|mjs|md|html|css|txt|yaml|yml|json|cfg|conf|sh)$/
const NOT_OURS = /(?:^|\/)node_modules\//

/** Texts below folders of the project, by path. */
export function textsBelow(folders: readonly string[], wanted: RegExp = TEXT): Texts {
  const texts: Record<string, string> = {}
  for (const folder of folders.filter((each) => existsSync(ROOT + each))) {
    for (const entry of readdirSync(ROOT + folder, { recursive: true, encoding: 'utf8' }).sort()) {
      const path = `${folder}/${entry}`
      if (wanted.test(path) && !NOT_OURS.test(path) && statSync(ROOT + path).isFile()) {
        texts[path] = readFileSync(ROOT + path, 'utf8')
      }
    }
  }
  return texts
}

/** The texts of single files, by path; those that are not there are left out. */
export function textsOf(paths: readonly string[]): Texts {
  const there = paths.filter((path) => existsSync(ROOT + path))
  return Object.fromEntries(there.map((path) => [path, readFileSync(ROOT + path, 'utf8')]))
}

/** Whether a file or a folder of the project is there. */
export function isThere(path: string): boolean {
  return existsSync(ROOT + path)
}
