/** The frame around a page of the guide: whole without a script, which only adds search, themes and copying. */
import { escapeMarkup } from './code.js'
import { relativePath } from './markdown.js'

/**
 * @typedef {object} Frame
 * @property {string} version
 * @property {string} description of the product
 * @property {{ script: string, style: string, search: string, texts: string }} assets paths from the root of the site
 * @property {readonly { title: string, pages: readonly { path: string, label: string }[] }[]} parts
 */

/**
 * @typedef {object} Shown
 * @property {string} path
 * @property {string} title
 * @property {string} titleMarkup
 * @property {string} summary
 * @property {string} body
 * @property {readonly import('./markdown.js').Heading[]} headings
 */

const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Crect width='16' height='16' rx='4' fill='%232456c9'/%3E%3Cpath d='M3.5 6c1.5-1.4 3-1.4 4.5 0s3 1.4 4.5 0M3.5 10c1.5-1.4 3-1.4 4.5 0s3 1.4 4.5 0' fill='none' stroke='%23fff' stroke-width='1.5' stroke-linecap='round'/%3E%3C/svg%3E"
const LOGO =
  '<svg viewBox="0 0 16 16" aria-hidden="true"><rect width="16" height="16" rx="4"/><path d="M3.5 6c1.5-1.4 3-1.4 4.5 0s3 1.4 4.5 0M3.5 10c1.5-1.4 3-1.4 4.5 0s3 1.4 4.5 0"/></svg>'
/** Where the server has its own pages, from the root of the site. */
const SERVED = /** @type {const} */ ([
  ['API', '../../../docs'],
  ['Console', '../../../console'],
])
const FRONT = 'index.html'
/** With more headings than this the contents leave out those of the third level. */
const MOST_CONTENTS = 40
/** Parts with more pages are listed on their own pages only: half of each page would be that list. */
const MOST_LISTED = 20

/**
 * Browsers that know `expect` paint nothing before the text is there to its end: the columns of a table that is painted
 * when half of it has come move with every further row.
 *
 * @param {Frame} frame
 * @param {Shown} page
 * @param {string} root where the root of the site is, as seen from the page; '' or ending with a slash
 */
export function pageMarkup(frame, page, root = relativeRoot(page.path)) {
  const { assets, version, description } = frame
  const isFront = page.path === FRONT
  const part = frame.parts.find(({ pages }) => pages.some(({ path }) => path === page.path))
  const title = isFront ? `Sluice ${version}: documentation` : `${page.title} · Sluice ${version}`
  return `<!doctype html>
<html lang="en" data-root="${root}" data-search="${assets.search} ${assets.texts}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="${escapeMarkup(shortened(isFront ? description : page.summary))}">
<title>${escapeMarkup(title)}</title>
<link rel="icon" href="${ICON}">
<link rel="stylesheet" href="${root}${assets.style}">
<script src="${root}${assets.script}"></script>
<link rel="expect" href="#whole" blocking="render">
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header class="bar">
<button type="button" class="menu" popovertarget="pages" aria-label="Pages"><svg viewBox="0 0 16 16" aria-hidden="true"><path d="M2 4h12M2 8h12M2 12h12"/></svg></button>
<a class="home" href="${root}${FRONT}"><span class="logo">${LOGO}Sluice</span></a>
<a class="version" href="${root}changelog.html" title="What has changed">${version}</a>
<button type="button" class="find"><span>Search</span><kbd>/</kbd></button>
<nav class="served" aria-label="The server's own pages">${SERVED.map(([name, path]) => `<a href="${root}${path}">${name}</a>`).join('')}</nav>
<button type="button" class="theme" aria-label="Theme"><svg viewBox="0 0 16 16" aria-hidden="true"><circle cx="8" cy="8" r="6"/><path d="M8 2a6 6 0 0 1 0 12z"/></svg></button>
</header>
<div class="frame">
<nav class="side" id="pages" popover aria-label="Pages">
${frame.parts.map((each) => partMarkup(each, page.path, root, each === part)).join('')}</nav>
${contentsMarkup(page.headings)}
<main id="content">
${isFront ? frontMarkup(frame, page) : headMarkup(page, part?.title ?? '')}
${page.body}${stepsMarkup(frame, page.path, root)}</main>
</div>
<span id="whole"></span>
</body>
</html>
`
}

/** @param {string} path */
function relativeRoot(path) {
  const root = relativePath(path, '.')
  return root === '' ? '' : `${root}/`
}

/**
 * @param {Shown} page
 * @param {string} part
 */
function headMarkup({ titleMarkup }, part) {
  return `<p class="part">${escapeMarkup(part)}</p>\n<h1>${titleMarkup}</h1>`
}

/**
 * @param {Frame} frame
 * @param {Shown} page
 */
function frontMarkup({ description, version }, { titleMarkup }) {
  return `<p class="part">Documentation of version ${version}</p>
<h1>${titleMarkup}</h1>
<p class="lead">${escapeMarkup(description)}</p>
<p class="ways"><a class="way" href="start.html">Get started</a> <a class="way" href="install.html">Install</a> <a class="way" href="contract/index.html">The contract</a></p>`
}

/**
 * @param {Frame['parts'][number]} part
 * @param {string} path
 * @param {string} root
 * @param {boolean} isOpen
 */
function partMarkup({ title, pages }, path, root, isOpen) {
  const [first] = pages
  if (!isOpen && pages.length > MOST_LISTED)
    return `<a class="far" href="${root}${first?.path}">${escapeMarkup(title)}</a>\n`
  const items = pages.map(
    ({ path: to, label }) =>
      `<li><a href="${root}${to}"${to === path ? ' aria-current="page"' : ''}>${label}</a></li>`,
  )
  return `<details${isOpen || title === 'Begin' ? ' open' : ''}><summary>${escapeMarkup(title)}</summary><ul>${items.join('')}</ul></details>\n`
}

/** @param {readonly import('./markdown.js').Heading[]} headings */
function contentsMarkup(headings) {
  const upTo = headings.filter(({ level }) => level <= 3).length > MOST_CONTENTS ? 2 : 3
  const shown = headings.filter(({ level }) => level <= upTo)
  if (shown.length < 2) return ''
  const items = shown.map(
    ({ level, anchor, markup }) =>
      `<li${level === 3 ? ' class="deeper"' : ''}><a href="#${anchor}">${withoutLinks(markup)}</a></li>`,
  )
  return `<nav class="contents" aria-label="On this page"><details><summary>On this page</summary><ul>${items.join('')}</ul></details></nav>`
}

/** @param {string} markup */
function withoutLinks(markup) {
  return markup.replace(/<\/?a\b[^>]*>/g, '')
}

/**
 * @param {Frame} frame
 * @param {string} path
 * @param {string} root
 */
function stepsMarkup({ parts }, path, root) {
  const pages = parts.flatMap(({ pages }) => pages)
  const at = pages.findIndex((page) => page.path === path)
  if (at === -1) return ''
  const step = (
    /** @type {'prev' | 'next'} */ rel,
    /** @type {string} */ word,
    to = pages[at + (rel === 'next' ? 1 : -1)],
  ) =>
    to === undefined
      ? '<span></span>'
      : `<a rel="${rel}" href="${root}${to.path}"><small>${word}</small> ${to.label}</a>`
  return `<nav class="steps" aria-label="Pages before and after">${step('prev', 'Before')}${step('next', 'Next')}</nav>\n`
}

/** @param {string} text */
function shortened(text) {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length <= 160 ? line : `${line.slice(0, line.lastIndexOf(' ', 159))}…`
}
