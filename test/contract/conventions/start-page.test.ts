/** The page at `/`, and the one that a 402 leads to (contract/decisions 49 and 50). */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import tap, { test } from 'tap'
import { VERSION } from '../../../src/base/version.js'
import {
  API_KEY,
  askChat,
  type Json,
  MANAGEMENT_KEY,
  startGateway,
} from '../../support/servers/gateway-server.js'

const server = await startGateway({
  env: { SLUICE_LAB: '127.0.0.1:0', SLUICE_SEED_ITEMS: '5', SLUICE_CONSOLE: 'off' },
})
tap.teardown(() => server.stop())

const BROWSER = { Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8' }

async function pageAt(path: string): Promise<{ html: string; headers: Headers }> {
  const reply = await fetch(`${server.baseUrl}${path}`, { headers: BROWSER })
  return { html: await reply.text(), headers: reply.headers }
}

/** What is printed to be run. */
function commandsIn(html: string): string[] {
  const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"' }
  return [...html.matchAll(/<pre>(.*?)<\/pre>/gs)].map(([, text = '']) =>
    text.replace(/&(\w+);/g, (_, name: string) => entities[name] ?? '?'),
  )
}

async function run(command: string, env: Readonly<Record<string, string>>): Promise<Json> {
  const own = command.replace(/^export SLUICE_API_KEY=….*\n/, '').replaceAll('curl ', 'curl -sS ')
  const { stdout } = await promisify(execFile)('bash', ['-c', own], {
    env: { PATH: process.env.PATH, ...env },
  })
  return JSON.parse(stdout)
}

test('a program that asks for the root is told where everything is, as JSON', async (t) => {
  for (const headers of [{}, { Accept: '*/*' }, { Accept: 'application/json' }]) {
    const reply = await fetch(server.baseUrl, { headers })
    t.equal(reply.status, 200)
    t.equal(reply.headers.get('content-type'), 'application/json')
    const body = (await reply.json()) as Json
    t.match(body, { name: 'Sluice', version: VERSION, interface_version: '2.0' })
    for (const place of ['guide', 'documentation', 'openapi', 'models', 'health', 'metrics'])
      t.equal((await fetch(body[place])).status, 200, place)
    t.equal(body.lab, null, 'nobody can know the port that the system chose')
    t.equal(body.console, null, 'it is off')
  }
})

test('every command of the start page runs as it is printed', async (t) => {
  const commands = commandsIn((await pageAt('/')).html)
  t.equal(commands.length, 3)
  const [models, items, chat] = await Promise.all(
    commands.map((each) => run(each, { SLUICE_API_KEY: API_KEY })),
  )
  t.match(models, { object: 'list' })
  t.equal(items.length, 3)
  t.match(chat, { choices: [{ finish_reason: 'stop' }] })
})

test('a 402 leads to a page whose commands look up and add what was missing', async (t) => {
  const manage = (method: string, path: string, body?: object): Promise<Json> =>
    fetch(`${server.apiUrl}${path}`, {
      method,
      headers: { Authorization: `Bearer ${MANAGEMENT_KEY}`, 'Content-Type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }).then((reply) => reply.json())
  const { key, data } = await manage('POST', '/keys', { name: 'poor', limit: 0 })
  const ask = () =>
    askChat(
      server,
      { model: 'sim/fast', messages: [{ role: 'user', content: 'x' }] },
      { Authorization: `Bearer ${key}` },
    )
  const refused = await ask()
  t.equal(refused.status, 402)
  const { message } = refused.json().error
  t.match(message, /^Insufficient credits: /)
  const [link = ''] = /http\S+$/.exec(message) ?? []
  t.equal(link, `${server.baseUrl}/credits`)
  const commands = commandsIn(await (await fetch(link, { headers: BROWSER })).text())
  const env = { SLUICE_API_KEY: key, SLUICE_MANAGEMENT_KEY: MANAGEMENT_KEY, HASH: data.hash }
  const [left, credits, added, changed] = await commands.reduce<Promise<Json[]>>(
    async (before, each) => [...(await before), await run(each, env)],
    Promise.resolve([]),
  )
  t.match(left, { data: { limit_remaining: 0 } })
  t.match(credits, { data: { total_usage: Number } })
  t.match(added, { data: { total_credits: Number } })
  t.match(changed, { data: { limit: 20 } })
  t.equal((await ask()).status, 200)
  t.match(await (await fetch(link)).json(), { read_credits: /GET .*\/credits/ })
})

test('with a console a 402 leads browsers to its credits, and programs to where they were led before', async (t) => {
  const { baseUrl, stop } = await startGateway()
  t.teardown(stop)
  const program = await fetch(`${baseUrl}/credits`)
  t.match(await program.json(), { read_credits: /GET .*\/credits/ })
  const refused = await fetch(`${baseUrl}/credits`, { headers: BROWSER, redirect: 'manual' })
  t.equal(refused.status, 302)
  t.equal(refused.headers.get('location'), 'console/credits', 'below whatever prefix a proxy gives')
  t.equal(refused.headers.get('vary'), 'Accept')
  const led = await fetch(`${baseUrl}/credits`, { headers: BROWSER })
  t.equal(led.url, `${baseUrl}/console/credits`)
  t.match(await led.text(), '<title>Sluice console</title>')
  const start = await fetch(baseUrl, { headers: BROWSER })
  t.match(await start.text(), '<a href="/console">')
  t.equal(((await (await fetch(baseUrl)).json()) as Json).console, `${baseUrl}/console`)
})

test('the pages load nothing, run nothing, and show what they are told as text', async (t) => {
  for (const path of ['/', '/credits']) {
    const { html, headers } = await pageAt(path)
    const policy = headers.get('content-security-policy') ?? ''
    const [, style = ''] = /<style>(.*?)<\/style>/s.exec(html) ?? []
    t.match(policy, `'sha256-${createHash('sha256').update(style).digest('base64')}'`, path)
    t.match(policy, "default-src 'none'")
    t.notMatch(html, /<script|\son\w+=|style=|url\(|@import/, path)
    for (const [, target = ''] of html.matchAll(/(?:href|src)="([^"]*)"/g))
      t.match(target, /^(\/|data:,|http:\/\/127\.0\.0\.1:)/, target)
    t.match(html, /<meta name="viewport" content="width=device-width/)
    t.equal(headers.get('vary'), 'Accept')
  }
  const post = await fetch(server.baseUrl, { method: 'POST' })
  t.equal(post.status, 405)
  t.match(await post.json(), { error: { message: 'Method not allowed: use GET, HEAD' } })
})
