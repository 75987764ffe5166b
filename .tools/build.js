/**
 * Turns the TypeScript files into JavaScript under `dist`.
 *
 * A program of the product becomes a bundle under its own name: it opens a few files instead of 500, which is half of
 * a start. What it loads later, or only for some commands, stands in `dist/chunks`. Tests and benches import
 * single modules, so with `--all` every other file becomes the JavaScript file of the same name.
 *
 * esbuild strips types and checks none: that is the work of `npm run check`. Everything is turned each time,
 * so nothing has to be remembered about earlier builds: a switched branch, a changed setting or an older date cannot
 * leave something behind. Scripts of the console alone, which take seconds to be made short, stay where their names say
 * that they are the same. Outputs without a source are deleted.
 */
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { argv } from 'node:process'
import { fileURLToPath } from 'node:url'
import { contentsOf, filesUnder, writeChanged } from './files.js'
import { licenceTexts, packagesOf } from './licences.js'
import { buildPages, PAGE_FILES, PAGE_SOURCES } from './pages.js'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const OUT = 'dist'
const CHUNKS = join(ROOT, OUT, 'chunks')

/** Folders of the product. */
export const PRODUCT = ['src', 'workers']
const SOURCES = [...PRODUCT, 'bench', 'test']

/** What the product starts as a process or a thread, by its path under `dist`. */
const PROGRAMS = [
  'src/main.ts',
  'src/process/worker.ts',
  'src/store/lmdb/check-program.ts',
  'workers/hash-thread.ts',
  'workers/condition-thread.ts',
  'workers/count-thread.ts',
  'workers/document-thread.ts',
]

/** Files of theirs that are replaced, because they load what nobody here uses. */
const REPLACED = {
  // A third of zod is its sentences in fifty languages.
  'zod/v4/locales/index.js': 'export {}',
  // The others are pools, agents, caches, mocks and fetch.
  'undici/index.js': "exports.Client = require('./lib/dispatcher/client')",
}

/** @type {import('esbuild').Plugin} */
const replaceFiles = {
  name: 'replace files',
  setup: ({ onLoad }) => {
    for (const [file, contents] of Object.entries(REPLACED)) {
      const filter = new RegExp(`/node_modules/${file.replaceAll('.', '\\.')}$`)
      onLoad({ filter }, () => ({ contents }))
    }
  },
}

/**
 * Builds the programs, and with `modules` every other source as a module of its own. Rejects, with the report already
 * on standard error, when a file cannot be parsed; `dist` is then as it was.
 *
 * @param {boolean} modules
 */
export async function build(modules) {
  // Here and not above: an installation without development dependencies has no esbuild, and nothing to build.
  const esbuild = await import('esbuild')
  /** @type {import('esbuild').BuildOptions & { write: false }} */
  const common = {
    absWorkingDir: ROOT,
    outdir: OUT,
    outbase: '.',
    platform: 'node',
    format: 'esm',
    target: 'node20.19',
    sourcemap: true,
    sourcesContent: false,
    write: false,
    logLevel: 'warning',
  }
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const { dependencies, optionalDependencies } = manifest
  /** Each by itself: programs that shared their chunks would have more and smaller ones to open. */
  const bundleProgram = (/** @type {string} */ program) =>
    esbuild.build({
      ...common,
      entryPoints: [program],
      bundle: true,
      splitting: true,
      metafile: true,
      minifyWhitespace: true,
      minifySyntax: true,
      plugins: [replaceFiles],
      chunkNames: 'chunks/[name]-[hash]',
      // What every start needs is a development dependency, and so in the bundle: in pieces it takes longer to load.
      external: Object.keys({ ...dependencies, ...optionalDependencies }),
      // CommonJS of the libraries loads modules of Node.
      banner: {
        js: "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);",
      },
    })
  const programs = await Promise.all(PROGRAMS.map(bundleProgram))
  const others = SOURCES.flatMap(sourcesIn).filter((path) => !PROGRAMS.includes(path))
  const single = modules ? await esbuild.build({ ...common, entryPoints: others }) : { outputFiles: [] }
  const pages = await buildPages(esbuild, manifest)
  const sources = [...programs, ...pages].flatMap(({ metafile }) => Object.keys(metafile.inputs))
  writeLicences([...sources, ...PAGE_FILES.map((file) => `node_modules/${file}`)])
  writePrograms(programs.flatMap(({ outputFiles }) => outputFiles))
  for (const { path, contents } of single.outputFiles) writeChanged(path, contents)
  copyStatements()
  removeOrphans()
}

