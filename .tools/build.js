/**
 * Turns every TypeScript file into the JavaScript file of the same name under `dist`.
 *
 * esbuild strips types and checks none: that is the work of `npm run check`. All files are turned each time, which
 * takes a third of a second, so nothing has to be remembered about earlier builds: a switched branch, a changed
 * setting or an older date cannot leave something behind. An output is written only when its bytes differ, and by
 * renaming, so that programs that run from `dist` never read half a file; outputs without a source are deleted.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { argv } from 'node:process'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const OUT = 'dist'

/** What the server runs from. */
export const RUNNING = ['src', 'workers']
/** Tests, benchmarks and what they work on. */
export const ALL = [...RUNNING, 'bench', 'test']

/**
 * Builds the named folders of the repository. Rejects, with the report already on standard error, when a file cannot
 * be parsed; `dist` is then as it was.
 *
 * @param {readonly string[]} folders
 */
export async function build(folders) {
  // Here and not above: an installation without development dependencies has no esbuild, and nothing to build.
  const { build: transpile } = await import('esbuild')
  const { outputFiles } = await transpile({
    absWorkingDir: ROOT,
    entryPoints: folders.flatMap(sourcesIn),
    outdir: OUT,
    outbase: '.',
    platform: 'node',
    format: 'esm',
    sourcemap: true,
    sourcesContent: false,
    write: false,
    logLevel: 'warning',
  })
  for (const { path, contents } of outputFiles) writeChanged(path, contents)
  removeOthers(folders, new Set(outputFiles.map(({ path }) => path)))
}

/** @param {string} folder */
function sourcesIn(folder) {
  return filesUnder(join(ROOT, folder))
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts'))
    .map((path) => path.slice(ROOT.length))
}

/**
 * @param {string} path
 * @param {Uint8Array} contents
 */
function writeChanged(path, contents) {
  if (contentsOf(path)?.equals(contents)) return
  mkdirSync(dirname(path), { recursive: true })
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, contents)
  renameSync(draft, path)
}

/**
 * @param {readonly string[]} folders
 * @param {ReadonlySet<string>} kept
 */
function removeOthers(folders, kept) {
  for (const folder of folders) {
    const built = filesUnder(join(ROOT, OUT, folder)).filter((path) => /\.js(\.map)?$/.test(path))
    for (const path of built) if (!kept.has(path)) rmSync(path, { force: true })
  }
}

/** @param {string} path */
function contentsOf(path) {
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
function filesUnder(folder) {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name))
  } catch {
    return []
  }
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  await build(argv.includes('--all') ? ALL : RUNNING).catch((error) => {
    const isMissing = error.code === 'ERR_MODULE_NOT_FOUND'
    // npm ci --omit=dev, to serve what was built elsewhere.
    if (isMissing && (argv.includes('--prepare') || existsSync(join(ROOT, OUT, 'src/main.js')))) return
    if (isMissing) console.error('the build needs esbuild, which npm ci installs without --omit=dev')
    process.exitCode = 1
  })
}
