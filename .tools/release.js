/**
 * Makes a release in a folder: the package, what is in it (CycloneDX), the licences, the changes, and checksums of all.
 *
 *     node .tools/release.js FOLDER [--draft] [--installed]
 *
 * The package is built twice, in two folders, from what git has of this tree and from packages that are installed by the
 * lock file; when the two differ by a byte there is no release. `--draft` takes a tree that is not committed and the
 * unreleased changes, `--installed` the packages of this clone.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { argv, env, execPath } from 'node:process'
import { fileURLToPath } from 'node:url'
import { isKnownLicence, shippedPackages } from './licences.js'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** @typedef {{ readonly draft: boolean, readonly installed: boolean }} Choice */

/**
 * @param {string} folder made when it is absent
 * @param {Choice} choice
 */
function makeRelease(folder, choice) {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  if (!choice.draft && run('git', ['status', '--porcelain']) !== '')
    throw new Error('there are changes that are not committed')
  const changes = changesOf(
    readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'),
    choice.draft ? 'Unreleased' : version,
  )
  mkdirSync(folder, { recursive: true })
  const { archive, bundled } = packTwice(folder, choice)
  const shipped = shippedPackages(ROOT, bundled)
  const unknown = shipped.filter(({ licence }) => !isKnownLicence(licence))
  if (unknown.length > 0)
    throw new Error(`a person has to read the licence of ${unknown.map(({ name }) => name).join(', ')}`)
  const texts = {
    'sluice.cdx.json': asJson(billOfMaterials(shipped, sha256(archive))),
    'licences.json': asJson(shipped.map(({ path: _, ...told }) => told)),
    'CHANGES.md': changes,
  }
  for (const [name, text] of Object.entries(texts)) writeFileSync(join(folder, name), text)
  const files = [archive, ...Object.keys(texts).map((name) => join(folder, name))]
  // As sha256sum --check reads it.
  const sums = files.map((file) => `${sha256(file)}  ${file.slice(dirname(file).length + 1)}\n`)
  writeFileSync(join(folder, 'SHA256SUMS'), sums.join(''))
  return sums.join('')
}

/**
 * @param {string} folder
 * @param {Choice} choice
 */
function packTwice(folder, { installed }) {
  // Beside the packages of this clone: links cannot lead to another file system.
  mkdirSync(join(ROOT, '.tap'), { recursive: true })
  const scratch = mkdtempSync(join(ROOT, '.tap', 'release-'))
  try {
    const [one, other] = [join(scratch, 'one'), join(scratch, 'another', 'place')]
    copyTree(one)
    copyTree(other)
    if (installed) linkBundled(one)
    else run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], one)
    const first = buildAndPack(one)
    renameSync(join(one, 'node_modules'), join(other, 'node_modules'))
    const second = buildAndPack(other)
    if (sha256(first) !== sha256(second)) throw new Error('two builds of the same files differ')
    const archive = join(resolve(folder), first.slice(dirname(first).length + 1))
    copyFileSync(first, archive)
    return { archive, bundled: JSON.parse(readFileSync(join(one, 'dist', 'bundled.json'), 'utf8')) }
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

/**
 * Gives a copy what the build of this clone has read, and the bundler.
 *
 * @param {string} folder
 */
function linkBundled(folder) {
  const bundled = JSON.parse(readFileSync(join(ROOT, 'dist', 'bundled.json'), 'utf8'))
  for (const path of [...bundled, 'node_modules/esbuild', 'node_modules/@esbuild']) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    run('cp', ['-al', join(ROOT, path), join(folder, path)])
  }
}

/**
 * The files that git knows of, as they are.
 *
 * @param {string} folder
 */
function copyTree(folder) {
  for (const name of run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard']).split(
    '\0',
  )) {
    if (name === '' || !existsSync(join(ROOT, name))) continue
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    copyFileSync(join(ROOT, name), join(folder, name))
  }
}

/** @param {string} folder */
function buildAndPack(folder) {
  run(execPath, ['.tools/build.js'], folder)
  const told = JSON.parse(run('npm', ['pack', '--ignore-scripts', '--offline', '--json'], folder))
  return join(folder, told[0].filename)
}

/**
 * What `npm sbom` says of the lock file, without what only development needs, and the same whenever it is made.
 *
 * @param {readonly import('./licences.js').Shipped[]} shipped
 * @param {string} hash of the package
 */
function billOfMaterials(shipped, hash) {
  const told = JSON.parse(run('npm', ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx']))
  const how = new Map(shipped.map(({ name, version, how: way }) => [`${name}@${version}`, way]))
  /** @param {string} ref */
  const isShipped = (ref) => how.has(ref) || ref === told.metadata.component['bom-ref']
  const components = told.components
    .filter((/** @type {{ 'bom-ref': string }} */ each) => isShipped(each['bom-ref']))
    .map((/** @type {{ 'bom-ref': string }} */ each) => ({
      ...each,
      scope: 'required',
      properties: [{ name: 'sluice:how', value: how.get(each['bom-ref']) }],
    }))
  const dependencies = told.dependencies
    .filter((/** @type {{ ref: string }} */ { ref }) => isShipped(ref))
    .map((/** @type {{ ref: string, dependsOn: string[] }} */ { ref, dependsOn }) => ({
      ref,
      dependsOn: dependsOn.filter(isShipped),
    }))
  const { timestamp: _, ...metadata } = told.metadata
  const component = {
    ...metadata.component,
    type: 'application',
    name: 'sluice',
    hashes: [{ alg: 'SHA-256', content: hash }],
  }
  const serialNumber = `urn:uuid:${[hash.slice(0, 8), hash.slice(8, 12), `8${hash.slice(13, 16)}`, `8${hash.slice(17, 20)}`, hash.slice(20, 32)].join('-')}`
  return { ...told, serialNumber, metadata: { ...metadata, component }, components, dependencies }
}

/**
 * The section of one version.
 *
 * @param {string} text
 * @param {string} version
 */
function changesOf(text, version) {
  const sections = text.split(/^(?=## )/m)
  const found = sections.find((section) => section.startsWith(`## [${version}]`))
  if (found === undefined) throw new Error(`CHANGELOG.md has no section "## [${version}]"`)
  return found
}

/**
 * @param {string} program
 * @param {readonly string[]} args
 */
function run(program, args, cwd = ROOT) {
  // What npm and the test runner have set for this process is not for that one.
  const { PATH, HOME } = env
  const settings = { PATH, HOME, npm_config_update_notifier: 'false' }
  return execFileSync(program, args, {
    cwd,
    env: settings,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    maxBuffer: 2 ** 26,
  })
}

/** @param {string} file */
const sha256 = (file) => createHash('sha256').update(readFileSync(file)).digest('hex')

/** @param {unknown} value */
const asJson = (value) => `${JSON.stringify(value, null, 2)}\n`

const [folder] = argv.slice(2).filter((word) => !word.startsWith('--'))
const strange = argv
  .slice(2)
  .find((word) => word.startsWith('--') && !['--draft', '--installed'].includes(word))
if (folder === undefined || strange !== undefined) {
  console.error('usage: node .tools/release.js FOLDER [--draft] [--installed]')
  process.exitCode = 2
} else {
  try {
    process.stdout.write(
      makeRelease(folder, { draft: argv.includes('--draft'), installed: argv.includes('--installed') }),
    )
  } catch (error) {
    console.error(`no release: ${error instanceof Error ? error.message : error}`)
    process.exitCode = 1
  }
}