/**
 * Chunks before those who name them. A server that runs from the build before this one may still load chunks of that
 * one, so they stay until the next change.
 *
 * @param {readonly { readonly path: string, readonly contents: Uint8Array, readonly text: string }[]} outputs
 */
function writePrograms(outputs) {
  for (const { path, text } of outputs) if (path.endsWith('.js')) refuseWideText(path, text)
  const entries = PROGRAMS.map((path) => join(ROOT, OUT, path.replace(/ts$/, 'js')))
  const kept = chunksBehind(entries)
  const isChunk = (/** @type {{ path: string }} */ { path }) => path.startsWith(CHUNKS)
  const ordered = [...outputs.filter(isChunk), ...outputs.filter((output) => !isChunk(output))]
  const changed = ordered.filter(({ path, contents }) => writeChanged(path, contents))
  if (changed.length === 0) return
  for (const { path } of outputs) kept.add(basename(path))
  for (const path of filesUnder(CHUNKS)) {
    if (!kept.has(basename(path).replace(/\.map$/, ''))) rmSync(path, { force: true })
  }
}

/**
 * One character beyond Latin-1, and the engine keeps the text of a whole program, two megabytes of a worker's, with two
 * bytes for each. esbuild escapes those of strings, not those of regular expressions.
 *
 * @param {string} path
 * @param {string} text
 */
function refuseWideText(path, text) {
  const at = text.search(/[^\0-\xff]/)
  if (at < 0) return
  throw new Error(
    `${path}: write ${text[at]} as an escape, it stands in ${text.slice(Math.max(0, at - 40), at + 20)}`,
  )
}

/**
 * Names of the chunks that files load, and those load in turn.
 *
 * @param {readonly string[]} paths
 */
function chunksBehind(paths, found = new Set()) {
  for (const path of paths) {
    const names =
      contentsOf(path)
        ?.toString()
        .match(/[\w-]+-[A-Z0-9]{8}\.js\b/g) ?? []
    for (const name of names) {
      if (found.has(name)) continue
      found.add(name)
      chunksBehind([join(CHUNKS, name)], found)
    }
  }
  return found
}

/** @param {string} folder */
function sourcesIn(folder) {
  return filesUnder(join(ROOT, folder))
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts'))
    .map((path) => path.slice(ROOT.length))
    .filter((path) => !PAGE_SOURCES.some((folder) => path.startsWith(folder)))
}

/** Files of SQL are read as they are, from beside the programs. */
function copyStatements() {
  for (const path of PRODUCT.flatMap((folder) => filesUnder(join(ROOT, folder)))) {
    if (path.endsWith('.sql')) writeChanged(join(ROOT, OUT, path.slice(ROOT.length)), readFileSync(path))
  }
}

/**
 * What of others is in the build: their licences, and a list for a release.
 *
 * @param {readonly string[]} sources
 */
function writeLicences(sources) {
  const packages = packagesOf(sources)
  writeChanged(join(ROOT, OUT, 'licences.txt'), Buffer.from(licenceTexts(ROOT, packages)))
  writeChanged(join(ROOT, OUT, 'bundled.json'), Buffer.from(JSON.stringify(packages)))
}

/** Deletes outputs whose source is gone. */
function removeOrphans() {
  for (const folder of SOURCES) {
    for (const path of filesUnder(join(ROOT, OUT, folder))) {
      const source = join(ROOT, path.slice(join(ROOT, OUT).length).replace(/\.js(\.map)?$/, '.ts'))
      if (/\.(js(\.map)?|sql)$/.test(path) && !existsSync(source)) rmSync(path, { force: true })
    }
  }
}

if (argv[1] === fileURLToPath(import.meta.url)) {
  await build(argv.includes('--all')).catch((error) => {
    const isMissing = error.code === 'ERR_MODULE_NOT_FOUND'
    // npm ci --omit=dev, to serve what was built elsewhere.
    if (isMissing && (argv.includes('--prepare') || existsSync(join(ROOT, OUT, 'src/main.js')))) return
    if (isMissing) console.error(`the build needs what npm ci installs without --omit=dev: ${error.message}`)
    // What esbuild finds it has told already.
    else if (error.errors === undefined) console.error(error)
    process.exitCode = 1
  })
}
