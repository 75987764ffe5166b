/** Builds what browsers load: the console, the guide, and what pages of the server and of the lab have from others. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { contentsOf, writeFolder } from './files.js'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const OUT = 'dist'
const CONSOLE_SOURCE = 'src/console/'
const GUIDE_SOURCE = 'src/guide/'
const GUIDE = join(ROOT, OUT, 'guide')

/** Bundled for browsers, and no module of Node. */
export const PAGE_SOURCES = [CONSOLE_SOURCE, GUIDE_SOURCE]

/** What pages load as it is: whoever installs the product gets these files and not the packages they are from. */
export const PAGE_FILES = ['swagger-ui-dist/swagger-ui-bundle.js', 'swagger-ui-dist/swagger-ui.css']

/** What the lab's page draws with: a third of the library. */
const PLOTTING = `
import { LineChart } from 'echarts/charts'
import { AxisPointerComponent, GridComponent, LegendComponent, MarkAreaComponent, TooltipComponent } from 'echarts/components'
import { use } from 'echarts/core'
import { CanvasRenderer } from 'echarts/renderers'
use([LineChart, AxisPointerComponent, GridComponent, LegendComponent, MarkAreaComponent, TooltipComponent, CanvasRenderer])
export { getInstanceByDom, init } from 'echarts/core'`

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
 * Resolves with what was bundled of which sources.
 *
 * @param {typeof import('esbuild')} esbuild
 * @param {{ version: string, description: string }} manifest
 */
export async function buildPages(esbuild, manifest) {
  const page = await bundleConsole(esbuild)
  await writeConsole(page)
  const guide = await bundleGuide(esbuild)
  await writeGuide(guide, manifest)
  const plots = await writePages(esbuild)
  return [page, guide, plots]
}

/**
 * Shorter than the calls that TypeScript checks, with their children in a member: one kilobyte of fifty.
 *
 * @satisfies {import('esbuild').BuildOptions}
 */
const MARKUP = {
  tsconfigRaw: { compilerOptions: { jsx: 'react', jsxFactory: 'h', jsxFragmentFactory: 'Fragment' } },
  inject: ['.tools/markup.js'],
}

/** @satisfies {import('terser').MinifyOptions} */
const SHORTENED = {
  ...{ module: true, ecma: 2020 },
  compress: { ecma: 2020, passes: 2, keep_fargs: false, lhs_constants: false },
}

/** Names of scripts hold a hash of what esbuild made, this comment included: another terser makes other names. */
function shortenedBy() {
  const { version } = createRequire(import.meta.url)('terser/package.json')
  return `/* terser ${version} ${JSON.stringify(SHORTENED)} */`
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
    ...MARKUP,
    banner: { js: shortenedBy() },
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
async function writeConsole(bundle) {
  const script = outputOf(bundle, `${CONSOLE_SOURCE}main.tsx`)
  const imports = bundle.metafile.outputs[`${OUT}/console/${script}`]?.imports ?? []
  const atOnce = imports.filter(({ kind }) => kind === 'import-statement')
  const files = {
    script,
    style: outputOf(bundle, `${CONSOLE_SOURCE}style/console.css`),
    preloads: atOnce.map(({ path }) => basename(path)),
  }
  const outputs = await Promise.all(
    bundle.outputFiles.map(async ({ path, contents, text }) => {
      // A script of this name is of the same text by the same terser: every start builds, and few change the console.
      const script = path.endsWith('.js') && (contentsOf(path) ?? (await shorten(text)))
      return /** @type {const} */ ([basename(path), script || contents])
    }),
  )
  writeFolder(
    join(ROOT, OUT, 'console'),
    new Map([...outputs, ['files.json', Buffer.from(JSON.stringify(files))]]),
  )
}

/**
 * What esbuild has made small and no compressor finds: two per cent less when it is sent.
 *
 * @param {string} script
 */
async function shorten(script) {
  const { minify } = await import('terser')
  const { code = '' } = await minify(script, SHORTENED)
  return Buffer.from(code)
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
