/**
 * The guide as a site: every page of `docs`, with what belongs to it, as files that need no server and nothing from
 * elsewhere. All addresses within are relative, so the folder of a version works below any prefix, beside other
 * versions, and from a disk.
 */
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { basename, extname, posix } from 'node:path'
import { imageSize } from 'image-size'
import { codeMarkup, escapeMarkup } from './code.js'
import { relativePath, render } from './markdown.js'
import { pageMarkup } from './markup.js'
import { partsOf } from './pages.js'

/**
 * Contents by path. `404.html` is for servers: `{root}` in it stands for the way to the root of the site.
 *
 * @param {object} options
 * @param {string} options.root absolute path of the repository, with a slash at its end
 * @param {string} options.version
 * @param {string} options.description of the product
 * @param {Readonly<Record<'script' | 'style' | 'search', string>>} options.assets paths of what the build has bundled for it
 * @returns {Map<string, Buffer>}
 */
export function guideSite({ root, version, description, assets }) {
  const parts = partsOf(root)
  const pages = parts.flatMap(({ pages }) => pages)
  const bySource = new Map(pages.map((page) => [page.source, page]))
  const rules = rulesOf(pages)
  /** @type {Map<string, Buffer>} */
  const files = new Map()

  const drawn = new Map(
    pages.map((page) => {
      if (page.isCode) return [page, fileAsPage(page)]
      const hrefOf = (/** @type {string} */ target) => {
        const [, file = '', anchor = ''] = /^([^#]*)(#.*)?$/.exec(target) ?? []
        if (/^[a-z]+:/.test(target) || file === '') return target
        const source = posix.join(posix.dirname(page.source), file)
        const to = bySource.get(source) ?? bySource.get(`${source}/README.md`.replace('//', '/'))
        return to === undefined ? null : relativePath(page.path, to.path) + anchor
      }
      const pictureOf = (/** @type {string} */ target) => {
        const { path, ...size } = addPicture(files, root, posix.join(posix.dirname(page.source), target))
        return { src: relativePath(page.path, path), ...size }
      }
      const citationOf = (/** @type {string} */ name, /** @type {string} */ number) => {
        const anchor = rules.get(`${name} ${number}`)
        return anchor === undefined ? null : `${relativePath(page.path, `contract/${name}.html`)}#${anchor}`
      }
      return [page, render(page.text, { hrefOf, pictureOf, citationOf })]
    }),
  )
  const drawnOf = (/** @type {(typeof pages)[number]} */ page) =>
    /** @type {import('./markdown.js').Rendered} */ (drawn.get(page))

  const texts = Buffer.from(`sluiceTexts(${JSON.stringify(textsOf(parts, drawnOf))})\n`)
  const textsPath = `assets/texts-${hashOf(texts)}.js`
  files.set(textsPath, texts)
  const frame = {
    version,
    description,
    assets: { ...assets, texts: textsPath },
    parts: parts.map(({ title, pages }) => ({
      title,
      pages: pages.map((page) => ({ path: page.path, label: labelOf(page, drawnOf(page).title) })),
    })),
  }
  for (const page of pages) {
    const { title, ...rest } = drawnOf(page)
    const shown = { ...rest, path: page.path, title: title.text, titleMarkup: title.markup }
    files.set(page.path, Buffer.from(pageMarkup(frame, shown)))
  }
  files.set('404.html', Buffer.from(pageMarkup(frame, unknownPage(version), '{root}')))
  return files
}

/**
 * Titles of pages are short where many of them stand below each other.
 *
 * @param {import('./pages.js').Page} page
 * @param {import('./markdown.js').Heading} title
 */
function labelOf({ source }, title) {
  if (source === 'README.md') return 'Get started'
  if (/^docs\/(guide|contract)\/README\.md$/.test(source)) return 'Overview'
  const number = /\/(\d{4})-/.exec(source)?.[1]
  if (number !== undefined) return `<small>${number}</small> ${title.markup.replace(/^\d{4} /, '')}`
  return title.markup.replace(/<\/?a\b[^>]*>/g, '').replace(/^The (?:tools?|plugins?) /, '')
}

/**
 * @param {import('./pages.js').Page} page
 * @returns {import('./markdown.js').Rendered}
 */
function fileAsPage({ source, text }) {
  const name = source.replace('examples/', '')
  const language = basename(source) === 'Dockerfile' ? 'dockerfile' : languageOf(name)
  return {
    title: { level: 1, anchor: '', text: name, markup: `<code>${escapeMarkup(name)}</code>` },
    summary: `The file ${source} of Sluice.`,
    body: codeMarkup(text.trimEnd(), language),
    headings: [],
    sections: [{ anchor: '', heading: name, text: text.replace(/\s+/g, ' ').trim() }],
  }
}

/** @param {string} name */
function languageOf(name) {
  return name.includes('nginx') ? 'nginx' : extname(name).slice(1)
}

/** @param {string} version */
function unknownPage(version) {
  return {
    path: '404.html',
    title: 'No such page',
    titleMarkup: 'No such page',
    summary: '',
    body: `<p>The documentation of ${version} has no page at this address. It may have another name, or belong to another version.</p>
<p><a href="{root}index.html">All pages by task</a> · <a href="{root}start.html">Get started</a> · <a href="{root}contract/index.html">The contract</a> · <a href="{root}changelog.html">What has changed</a></p>\n`,
    headings: [],
  }
}

/**
 * Anchors of the numbered rules of the contract, by the name of their page and the number.
 *
 * @param {readonly import('./pages.js').Page[]} pages
 */
function rulesOf(pages) {
  /** @type {Map<string, string>} */
  const rules = new Map()
  for (const { source, text } of pages) {
    if (!source.startsWith('docs/contract/')) continue
    const { headings } = render(text, {
      hrefOf: () => null,
      pictureOf: () => ({ src: '', width: 0, height: 0 }),
      citationOf: () => null,
    })
    for (const { text: heading, anchor } of headings) {
      const number = /^(\d+(?:\.\d+)?)\.? /.exec(heading)?.[1]
      if (number !== undefined) rules.set(`${basename(source, '.md')} ${number}`, anchor)
    }
  }
  return rules
}

/**
 * What the search knows: pages with their parts, and sections of pages by their number.
 *
 * @param {readonly import('./pages.js').Part[]} parts
 * @param {(page: import('./pages.js').Page) => import('./markdown.js').Rendered} drawnOf
 */
function textsOf(parts, drawnOf) {
  const pages = parts.flatMap(({ title: part, pages }) =>
    pages.map((page) => ({ part, page, ...drawnOf(page) })),
  )
  return {
    pages: pages.map(({ part, page, title }) => [page.path, title.text, part]),
    sections: pages.flatMap(({ sections }, at) =>
      sections.map(({ anchor, heading, text }) => [at, anchor, heading, text]),
    ),
  }
}

/**
 * @param {Map<string, Buffer>} files
 * @param {string} root
 * @param {string} source
 */
function addPicture(files, root, source) {
  const bytes = readFileSync(root + source)
  const { name, ext } = posix.parse(source)
  const path = `assets/${name}-${hashOf(bytes)}${ext}`
  files.set(path, bytes)
  const { width, height } = imageSize(bytes)
  return { path, width, height }
}

/** @param {Buffer} bytes */
function hashOf(bytes) {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 8).toUpperCase()
}
