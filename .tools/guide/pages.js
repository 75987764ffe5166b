/** Which files of the repository are pages of the guide, where each of them is, and in which order they are read. */
import { readdirSync, readFileSync } from 'node:fs'
import { basename, extname, posix } from 'node:path'

/**
 * @typedef {object} Page
 * @property {string} source path of its file in the repository
 * @property {string} path of the page, from the root of the site
 * @property {string} text of the file
 * @property {boolean} isCode whether the page shows a file as it is, and is no Markdown
 */

/**
 * @typedef {object} Part
 * @property {string} title
 * @property {readonly Page[]} pages in their order, at least one
 */

const FRONT = 'docs/guide/README.md'
const START = 'README.md'
/** Pages about how it is built, by what the first words of a reader may be. */
const DESIGN = [
  'docs/architecture.md',
  'docs/performance.md',
  'bench/RESULTS.md',
  'docs/attacks.md',
  'SECURITY.md',
  'CONTRIBUTING.md',
]
const CHANGES = 'CHANGELOG.md'

/**
 * The parts of the site. Throws when a page of `docs` stands in none of them: the lists of the README beside it give
 * the order, so it is missing there.
 *
 * @param {string} root absolute path of the repository, with a slash at its end
 * @returns {Part[]}
 */
export function partsOf(root) {
  const listed = (/** @type {string} */ folder) =>
    readdirSync(root + folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => `${parentPath}/${name}`.slice(root.length))
      .sort()
  const docs = listed('docs').filter((path) => path.endsWith('.md'))
  const examples = listed('examples')
  const pages = new Map(
    [START, ...DESIGN, CHANGES, ...docs, ...examples].map((source) => {
      const isCode = extname(source) !== '.md'
      return [source, { source, path: placeOf(source), text: readFileSync(root + source, 'utf8'), isCode }]
    }),
  )
  const page = (/** @type {string} */ source) => pages.get(source) ?? fail(`there is no page ${source}`)
  /** @returns {Part} */
  const part = (/** @type {string} */ title, /** @type {readonly string[]} */ sources) => ({
    title,
    pages: [...new Set(sources)].map(page),
  })
  const beside = (/** @type {string} */ source) => [source, ...linksOf(page(source).text, source, pages)]
  const parts = [
    part('Begin', [FRONT, START]),
    ...sectionsOf(page(FRONT).text).map(({ title, text }) =>
      part(
        title,
        linksOf(text, FRONT, pages).filter((source) => source.startsWith('docs/guide/')),
      ),
    ),
    part(
      'Contract',
      beside('docs/contract/README.md').filter((path) => path.startsWith('docs/contract/')),
    ),
    part('Design', DESIGN),
    part(
      'Decisions',
      beside('docs/decisions/README.md')
        .filter((path) => path.startsWith('docs/decisions/'))
        // By their numbers, the list of them first.
        .sort((one, other) => Number(/\d{4}/.exec(one)) - Number(/\d{4}/.exec(other))),
    ),
    part(
      'Examples',
      [...beside('examples/README.md'), ...examples].filter((path) => path.startsWith('examples/')),
    ),
    part('Changes', [CHANGES]),
  ]
  const placed = new Set(parts.flatMap(({ pages }) => pages.map(({ source }) => source)))
  for (const { source } of pages.values()) if (!placed.has(source)) fail(`no README leads to ${source}`)
  const paths = [...placed].map(placeOf)
  for (const path of paths) if (paths.indexOf(path) !== paths.lastIndexOf(path)) fail(`two pages are ${path}`)
  return parts
}

/** @param {string} source */
function placeOf(source) {
  if (source === START) return 'start.html'
  if (source === 'bench/RESULTS.md') return 'measurements.html'
  const path = source.replace(/^docs\/(guide\/)?/, '')
  // Files of folders within have their folder in the name: a page stands at most one folder deep.
  if (path.startsWith('examples/') && !path.endsWith('.md')) {
    return `examples/${path.slice('examples/'.length).replaceAll('/', '-')}.html`
  }
  return posix
    .join(posix.dirname(path), basename(path).replace(/^README\.md$/, 'index.md'))
    .replace(/\.md$/, '.html')
    .toLowerCase()
}

/**
 * What stands below each heading of the second level.
 *
 * @param {string} text
 */
function sectionsOf(text) {
  return text
    .split(/^## /m)
    .slice(1)
    .map((section) => ({ title: section.slice(0, section.indexOf('\n')), text: section }))
}

/**
 * Files that a text links to, as far as they are pages, in their order.
 *
 * @param {string} text
 * @param {string} source
 * @param {ReadonlyMap<string, unknown>} pages
 */
function linksOf(text, source, pages) {
  return [...text.matchAll(/\]\(([^)#\s]+)/g)]
    .map(([, target = '']) => posix.join(posix.dirname(source), target))
    .filter((path) => pages.has(path))
}

/**
 * @param {string} message
 * @returns {never}
 */
function fail(message) {
  throw new Error(`the guide: ${message}`)
}
