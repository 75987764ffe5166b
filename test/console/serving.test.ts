import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { brotliDecompressSync, gzipSync } from 'node:zlib'
import { test } from 'tap'
import { serve } from '../support/servers/server-process.js'

const BUILT = fileURLToPath(new URL('../../console/', import.meta.url))
const MOST_BYTES = 60 * 1024
/** Loaded when one is seen. */
const CHARTS = /^drawing-/

test('the application is small: at most 60 KB of compressed script before charts', async (t) => {
  const scripts = readdirSync(BUILT).filter((name) => name.endsWith('.js') && !CHARTS.test(name))
  t.ok(scripts.length > 2, 'screens are scripts of their own')
  const sizes = scripts.map((name) => gzipSync(readFileSync(BUILT + name), { level: 9 }).byteLength)
  const sum = sizes.reduce((all, size) => all + size, 0)
  t.ok(sum <= MOST_BYTES, `${sum} bytes`)
})

test('every path below /console is the page, with a way to its files that a prefix does not break', async (t) => {
  const { url } = await serve(t, { SLUICE_WORKERS: '1' })
  for (const path of ['/console', '/console/keys', '/console/keys/some-id']) {
    const answer = await fetch(url + path)
    t.equal(answer.status, 200, path)
    const policy = answer.headers.get('Content-Security-Policy')!
    for (const part of [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "trusted-types 'none'",
    ]) {
      t.ok(policy.split('; ').includes(part), part)
    }
    t.notMatch(policy, /unsafe|\*/)
    const markup = await answer.text()
    const named = [...markup.matchAll(/(?:src|href)="([^"]+\.(?:js|css))"/g)].map(([, name]) => name!)
    t.ok(named.length >= 2)
    for (const name of named) {
      t.notMatch(name, /^\//, 'relative')
      const file = new URL(name, url + path)
      t.match(file.pathname, /^\/console\/assets\//)
      t.equal((await fetch(file)).status, 200, name)
    }
    t.notMatch(markup, /<style|style=|<script(?![^>]*src=)/, 'nothing inline')
  }
})

test('a file is kept for good, is the same compressed, and what is no file of the console is not there', async (t) => {
  const { url } = await serve(t, { SLUICE_WORKERS: '1' })
  const name = readdirSync(BUILT).find((each) => each.endsWith('.css'))!
  const plain = await fetch(`${url}/console/assets/${name}`, { headers: { 'Accept-Encoding': 'identity' } })
  t.match(plain.headers.get('Cache-Control'), /immutable/)
  t.same(Buffer.from(await plain.arrayBuffer()), readFileSync(BUILT + name))
  const packed = await fetch(`${url}/console/assets/${name}`, { headers: { 'Accept-Encoding': 'gzip, br' } })
  t.equal(packed.headers.get('Content-Encoding'), 'br')
  t.equal(await packed.text(), readFileSync(BUILT + name, 'utf8'))
  t.same(brotliDecompressSync(readFileSync(`${BUILT}${name}.br`)), readFileSync(BUILT + name))
  for (const other of ['files.json', '..%2fsrc%2fmain.js', `${name}.br`, '__proto__']) {
    t.equal((await fetch(`${url}/console/assets/${other}`)).status, 404, other)
  }
})

test('turned off there is no console', async (t) => {
  const { url } = await serve(t, { SLUICE_WORKERS: '1', SLUICE_CONSOLE: 'off' })
  for (const path of ['/console', '/console/keys', '/console/assets/x.js']) {
    t.equal((await fetch(url + path)).status, 404, path)
  }
})
