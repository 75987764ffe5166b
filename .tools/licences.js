/** Whose code the product has in it, and under which licences. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Licences that let anybody ship the code, in SPDX's words. Another one has to be read by a person first. */
const KNOWN = new Set([
  'MIT',
  'ISC',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  '0BSD',
  'Zlib',
  'Unlicense',
  'CC0-1.0',
  'BlueOak-1.0.0',
])
const LICENCE_FILE = /(?:licen[cs]es?|notice|copying)(?!.*\.(?:js|map)$)/i

/**
 * @typedef {object} Shipped
 * @property {string} path as in the lock file
 * @property {string} name
 * @property {string} version
 * @property {string} licence
 * @property {'bundled' | 'installed'} how in the package itself, or by npm beside it
 */

/**
 * Folders of the packages that files are from, as the lock file names them.
 *
 * @param {readonly string[]} files
 */
export function packagesOf(files) {
  const found = files.map((file) =>
    /^.*?((?:node_modules\/(?:@[^/]+\/)?[^/]+\/)+)/.exec(file)?.[1]?.slice(0, -1),
  )
  return [...new Set(found.filter((path) => path !== undefined))].sort()
}

/**
 * The licences of what is bundled, whole, as they ask for.
 *
 * @param {string} root
 * @param {readonly string[]} paths of packages
 */
export function licenceTexts(root, paths) {
  const parts = paths.map((path) => {
    const { name, version, license } = JSON.parse(readFileSync(join(root, path, 'package.json'), 'utf8'))
    const files = readdirSync(join(root, path), { withFileTypes: true })
      .filter((entry) => entry.isFile() && LICENCE_FILE.test(entry.name))
      .map((entry) => entry.name)
      .sort()
    const texts = files.map((file) =>
      readFileSync(join(root, path, file), 'utf8')
        .replaceAll('\r\n', '\n')
        .trim(),
    )
    return `${name} ${version} (${license})\n\n${texts.join('\n\n')}`
  })
  return `Sluice has code of these packages in it.\n\n${parts.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`
}

/**
 * What comes with the product: bundled into it, or installed beside it.
 *
 * @param {string} root with a lock file
 * @param {readonly string[]} bundled paths of packages
 * @returns {Shipped[]}
 */
export function shippedPackages(root, bundled) {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  const isBundled = new Set(bundled)
  return Object.keys(packages)
    .filter((path) => path !== '' && (isBundled.has(path) || packages[path].dev !== true))
    .map((path) => ({
      path,
      name: packages[path].name ?? path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
      version: packages[path].version,
      licence: packages[path].license ?? 'not told',
      how: isBundled.has(path) ? 'bundled' : 'installed',
    }))
}

/**
 * Whether all parts of an SPDX expression are known; one of those that `OR` joins is enough.
 *
 * @param {string} expression
 */
export function isKnownLicence(expression) {
  const known = (/** @type {string} */ part) =>
    part.split(/\s+AND\s+/).every((each) => KNOWN.has(each.trim()))
  return expression
    .replace(/[()]/g, '')
    .split(/\s+OR\s+/)
    .some(known)
}
