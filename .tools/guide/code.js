/** Code on pages: coloured by its words, with what a reader types told apart from what a program prints. */
import hljs from 'highlight.js/lib/core'
import bash from 'highlight.js/lib/languages/bash'
import dockerfile from 'highlight.js/lib/languages/dockerfile'
import ini from 'highlight.js/lib/languages/ini'
import javascript from 'highlight.js/lib/languages/javascript'
import json from 'highlight.js/lib/languages/json'
import nginx from 'highlight.js/lib/languages/nginx'
import python from 'highlight.js/lib/languages/python'
import sql from 'highlight.js/lib/languages/sql'
import typescript from 'highlight.js/lib/languages/typescript'
import yaml from 'highlight.js/lib/languages/yaml'

const LANGUAGES = { bash, dockerfile, ini, javascript, json, nginx, python, sql, typescript, yaml }
for (const [name, language] of Object.entries(LANGUAGES)) hljs.registerLanguage(name, language)
hljs.registerAliases(['service', 'timer', 'conf'], { languageName: 'ini' })

/**
 * Markup of a block; `language` as behind its fence, or as the end of a file's name.
 *
 * @param {string} text
 * @param {string} language
 */
export function codeMarkup(text, language) {
  const code = language === 'console' ? sessionMarkup(text) : coloured(text, language)
  // What is wider than the page is scrolled, also by keys.
  return `<div class="code"><pre tabindex="0"><code>${code}</code></pre></div>\n`
}

/** @param {string} text */
export function escapeMarkup(text) {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}

/**
 * @param {string} text
 * @param {string} language
 */
function coloured(text, language) {
  if (hljs.getLanguage(language) === undefined) return escapeMarkup(text)
  // The library's own classes are long, and there are many of them.
  return hljs
    .highlight(text, { language, ignoreIllegals: true })
    .value.replace(
      /<span class="hljs-([\w-]+)[^"]*">/g,
      (_, name) => `<span class="${CLASSES.get(name) ?? 'w'}">`,
    )
    .replace(/<span class="w">([^<]*)<\/span>/g, '$1')
}

/** By what they say: five colours are enough to read by. */
const CLASSES = new Map(
  Object.entries({
    c: ['comment', 'doctag', 'meta'],
    s: ['string', 'regexp', 'link'],
    n: ['number', 'literal', 'symbol'],
    k: ['keyword', 'built_in', 'section', 'type', 'selector-tag'],
    a: ['attr', 'attribute', 'property', 'name', 'title', 'variable', 'params'],
  }).flatMap(([short, names]) => names.map((name) => /** @type {const} */ ([name, short]))),
)

/**
 * A session at a terminal: commands behind `$ `, which go on while a quote or a line is open, and what they print.
 *
 * @param {string} text
 */
function sessionMarkup(text) {
  /** @type {{ typed: boolean, text: string }[]} */
  const pieces = []
  for (const line of text.split('\n')) {
    const last = pieces.at(-1)
    if (line.startsWith('$ ')) pieces.push({ typed: true, text: line.slice(2) })
    else if (last !== undefined && (!last.typed || isOpen(last.text))) last.text += `\n${line}`
    else pieces.push({ typed: false, text: line })
  }
  return pieces
    .map(({ typed, text }) =>
      typed
        ? `<span class="prompt">$ </span>${coloured(text, 'bash')}`
        : `<span class="printed">${escapeMarkup(text)}</span>`,
    )
    .join('\n')
}

/** @param {string} command */
function isOpen(command) {
  return command.endsWith('\\') || (command.match(/'/g) ?? []).length % 2 === 1
}
