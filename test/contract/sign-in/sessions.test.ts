/** Sessions of browsers that are made from a management key. */
import { request } from 'node:http'
import tap, { test } from 'tap'
import { BrowserCalls } from '../../support/clients/browser-calls.js'
import { API_KEY, type Json, MANAGEMENT_KEY, startGateway } from '../../support/servers/gateway-server.js'
import { eventually } from '../../support/timing/eventually.js'

const server = await startGateway({ env: { SLUICE_CORS_ORIGINS: 'https://app.example' } })
tap.teardown(() => server.stop())

const SESSION = '/api/v1/session'
const NAME = '__Host-sluice-session'

function signIn(browser: BrowserCalls, key: string = MANAGEMENT_KEY): Promise<Response> {
  return browser.fetch(SESSION, { method: 'POST', headers: { Authorization: `Bearer ${key}` } })
}

async function signedIn(key?: string): Promise<BrowserCalls> {
  const browser = new BrowserCalls(server.baseUrl)
  const response = await signIn(browser, key)
  if (response.status !== 201) throw new Error(`sign-in: ${response.status} ${await response.text()}`)
  return browser
}

/** The management key of a new organization. */
async function newOrganization(): Promise<{ id: string; key: string }> {
  const made = await server.post('/organizations', { name: 'acme' }, { key: MANAGEMENT_KEY })
  const { data, key } = (await made.json()) as Json
  return { id: data.id, key }
}

test('a management key becomes a cookie that acts as the key', async (t) => {
  const browser = new BrowserCalls(server.baseUrl)
  const response = await signIn(browser)
  t.equal(response.status, 201)
  const [cookie] = response.headers.getSetCookie()
  t.match(
    cookie,
    /^__Host-sluice-session=[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Strict; Max-Age=28800$/,
  )
  t.equal(response.headers.get('cache-control'), 'no-store')
  const { data } = (await response.json()) as Json
  t.match(data, { id: /^[0-9a-f]{64}$/, key_hash: /^[0-9a-f]{64}$/, member_id: null, address: '127.0.0.1' })
  t.equal(Date.parse(data.expires_at) - Date.parse(data.created_at), 8 * 3600 * 1000)
  t.notOk(JSON.stringify(data).includes(browser.cookies.get(NAME)!), 'the body holds no secret')
  const who = (await (await browser.fetch(SESSION)).json()) as Json
  t.match(who.data, {
    kind: 'management',
    operator: true,
    member: null,
    session: { id: data.id },
    api_url: null,
  })
  t.match(who.data.workspaces, [{ name: 'default', role: 'admin' }])
  t.equal((await browser.fetch('/api/v1/keys')).status, 200)
  t.equal((await browser.fetch('/api/v1/organizations')).status, 200, 'for the operator as well')
  const made = await browser.fetch('/api/v1/keys', {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ name: 'by session' }),
  })
  t.equal(made.status, 201)
})

test('a session acts as its key for inferences as well', async (t) => {
  const browser = await signedIn()
  const body = JSON.stringify({ model: 'sim/instant', messages: [{ role: 'user', content: 'Hi.' }] })
  const headers = { 'Content-Type': 'application/json' }
  const answer = await browser.fetch('/api/v1/chat/completions', { method: 'POST', headers, body })
  t.equal(answer.status, 200, await answer.text())
})

test('only a management key makes a session', async (t) => {
  for (const [key, status] of [
    [API_KEY, 403],
    ['sk-sluice-mgmt-unknown', 401],
  ] as const) {
    const browser = new BrowserCalls(server.baseUrl)
    t.equal((await signIn(browser, key)).status, status)
    t.equal(browser.cookies.size, 0)
  }
  const browser = await signedIn()
  const again = await browser.fetch(SESSION, { method: 'POST' })
  t.equal(again.status, 401, 'a session makes no session')
})

