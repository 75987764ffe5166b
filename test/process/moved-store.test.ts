/** One machine becomes two on a PostgreSQL, and one again: what was given out before works after (contract/fleet 3.5). */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Test, t } from 'tap'
import { FleetMachine } from '../../src/drill/fleet/machine.js'
import { headerOf, issuerKey, tokenOf } from '../support/data/subject-tokens.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { IssuerServer } from '../support/providers/issuer-server.js'
import { AUDIENCE, encoded, GRANT_TYPE, JWT_TYPE, WORKLOAD } from '../support/servers/federation-server.js'
import { PostgresCluster, WITHOUT_POSTGRES } from '../support/servers/postgres-cluster.js'
import { KEYS, MANAGEMENT_KEY, runSluice } from '../support/servers/server-process.js'

const COMMAND = [process.execPath, fileURLToPath(new URL('../../src/main.js', import.meta.url))]
const MODEL = 'test/exact'
const CALL_DOLLARS = 0.01
/** Of the key; the credits are for more, and for what tools and files take of them. */
const KEY_CALLS = 5
const CREDITS = 0.095
const NOTE = 'Likes oats.'
/** Larger than a piece of a file in the database. */
const CONTENT = Buffer.alloc(600_001, 'abcdefg')

/** A call with a credential: JSON both ways, unless the body is a form. */
async function ask(url: string, method: string, path: string, credential: string, body?: object) {
  const isForm = body instanceof FormData
  const response = await fetch(`${url}/api/v1${path}`, {
    method,
    headers: {
      ...(credential !== '' && { Authorization: `Bearer ${credential}` }),
      ...(body !== undefined && !isForm && { 'Content-Type': 'application/json' }),
    },
    ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }),
  })
  const bytes = Buffer.from(await response.arrayBuffer())
  const { status, headers } = response
  // biome-ignore lint/suspicious/noExplicitAny: answers of many kinds
  return { status, headers, bytes, json: () => JSON.parse(bytes.toString()) as any }
}

