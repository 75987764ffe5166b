/**
 * Turns the TypeScript files into JavaScript under `dist`.
 *
 * A program of the product becomes a bundle under its own name: it opens a few files instead of 500, which is half of
 * a start. What it loads later, or only for some commands, stands in `dist/chunks`. Tests and benches import
 * single modules, so with `--all` every other file becomes the JavaScript file of the same name.
 *
 * esbuild strips types and checks none: that is the work of `npm run check`. Everything is turned each time, which
 * takes less than a second, so nothing has to be remembered about earlier builds: a switched branch, a changed
 * setting or an older date cannot leave something behind. Outputs without a source are deleted.
 */
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { argv } from 'node:process'
import { fileURLToPath } from 'node:url'
import { contentsOf, filesUnder, writeChanged, writeFolder } from './files.js'
import { licenceTexts, packagesOf } from './licences.js'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const OUT = 'dist'
const CHUNKS = join(ROOT, OUT, 'chunks')
/** What runs in browsers: bundled for them, and no module of Node. */
const CONSOLE_SOURCE = 'src/console/'
const GUIDE_SOURCE = 'src/guide/'
const GUIDE = join(ROOT, OUT, 'guide')

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

/** What pages load as it is: whoever installs the product gets these files and not the packages they are from. */
const PAGE_FILES = ['swagger-ui-dist/swagger-ui-bundle.js', 'swagger-ui-dist/swagger-ui.css']

/** What the lab's page draws with: a third of the library. */
const PLOTTING = `
import { LineChart } from 'echarts/charts'
import { AxisPointerComponent, GridComponent, LegendComponent, MarkAreaComponent, TooltipComponent } from 'echarts/components'
import { use } from 'echarts/core'
import { CanvasRenderer } from 'echarts/renderers'
use([LineChart, AxisPointerComponent, GridComponent, LegendComponent, MarkAreaComponent, TooltipComponent, CanvasRenderer])
export { getInstanceByDom, init } from 'echarts/core'`

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
  const page = await bundleConsole(esbuild)
  writeConsole(page)
  const guide = await bundleGuide(esbuild)
  await writeGuide(guide, manifest)
  const plots = await writePages(esbuild)
  const sources = [...programs, page, guide, plots].flatMap(({ metafile }) => Object.keys(metafile.inputs))
  writeLicences([...sources, ...PAGE_FILES.map((file) => `node_modules/${file}`)])
  writePrograms(programs.flatMap(({ outputFiles }) => outputFiles))
  for (const { path, contents } of single.outputFiles) writeChanged(path, contents)
  copyStatements()
  removeOrphans()
}

/** @type {import('esbuild').BuildOptions & { write: false, metafile: true }} */
const PAGES = {
  absWorkingDir: ROOT,
  // The first that know light-dark().
  target: ['chrome123', 'firefox120', 'safari17.5'],
  // Names hold a hash of the content, so browsers may keep them.
  entryNames: '[name]-[hash]',
  ...{ bundle: true, minify: true, charset: 'utf8' },
  ...{ metafile: true, write: false, logLevel: 'warning' },
}

/**
 * Screens are chunks that are loaded when they are opened.
 *
 * @param {typeof import('esbuild')} esbuild
 */
function bundleConsole(esbuild) {
  return esbuild.build({
    ...PAGES,
    outdir: `${OUT}/console`,
    entryPoints: { console: `${CONSOLE_SOURCE}main.tsx`, style: `${CONSOLE_SOURCE}style/console.css` },
    tsconfig: `${CONSOLE_SOURCE}tsconfig.json`,
    chunkNames: '[name]-[hash]',
    splitting: true,
    format: 'esm',
  })
}

/**
 * Classic scripts: pages on a disk may load no others.
 *
 * @param {typeof import('esbuild')} esbuild
 */
function bundleGuide(esbuild) {
  return esbuild.build({
    ...PAGES,
    outdir: `${OUT}/guide/assets`,
    entryPoints: ['page.ts', 'search.ts', 'style/guide.css'].map((name) => GUIDE_SOURCE + name),
    tsconfig: `${GUIDE_SOURCE}tsconfig.json`,
    entryNames: '[name]-[hash]',
    format: 'iife',
  })
}

/**
 * Name of the output of an entry.
 *
 * @param {Bundle} bundle
 * @param {string} source
 */
function outputOf({ metafile }, source) {
  const [path = ''] =
    Object.entries(metafile.outputs).find(([, { entryPoint }]) => entryPoint === source) ?? []
  return basename(path)
}

/** @typedef {import('esbuild').BuildResult<typeof PAGES>} Bundle */

/**
 * With a list of what the page names: the script, the style, and what the script loads at once.
 *
 * @param {Bundle} bundle
 */
function writeConsole(bundle) {
  const script = outputOf(bundle, `${CONSOLE_SOURCE}main.tsx`)
  const imports = bundle.metafile.outputs[`${OUT}/console/${script}`]?.imports ?? []
  const atOnce = imports.filter(({ kind }) => kind === 'import-statement')
  const files = {
    script,
    style: outputOf(bundle, `${CONSOLE_SOURCE}style/console.css`),
    preloads: atOnce.map(({ path }) => basename(path)),
  }
  const outputs = bundle.outputFiles.map(
    ({ path, contents }) => /** @type {const} */ ([basename(path), contents]),
  )
  writeFolder(
    join(ROOT, OUT, 'console'),
    new Map([...outputs, ['files.json', Buffer.from(JSON.stringify(files))]]),
  )
}

/**
 * @param {Bundle} bundle
 * @param {{ version: string, description: string }} manifest
 */
async function writeGuide(bundle, { version, description }) {
  const { guideSite } = await import('./guide/site.js')
  const asset = (/** @type {string} */ name) => `assets/${outputOf(bundle, GUIDE_SOURCE + name)}`
  const assets = { script: asset('page.ts'), search: asset('search.ts'), style: asset('style/guide.css') }
  const files = guideSite({ root: ROOT, version, description, assets })
  for (const { path, contents } of bundle.outputFiles)
    files.set(`assets/${basename(path)}`, Buffer.from(contents))
  // Under its version, so that those of several releases can stand in one folder.
  writeFolder(GUIDE, new Map([...files].map(([path, contents]) => [`${version}/${path}`, contents])))
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
    .filter((path) => ![CONSOLE_SOURCE, GUIDE_SOURCE].some((folder) => path.startsWith(folder)))
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

/** What pages of every kind have in common: colours, type, measures. */
const LOOK = 'src/look/tokens.css'

/** @param {typeof import('esbuild')} esbuild */
async function writePages(esbuild) {
  const { outputFiles, metafile } = await esbuild.build({
    ...PAGES,
    stdin: { contents: PLOTTING, resolveDir: ROOT },
    outfile: `${OUT}/pages/echarts.js`,
    entryNames: '[name]',
    format: 'iife',
    globalName: 'echarts',
  })
  const bundled = outputFiles.map(({ path, contents }) => /** @type {const} */ ([basename(path), contents]))
  const copied = [...PAGE_FILES.map((path) => `node_modules/${path}`), LOOK].map(
    (path) => /** @type {const} */ ([basename(path), readFileSync(join(ROOT, path))]),
  )
  writeFolder(join(ROOT, OUT, 'pages'), new Map([...bundled, ...copied]))
  return { metafile }
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
