/**
 * Makes a release in a folder: the package, the image, what is in the package (CycloneDX), the licences, the changes, and
 * checksums of all.
 *
 *     node .tools/release.js FOLDER [--draft] [--installed]
 *
 * The package is built twice, in two folders, from what git has of this tree and from packages that are installed by the
 * lock file; when the two differ by a byte there is no release. `--draft` takes a tree that is not committed and the
 * unreleased changes, `--installed` the packages of this clone; nothing is fetched then, so there is no image.
 */
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
import { argv, execPath } from 'node:process'
import { billOfMaterials } from './bill-of-materials.js'
import { isKnownLicence, shippedPackages } from './licences.js'
import { ROOT, run, SAME_BYTES } from './run.js'

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
  const { archive, image, bundled } = packTwice(folder, choice)
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
  const files = [archive, ...image, ...Object.keys(texts).map((name) => join(folder, name))]
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
    const image = installed ? [] : [imageOf(other, second, archive.replace(/\.tgz$/, '-image.tar'))]
    return { archive, image, bundled: JSON.parse(readFileSync(join(one, 'dist', 'bundled.json'), 'utf8')) }
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

/**
 * Makes the image of a package for all platforms, as one file that `docker load` and others read.
 *
 * @param {string} tree where the package was built
 * @param {string} archive the package
 * @param {string} file
 */
function imageOf(tree, archive, file) {
  const layout = join(tree, '.artefacts', 'image')
  run(execPath, ['.tools/image.js', '--package', archive, '--out', layout], tree)
  run('tar', ['-C', layout, ...SAME_BYTES, '-cf', file, '.'])
  return file
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