async function made(url: string, path: string, credential: string, body: object) {
  const answer = await ask(url, 'POST', path, credential, body)
  if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${answer.bytes}`)
  return answer.json()
}

const chat = (url: string, key: string, model: string, content: string | object[], more: object = {}) =>
  ask(url, 'POST', '/chat/completions', key, { model, messages: [{ role: 'user', content }], ...more })

const remember = (url: string, key: string, command: object) =>
  chat(url, key, 'sim/agent', `call service:memory ${JSON.stringify(command)}`, {
    tools: [{ type: 'service:memory' }],
  })

/** An identity provider whose workload gets access tokens of a policy. */
async function workload(t: Test) {
  const issuer = await IssuerServer.start(t)
  const key = issuerKey('ES256', 'k1')
  issuer.keys = [key.jwk]
  return {
    issuerUrl: issuer.url,
    async accessToken(url: string, policy: string): Promise<string> {
      const iat = Math.floor(Date.now() / 1000)
      const claims = { iss: issuer.url, sub: WORKLOAD, aud: AUDIENCE, iat, exp: iat + 600 }
      const response = await fetch(`${url}/api/v1/oauth/token`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
        body: encoded([
          ['grant_type', GRANT_TYPE],
          ['subject_token', tokenOf(headerOf(key), claims, key)],
          ['subject_token_type', JWT_TYPE],
          ['federation_policy_id', policy],
        ]),
      })
      if (response.status !== 200) throw new Error(`exchange: ${response.status} ${await response.text()}`)
      return ((await response.json()) as { access_token: string }).access_token
    },
  }
}

type Workload = Awaited<ReturnType<typeof workload>>

/** What callers have in their hands after a while with one machine. */
async function lifeOf(url: string, { issuerUrl, accessToken }: Workload) {
  const organization = await made(url, '/organizations', MANAGEMENT_KEY, {
    ...{ name: 'moved', plan: 'business', credits: CREDITS },
  })
  const admin: string = organization.key
  const limited = await made(url, '/keys', admin, { name: 'few', limit: KEY_CALLS * CALL_DOLLARS })
  const free = await made(url, '/keys', admin, { name: 'free' })
  const issuer = await made(url, '/federation/issuers', admin, { name: 'own', issuer_url: issuerUrl })
  const policy = await made(url, '/federation/policies', admin, {
    ...{ issuer_id: issuer.data.id, api_key_hash: limited.data.hash, audience: AUDIENCE, subject: WORKLOAD },
  })
  const form = new FormData()
  form.append('file', new Blob([CONTENT]), 'abc.bin')
  const uploaded = await made(url, '/files', free.key, form)
  const reference = { type: 'file', file: { file_id: uploaded.id } }
  const answer = await chat(url, free.key, 'sim/filemaker', [{ type: 'text', text: 'copy' }, reference])
  const [file = ''] = /(?<="file_id":")\w+/.exec(answer.bytes.toString()) ?? []
  await remember(url, free.key, { command: 'create', path: '/memories/taste.md', file_text: NOTE })
  for (let item = 0; item < 2; item++) await made(url, '/items', '', { name: 'lamp', price: 25 })
  await ask(url, 'DELETE', '/items/2', '')
  const [first] = [await chat(url, limited.key, MODEL, 'one'), await chat(url, limited.key, MODEL, 'two')]
  return {
    ...{ admin, key: limited.key as string, freeKey: free.key as string, file },
    ...{ policy: policy.data.id as string, token: await accessToken(url, policy.data.id) },
    content: (await ask(url, 'GET', `/files/${file}/content`, admin)).bytes,
    generation: first.headers.get('x-generation-id')!,
  }
}

type Life = Awaited<ReturnType<typeof lifeOf>>

/** All of it is there, and every credential works, at whichever of the machines. */
async function stillWorks(t: Test, urls: readonly string[], life: Life, calls: number): Promise<void> {
  const { admin, key, freeKey, token, file, generation } = life
  for (const url of urls) {
    for (const credential of [key, token]) {
      const { status, json } = await ask(url, 'GET', '/key', credential)
      t.equal(status, 200)
      t.equal(json().data.usage, calls * CALL_DOLLARS, 'what it has spent')
    }
    const content = await ask(url, 'GET', `/files/${file}/content`, admin)
    t.ok(content.bytes.equals(life.content) && content.bytes.includes(CONTENT), 'the file')
    const row = await ask(url, 'GET', `/generation?id=${generation}`, key)
    t.equal(row.status, 200)
    t.equal(row.json().data.total_cost, CALL_DOLLARS)
    const note = await remember(url, freeKey, { command: 'view', path: '/memories/taste.md' })
    t.match(note.bytes.toString(), NOTE, 'what a model has kept')
  }
}

t.test('a store moves from one machine to many and back', { skip: WITHOUT_POSTGRES }, async (t) => {
  const cluster = await PostgresCluster.start(t)
  const databaseUrl = await cluster.database()
  const root = tempFolder(t)
  const at = (name: string): string => join(root, name)
  writeFileSync(at('sealing.key'), Buffer.alloc(32, 7))
  const prices = { prompt: '0', completion: '0', request: String(CALL_DOLLARS) }
  const endpoints = [{ provider: 'sim', prices, simulation: { tokens: { constant: 4 } } }]
  writeFileSync(at('sluice.json'), JSON.stringify({ models: { [MODEL]: { endpoints } } }))
  const settings = {
    ...KEYS,
    PATH: process.env.PATH ?? '',
    SLUICE_CONFIG: at('sluice.json'),
    SLUICE_PUBLIC_URL: 'http://127.0.0.1:8444',
    SLUICE_ALLOW_LOOPBACK_ISSUERS: 'on',
  }
  const shared = { SLUICE_DATABASE_URL: databaseUrl, SLUICE_SEALING_KEY_FILE: at('sealing.key') }
  const start = async (
    name: string,
    environment: Readonly<Record<string, string>>,
  ): Promise<FleetMachine> => {
    const folder = at(name)
    mkdirSync(folder, { recursive: true })
    const own = { ...settings, SLUICE_DATABASE_URL: '', SLUICE_MACHINE: '', ...environment }
    const machine = await FleetMachine.prepare({
      command: COMMAND,
      ...{ environment: own, name, folder, databaseUrl: '' },
    })
    t.after(() => machine.kill())
    await machine.start()
    return machine
  }
  const people = await workload(t)

  const spentOf = async (url: string): Promise<number> => {
    const { data } = (await ask(url, 'GET', '/credits', life.admin)).json()
    t.equal(data.total_credits, CREDITS)
    return data.total_usage
  }

  const before = await start('before', {})
  const life = await lifeOf(before.url, people)
  await stillWorks(t, [before.url], life, 2)
  let spent = await spentOf(before.url)
  t.equal(await before.stop(), 0)

  const env = { ...settings, ...shared }
  const there = await runSluice(t, ['import', '--from', at('before')], { env, folder: root })
  t.equal(there.code, 0, there.stderr)
  const ant = await start('ant', { ...shared, SLUICE_MACHINE: 'ant' })
  const bee = await start('bee', { ...shared, SLUICE_MACHINE: 'bee' })
  for (const { url } of [ant, bee]) t.equal(await spentOf(url), spent)
  await stillWorks(t, [ant.url, bee.url], life, 2)
  t.match(await made(bee.url, '/items', '', { name: 'desk', price: 90 }), { id: 3 }, 'no id comes twice')
  for (const { url } of [ant, bee]) t.equal((await chat(url, life.token, MODEL, 'more')).status, 200)
  await people.accessToken(bee.url, life.policy)
  await stillWorks(t, [ant.url, bee.url], life, 4)
  spent = await spentOf(bee.url)
  for (const machine of [ant, bee]) t.equal(await machine.stop(), 0)
  const held = await cluster.sql('SELECT * FROM sluice.bank_holdings', new URL(databaseUrl).pathname.slice(1))
  t.strictSame(held, [], 'who leaves gives everything back')

  const back = await runSluice(t, ['export', '--to', at('after')], { env, folder: root })
  t.equal(back.code, 0, back.stderr)
  const after = await start('after', {})
  t.equal(await spentOf(after.url), spent)
  await stillWorks(t, [after.url], life, 4)
  t.match(await made(after.url, '/items', '', { name: 'chair', price: 40 }), { id: 4 })
  await people.accessToken(after.url, life.policy)
  const spend = async (key: string): Promise<number> => {
    for (let served = 0; ; served++) {
      const { status } = await chat(after.url, key, MODEL, 'spend')
      if (status !== 200) {
        t.equal(status, 402)
        return served
      }
    }
  }
  t.equal(await spend(life.key), KEY_CALLS - 4, 'the limit of the key was spent at all places')
  const left = CREDITS - (await spentOf(after.url))
  t.ok(left > 2 * CALL_DOLLARS)
  t.equal(await spend(life.freeKey), Math.floor(left / CALL_DOLLARS), 'and so were the credits')
  t.equal(await after.stop(), 0)
})
