import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { test } from 'tap'
import { freePort } from '../../src/drill/fleet/free-port.js'
import { KEYS, MANAGEMENT_KEY, ServerProcess, serve } from '../support/servers/server-process.js'

const BUILT = fileURLToPath(new URL('../../console/', import.meta.url))
const MOST_BYTES = 60 * 1024
/** Loaded when one is seen. */
const CHARTS = /^drawing-/

test('the application is small: at most 60 KB of compressed script before charts', async (t) => {
  const scripts = readdirSync(BUILT).filter((name) => name.endsWith('.js') && !CHARTS.test(name))
  t.ok(scripts.length >= 2, 'the screens are behind the sign-in')
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
    t.equal(answer.headers.get('Permissions-Policy'), 'camera=(), geolocation=(), microphone=()')
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

test('a closing slash leads to the page, also behind a prefix, and takes the query with it', async (t) => {
  const behind = 'https://llm.example.com/sluice'
  const { url } = await serve(t, { ...KEYS, SLUICE_WORKERS: '1', SLUICE_PUBLIC_URL: `${behind}/` })
  const ask = (query: string) => fetch(`${url}/console/${query}`, { redirect: 'manual' })
  t.equal((await ask('')).status, 308)
  const answer = await ask('?sign_in=sip_1&return=1')
  const to = new URL(answer.headers.get('location')!, `${behind}/console/`)
  t.equal(to.href, `${behind}/console?sign_in=sip_1&return=1`)
  t.equal((await ask('?sign_in=%')).status, 308, 'whatever the query is')
  const headers = { Authorization: `Bearer ${MANAGEMENT_KEY}` }
  const who = await fetch(`${url}/api/v1/session`, { headers })
  t.match(await who.json(), { data: { api_url: `${behind}/api` } }, 'where programs reach the API')
})

test('the page is kept from devices, and no script of it asks for one', (t) => {
  const scripts = readdirSync(BUILT).filter((name) => name.endsWith('.js'))
  t.ok(scripts.length >= 2)
  for (const name of scripts)
    t.notMatch(
      readFileSync(BUILT + name, 'utf8'),
      /getUserMedia|mediaDevices|geolocation|SpeechRecognition/,
      name,
    )
  t.end()
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

test('at an address of its own the console has the API that it calls, and is no longer beside the API', async (t) => {
  const port = await freePort()
  const { url } = await serve(t, {
    ...KEYS,
    SLUICE_WORKERS: '2',
    SLUICE_CONSOLE_LISTEN: `127.0.0.1:${port}`,
  })
  const own = `http://127.0.0.1:${port}`
  const html = { Accept: 'text/html' }
  for (const path of ['/console', '/console/keys', '/console/assets/x.js'])
    t.equal((await fetch(url + path)).status, 404, path)
  t.match(await (await fetch(url)).json(), { console: null }, 'nor is it told where it is')
  const credits = await fetch(`${url}/credits`, { headers: html, redirect: 'manual' })
  t.equal(credits.status, 200, 'a 402 leads to the page of before')
  const page = await fetch(`${own}/console/keys`)
  t.equal(page.status, 200)
  const [script = ''] = /[^"]+\.js/.exec(await page.text()) ?? []
  t.equal((await fetch(new URL(script, page.url))).status, 200)
  const signedIn = await fetch(`${own}/api/v1/session`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${MANAGEMENT_KEY}`, 'X-Sluice-Request': '1' },
  })
  t.equal(signedIn.status, 201)
  const cookie = signedIn.headers.get('set-cookie')!.split(';')[0]!
  const headers = { Cookie: cookie, 'Sec-Fetch-Site': 'same-origin' }
  const keys = await fetch(`${own}/api/v1/keys`, { headers })
  t.equal(keys.status, 200)
  const who = await fetch(`${own}/api/v1/session`, { headers })
  t.match(await who.json(), { data: { api_url: `${url}/api` } }, 'programs reach it where it was')
  t.equal((await fetch(`${url}/api/v1/health`)).status, 200, 'the API is where it was')
})

test('an address for the console that is taken, or that nothing is served at, ends the start with a sentence', async (t) => {
  const { url } = await serve(t, { SLUICE_WORKERS: '1' })
  const { port } = new URL(url)
  const start = async (env: Readonly<Record<string, string>>) => {
    const server = ServerProcess.start(t, { env })
    const { code } = await server.exited()
    return { code, told: server.stderr }
  }
  const taken = await start({ SLUICE_CONSOLE_LISTEN: `127.0.0.1:${port}` })
  t.not(taken.code, 0)
  t.match(taken.told, `port ${port} on 127.0.0.1 is already in use`)
  const off = await start({ SLUICE_CONSOLE_LISTEN: '127.0.0.1:9', SLUICE_CONSOLE: 'off' })
  t.equal(off.code, 2)
  t.match(off.told, 'SLUICE_CONSOLE_LISTEN: there is nothing to serve: SLUICE_CONSOLE is off')
  const wrong = await start({ SLUICE_CONSOLE_LISTEN: 'everywhere' })
  t.equal(wrong.code, 2)
  t.match(wrong.told, 'SLUICE_CONSOLE_LISTEN: must be host:port')
})