test('a cookie counts for our own pages alone', async (t) => {
  const browser = await signedIn()
  const { host } = new URL(server.baseUrl)
  const reads = [
    [{ 'Sec-Fetch-Site': 'same-origin' }, 200],
    [{ 'Sec-Fetch-Site': 'none' }, 200],
    [{ Origin: server.baseUrl }, 200],
    [{ 'Sec-Fetch-Site': 'cross-site' }, 401],
    [{ 'Sec-Fetch-Site': 'same-site' }, 401],
    [{ 'Sec-Fetch-Site': 'cross-site', Origin: server.baseUrl }, 401],
    [{ Origin: 'https://app.example' }, 401],
    [{ Origin: 'null' }, 401],
    [{ Origin: `https://${host}.evil.example` }, 401],
    [{}, 401],
  ] as const
  for (const [headers, status] of reads) {
    t.equal((await browser.call('/api/v1/keys', {}, headers)).status, status, JSON.stringify(headers))
  }
  const marked = { 'X-Sluice-Request': '1', 'Content-Type': 'application/json' }
  const writes = [
    [{ 'Sec-Fetch-Site': 'same-origin', ...marked }, 201],
    [{ Origin: server.baseUrl, ...marked }, 201],
    [{ 'Sec-Fetch-Site': 'same-origin', 'Content-Type': 'application/json' }, 403],
    [{ 'Sec-Fetch-Site': 'none', ...marked }, 401],
    [{ 'Sec-Fetch-Site': 'cross-site', ...marked }, 401],
    [{ Origin: 'https://app.example', ...marked }, 401],
    [marked, 401],
  ] as const
  for (const [headers, status] of writes) {
    const init = { method: 'POST', body: JSON.stringify({ name: 'mine' }) }
    t.equal((await browser.call('/api/v1/keys', init, headers)).status, status, JSON.stringify(headers))
  }
})

test('CORS lets pages of other origins in without a session, and says so', async (t) => {
  const browser = await signedIn()
  const asked = { Origin: 'https://app.example', 'Access-Control-Request-Headers': 'x-sluice-request' }
  const preflight = await browser.call('/api/v1/keys', { method: 'OPTIONS' }, asked)
  const answer = await browser.call('/api/v1/keys', {}, { Origin: 'https://app.example' })
  t.equal(answer.status, 401)
  for (const { headers } of [preflight, answer]) {
    t.equal(headers.get('access-control-allow-origin'), 'https://app.example')
    t.equal(headers.get('access-control-allow-credentials'), null)
  }
  t.match(answer.headers.get('vary'), /Cookie/)
})

test('a key in a header wins over a cookie', async (t) => {
  const browser = await signedIn()
  for (const name of ['Authorization', 'x-api-key']) {
    const value = name === 'Authorization' ? `Bearer ${API_KEY}` : API_KEY
    t.equal((await browser.fetch('/api/v1/keys', { headers: { [name]: value } })).status, 403, name)
  }
  t.equal((await browser.fetch('/api/v1/keys', { headers: { Authorization: 'Bearer wrong' } })).status, 401)
})

test('what is no session is refused as an unknown key is', async (t) => {
  const browser = await signedIn()
  const good = browser.cookies.get(NAME)!
  const flipped = (good.startsWith('A') ? 'B' : 'A') + good.slice(1)
  for (const value of [flipped, good.slice(1), `${good}=`, `"${good}"`, '', 'x'.repeat(4_000)]) {
    browser.cookies.set(NAME, value)
    t.equal((await browser.fetch('/api/v1/keys')).status, 401, value.slice(0, 50))
  }
  browser.cookies.delete(NAME)
  browser.cookies.set('other', `${NAME}`)
  browser.cookies.set(`x${NAME}`, good)
  t.equal((await browser.fetch('/api/v1/keys')).status, 401)
})

test('a cookie that another host may have set is none', async (t) => {
  const secret = (await signedIn()).cookies.get(NAME)!
  const ask = async (cookie: string): Promise<number> =>
    (await new BrowserCalls(server.baseUrl).fetch('/api/v1/keys', { headers: { Cookie: cookie } })).status
  t.equal(await ask(`a=b;\t${NAME}=${secret} ;c=d`), 200)
  // To a browser these names have no prefix; behind another cookie, so that no reader of headers takes the blank away.
  for (const blank of ['\u2000', '\u00a0', '\ufeff']) {
    const bytes = Buffer.from(`a=b; ${blank}${NAME}=${secret}`).toString('latin1')
    t.equal(await ask(bytes), 401)
  }
  for (const other of ['A'.repeat(43), secret, '', 'x']) {
    t.equal(await ask(`${NAME}=${secret}; ${NAME}=${other}`), 401, 'of two nobody knows whose is whose')
    t.equal(await ask(`${NAME}=${other}; ${NAME}=${secret}`), 401)
  }
})

test('signing in gives a new secret each time, whatever cookie the browser came with', async (t) => {
  const browser = new BrowserCalls(server.baseUrl)
  const planted = 'A'.repeat(43)
  browser.cookies.set(NAME, planted)
  await signIn(browser)
  const first = browser.cookies.get(NAME)
  await signIn(browser)
  t.not(first, planted)
  t.not(browser.cookies.get(NAME), first)
  browser.cookies.set(NAME, planted)
  t.equal((await browser.fetch(SESSION)).status, 401)
})

