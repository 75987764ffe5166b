import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { VERSION } from '../../src/base/version.js'
import { MANAGEMENT_KEY, serve } from '../support/servers/server-process.js'

const SITE = fileURLToPath(new URL(`../../guide/${VERSION}/`, import.meta.url))
const ROOT = `/docs/guide/${VERSION}`
const HTML = 'text/html; charset=utf-8'

test('addresses without a version or an end lead to the page of this version, also behind a prefix', async (t) => {
  const { url } = await serve(t, { SLUICE_WORKERS: '1' })
  for (const [asked, page] of [
    ['/docs/guide', 'index.html'],
    ['/docs/guide/', 'index.html'],
    [ROOT, 'index.html'],
    [`${ROOT}/`, 'index.html'],
    ['/docs/guide/keys', 'keys.html'],
    ['/docs/guide/keys.html', 'keys.html'],
    ['/docs/guide/settings.md', 'settings.html'],
    ['/docs/guide/tools/bash.html', 'tools/bash.html'],
    [`${ROOT}/contract`, 'contract/index.html'],
    [`${ROOT}/contract/`, 'contract/index.html'],
    [`${ROOT}/contract/gateway`, 'contract/gateway.html'],
  ] as const) {
    const answer = await fetch(url + asked, { redirect: 'manual' })
    t.equal(answer.status, 302, asked)
    const location = answer.headers.get('location')!
    t.notMatch(location, /^\/|:/, 'relative')
    const { pathname } = new URL(location, url + asked)
    t.equal(pathname, `${ROOT}/${page}`, asked)
    t.equal((await fetch(url + pathname)).status, 200, page)
  }
})

test('a page is asked for again and sent once, its files are kept for good, all of them as they were built', async (t) => {
  const { url } = await serve(t, { SLUICE_WORKERS: '1' })
  const get = (path: string, headers: Readonly<Record<string, string>> = {}) =>
    fetch(`${url}${ROOT}/${path}`, { headers })
  const page = await get('keys.html', { 'Accept-Encoding': 'identity' })
  t.equal(page.headers.get('content-type'), HTML)
  t.equal(page.headers.get('cache-control'), 'no-cache')
  t.equal(page.headers.get('content-encoding'), null)
  const built = readFileSync(`${SITE}keys.html`, 'utf8')
  t.equal(await page.text(), built)
  const tag = page.headers.get('etag')!
  for (const header of [tag, `"other", ${tag}`, '*', tag.replace('W/', '')]) {
    const again = await get('keys.html', { 'If-None-Match': header })
    t.equal(again.status, 304, header)
    t.equal(again.headers.get('etag'), tag)
    t.equal(await again.text(), '')
  }
  t.equal((await get('keys.html', { 'If-None-Match': '"other"' })).status, 200)
  for (const coding of ['br', 'gzip']) {
    const packed = await get('keys.html', { 'Accept-Encoding': coding })
    t.equal(packed.headers.get('content-encoding'), coding)
    t.equal(packed.headers.get('vary'), 'Accept-Encoding')
    t.ok(Number(packed.headers.get('content-length')) < built.length / 2)
    t.equal(await packed.text(), built)
  }
  for (const path of built.match(/assets\/[\w.-]+/g)!) {
    const file = await get(path)
    t.equal(file.status, 200, path)
    t.match(file.headers.get('cache-control'), 'immutable')
    t.match(file.headers.get('content-type'), path.endsWith('.css') ? 'text/css' : 'text/javascript')
  }
})

test('the policy of a page allows nothing inline and nothing from elsewhere', async (t) => {
  const { url } = await serve(t, { SLUICE_WORKERS: '1' })
  for (const path of ['index.html', 'no-such-page.html']) {
    const policy = (await fetch(`${url}${ROOT}/${path}`)).headers.get('content-security-policy')!
    t.notMatch(policy, /unsafe|\*|https?:/)
    for (const part of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "base-uri 'none'"])
      t.ok(policy.split('; ').includes(part), part)
  }
})

test('what is no page is 404 with ways to those that are, wherever it is asked for', async (t) => {
  const { url } = await serve(t, { SLUICE_WORKERS: '1' })
  for (const path of [
    `${ROOT}/no-such-page.html`,
    `${ROOT}/contract/no-such-page.html`,
    `${ROOT}/404.html`,
    `${ROOT}/..%2f..%2fconsole%2ffiles.json`,
    `${ROOT}/__proto__`,
    '/docs/guide/0.0.1/keys.html',
    '/docs/guide/no-such-page',
  ]) {
    const answer = await fetch(url + path, { headers: { 'If-None-Match': '*' } })
    t.equal(answer.status, 404, path)
    t.equal(answer.headers.get('content-type'), HTML)
    const markup = await answer.text()
    const links = [...markup.matchAll(/(?:href|src)="([^":]+\.(?:html|css|js))"/g)].map(([, link]) => link!)
    t.ok(links.length > 10, path)
    for (const link of links.slice(0, 12)) {
      t.equal((await fetch(new URL(link, url + path))).status, 200, `${path} leads to ${link}`)
    }
  }
  const deeper = await fetch(`${url}/docs/guide/a/b/c/d`)
  t.equal(deeper.status, 404)
  t.match(await deeper.text(), 'the documentation begins at /docs/guide')
})

test('the start page, the pages of operations, the console and the page about credits lead to it', async (t) => {
  const { url } = await serve(t, {
    SLUICE_WORKERS: '1',
    SLUICE_CONSOLE: 'off',
    SLUICE_MANAGEMENT_KEY: MANAGEMENT_KEY,
  })
  const html = { headers: { Accept: 'text/html' } }
  for (const path of ['/', '/credits']) {
    const markup = await (await fetch(url + path, html)).text()
    const [, link = ''] = /href="(\/docs\/guide[^"]*)"/.exec(markup) ?? []
    t.equal((await fetch(url + link)).status, 200, `${path} leads to ${link}`)
  }
  const { guide } = (await (await fetch(url)).json()) as { guide: string }
  t.equal((await fetch(guide)).status, 200)
  const { info } = (await (await fetch(`${url}/api/v1/openapi.json`)).json()) as {
    info: { description: string }
  }
  t.match(info.description, '](/docs/guide)')
})