test('signing out ends the session, on every worker', async (t) => {
  const browser = await signedIn()
  const secret = browser.cookies.get(NAME)!
  const out = await browser.fetch(SESSION, { method: 'DELETE' })
  t.equal(out.status, 200)
  t.match(out.headers.getSetCookie(), [/^__Host-sluice-session=; .*Max-Age=0$/])
  t.equal(browser.cookies.size, 0)
  browser.cookies.set(NAME, secret)
  const answers = await Promise.all(Array.from({ length: 20 }, () => browser.fetch('/api/v1/keys')))
  t.ok(answers.every(({ status }) => status === 401))
  const withKey = { method: 'DELETE', headers: { Authorization: `Bearer ${MANAGEMENT_KEY}` } }
  t.equal(
    (await new BrowserCalls(server.baseUrl).fetch(SESSION, withKey)).status,
    404,
    'a key has no session',
  )
})

test('sessions are listed and ended by their organization, and by no other', async (t) => {
  const { id, key } = await newOrganization()
  const [one, two] = [await signedIn(key), await signedIn(key)]
  const foreign = await signedIn()
  const list = (await (await one.fetch('/api/v1/sessions')).json()) as Json
  t.equal(list.total_count, 2)
  t.ok(list.data.every((each: Json) => each.organization_id === id))
  t.notOk(JSON.stringify(list).includes(two.cookies.get(NAME)!))
  t.match(list.data, [{ name: 'management' }, { name: 'management' }], 'that of the key it acts as')
  const who = (await (await two.fetch(SESSION)).json()) as Json
  const path = `/api/v1/sessions/${who.data.session.id}`
  t.equal((await foreign.fetch(path, { method: 'DELETE' })).status, 404)
  t.equal((await two.fetch(SESSION)).status, 200)
  t.equal((await one.fetch(path, { method: 'DELETE' })).status, 200)
  t.equal((await two.fetch(SESSION)).status, 401)
  t.equal((await one.fetch(path, { method: 'DELETE' })).status, 404)
  for (const none of ['x', '%00', 'a'.repeat(64), '%ff']) {
    t.equal((await one.fetch(`/api/v1/sessions/${none}`, { method: 'DELETE' })).status, 404, none)
  }
  const actions = async (): Promise<string[]> => {
    const audit = (await (await one.fetch('/api/v1/federation/audit?trail=changes')).json()) as Json
    return audit.data.map((row: Json) => row.action).sort()
  }
  // Another worker keeps its rows a moment later.
  await eventually(async () => (await actions()).length === 3)
  t.strictSame(await actions(), ['session.create', 'session.create', 'session.delete'])
})

test('where the browser would drop the cookie, a sentence says so', async (t) => {
  const ask = (headers: Record<string, string>) =>
    rawPost({ Authorization: `Bearer ${MANAGEMENT_KEY}`, ...headers })
  const clear = await ask({ Host: 'sluice.example:8080' })
  t.equal(clear.status, 400)
  t.match(clear.body, /Sign-in needs https/)
  t.equal(clear.cookies, undefined)
  t.equal((await ask({ Host: 'sluice.example', 'X-Forwarded-Proto': 'https' })).status, 201)
  t.equal((await ask({ Host: 'sluice.example', 'X-Forwarded-Proto': 'https, http' })).status, 400)
  t.equal((await ask({ Host: '127.0.0.1.example' })).status, 400)
  t.equal((await ask({ Host: 'localhost:8080' })).status, 201)
})

test('a page of another site cannot sign a browser in', async (t) => {
  for (const headers of [{ 'Sec-Fetch-Site': 'cross-site' }, { Origin: 'https://app.example' }]) {
    const browser = new BrowserCalls(server.baseUrl)
    const key = { Authorization: `Bearer ${MANAGEMENT_KEY}` }
    const response = await browser.call(SESSION, { method: 'POST' }, { ...headers, ...key })
    t.equal(response.status, 403)
    t.equal(browser.cookies.size, 0)
  }
})

test('no log holds a secret of a session', async (t) => {
  const browser = await signedIn()
  await browser.fetch('/api/v1/keys')
  await browser.call('/api/v1/keys', {}, {})
  t.notOk(server.log().includes(browser.cookies.get(NAME)!))
})

/** With a `Host` of one's own, which `fetch` does not let one choose. */
function rawPost(
  headers: Record<string, string>,
): Promise<{ status: number; body: string; cookies: unknown }> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(server.baseUrl)
    const call = request({ hostname, port, path: SESSION, method: 'POST', headers }, (answer) => {
      let body = ''
      answer.setEncoding('utf8').on('data', (text: string) => {
        body += text
      })
      answer.on('end', () =>
        resolve({ status: answer.statusCode ?? 0, body, cookies: answer.headers['set-cookie'] }),
      )
    })
    call.on('error', reject).end()
  })
}
