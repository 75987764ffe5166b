/** `GET /api/v1/live` of a server with two workers. */
import { test } from 'tap'
import { LiveCalls, LiveSample } from '../../../src/features/live/schema.js'
import { MOST_READERS_OF_CALLER } from '../../../src/telemetry/live/live-merge.js'
import { BrowserCalls } from '../../support/clients/browser-calls.js'
import { LiveReader } from '../../support/clients/live-client.js'
import {
  API_KEY,
  type GatewayServer,
  type Json,
  MANAGEMENT_KEY,
  startGateway,
} from '../../support/servers/gateway-server.js'
import { serve } from '../../support/servers/server-process.js'
import { eventually } from '../../support/timing/eventually.js'

const manage = async (
  server: GatewayServer,
  path: string,
  body: unknown,
  key = MANAGEMENT_KEY,
): Promise<Json> => (await server.post(path, body, { key })).json()

async function chat(server: GatewayServer, more: object = {}, key = API_KEY): Promise<string> {
  const messages = [{ role: 'user', content: 'hello' }]
  const answer = await server.post('/chat/completions', { model: 'sim/instant', messages, ...more }, { key })
  return ((await answer.json()) as Json).id
}

/** Another organization with its management key, a key for calls, and a key of a member who is an admin. */
async function newOrganization(server: GatewayServer, name: string) {
  const management = (await manage(server, '/organizations', { name })).key as string
  const { key } = await manage(server, '/keys', { name: 'calls' }, management)
  const { data: member } = await manage(server, '/members', { user_name: 'ann' }, management)
  const [{ id: workspace }] = ((await (await server.get('/workspaces', management)).json()) as Json).data
  await change(server, 'PUT', `/members/${member.id}/roles/${workspace}`, { role: 'admin' }, management)
  const personal = await manage(server, '/keys', { name: 'ann', creator_user_id: member.id }, management)
  return {
    management,
    key: key as string,
    admin: personal.key as string,
    adminHash: personal.data.hash as string,
  }
}

async function change(server: GatewayServer, method: string, path: string, body: unknown, key: string) {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' }
  return (await fetch(server.apiUrl + path, { method, headers, body: JSON.stringify(body) })).status
}

test('the live feed', async (t) => {
  const server = await startGateway()
  t.after(() => server.stop())
  const { baseUrl } = server
  const open = async (key: string): Promise<LiveReader> => {
    const reader = await LiveReader.withKey(baseUrl, key)
    t.after(() => reader.close())
    return reader
  }
  const other = await newOrganization(server, 'other')
  const idsSeen = (reader: LiveReader): string[] =>
    reader.dataOf('call').flatMap(({ data }) => data.map((row: Json) => row.id))

  await t.test('the operator sees calls of all, by whichever worker, and the machine', async (t) => {
    const reader = await open(MANAGEMENT_KEY)
    await reader.nextSample()
    const hostile = 'event: end </script>\u2028'
    const ids = [
      await chat(server, { session_id: hostile }),
      await chat(server, { stream: false }, other.key),
    ]
    await eventually(() => ids.every((id) => idsSeen(reader).includes(id)))
    for (const sample of reader.dataOf('sample')) LiveSample.parse(sample)
    for (const calls of reader.dataOf('call')) LiveCalls.parse(calls)
    const rows = reader.dataOf('call').flatMap(({ data }) => data)
    const row = rows.find(({ id }: Json) => id === ids[0])
    t.match(row, {
      requested: 'sim/instant',
      outcome: 'settled',
      fault: null,
      session_id: hostile,
      attempts: 1,
    })
    t.equal(reader.dataOf('end').length, 0, 'text of strangers is data')
    await eventually(() => reader.dataOf('sample').some((sample) => sample.calls_per_second > 0))
    const machine = await eventually(
      () => reader.dataOf('sample').findLast(({ machine }) => machine.workers.length === 2)?.machine,
    )
    t.same(
      machine.workers.map(({ worker }: Json) => worker),
      [0, 1],
    )
    t.ok(machine.requests_in_flight >= 1, 'this stream is one')
    await eventually(() => reader.dataOf('sample').some((sample) => sample.machine.overhead_ms?.count > 0))
    reader.close()
  })

  await t.test('a management key sees its own organization and nothing of the machine', async (t) => {
    const reader = await open(other.management)
    await reader.nextSample()
    const foreign = await chat(server)
    const own = await chat(server, {}, other.key)
    await eventually(() => idsSeen(reader).includes(own))
    t.notOk(idsSeen(reader).includes(foreign))
    t.ok(reader.dataOf('sample').every(({ machine }) => machine === null))
    t.notOk(JSON.stringify(reader.events).includes(foreign))
    reader.close()
  })

  await t.test('a key for calls gets nothing, nor does nobody', async (t) => {
    await t.rejects(LiveReader.withKey(baseUrl, API_KEY), /403/)
    await t.rejects(LiveReader.open(baseUrl, {}), /401/)
  })

  await t.test('with its session a stream ends, and with its key', async (t) => {
    const browser = new BrowserCalls(baseUrl)
    const signedIn = await browser.fetch('/api/v1/session', {
      method: 'POST',
      headers: { Authorization: `Bearer ${other.management}` },
    })
    t.equal(signedIn.status, 201)
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const bySession = await LiveReader.open(baseUrl, { Cookie: cookie, 'Sec-Fetch-Site': 'same-origin' })
    const byKey = await open(other.admin)
    await bySession.nextSample()
    t.equal((await browser.fetch('/api/v1/session', { method: 'DELETE' })).status, 200)
    const heard = bySession.dataOf('sample').length
    await eventually(() => bySession.ended)
    t.same(bySession.events.at(-1), { event: 'end', data: { reason: 'credential' } })
    t.ok(bySession.dataOf('sample').length <= heard + 1, 'at most what was on its way already')
    await byKey.nextSample()
    const path = `/keys/${other.adminHash}`
    t.equal(await change(server, 'PATCH', path, { disabled: true }, other.management), 200)
    await eventually(() => byKey.ended)
    t.same(byKey.events.at(-1), { event: 'end', data: { reason: 'credential' } })
  })

  await t.test('one caller reads it so many times at a time, over all workers', async (t) => {
    const readers = await Promise.all(
      Array.from({ length: MOST_READERS_OF_CALLER }, () => open(MANAGEMENT_KEY)),
    )
    await t.rejects(open(MANAGEMENT_KEY), /429/)
    const samples = await Promise.all(readers.map((reader) => reader.nextSample()))
    t.ok(samples.every(({ machine }) => machine !== null))
    readers[0]!.close()
    const next = await eventually(() => open(MANAGEMENT_KEY).catch(() => null))
    await next.nextSample()
    for (const reader of [...readers, next]) reader.close()
  })
})

test('the death of a worker ends the streams of its connections alone', async (t) => {
  const { server, url } = await serve(t, { SLUICE_WORKERS: '2' })
  const readers = await Promise.all(Array.from({ length: 6 }, () => LiveReader.withKey(url, MANAGEMENT_KEY)))
  t.after(() => {
    for (const reader of readers) reader.close()
  })
  const [dies = 0, lives = 0] = server.children()
  await Promise.all(readers.map((reader) => reader.nextSample()))
  process.kill(dies, 'SIGKILL')
  const pidsIn = (sample: Json): number[] => sample.machine.workers.map(({ pid }: Json) => pid)
  const isWhole = (sample: Json): boolean =>
    pidsIn(sample).length === 2 && pidsIn(sample).includes(lives) && !pidsIn(sample).includes(dies)
  const goOn = readers.map(async (reader) => {
    for (let each = reader; ; ) {
      await eventually(() => each.ended !== null || each.dataOf('sample').some(isWhole))
      if (each.dataOf('sample').some(isWhole)) return
      each = await eventually(() => LiveReader.withKey(url, MANAGEMENT_KEY).catch(() => null))
      readers.push(each)
    }
  })
  await Promise.all(goOn)
  t.pass('all see two workers again, those that were cut on a new connection')
})

test('a stop ends the streams at once, and they are told', async (t) => {
  const { server, url } = await serve(t, { SLUICE_WORKERS: '2' })
  const reader = await LiveReader.withKey(url, MANAGEMENT_KEY)
  await reader.nextSample()
  const exit = await server.stop()
  t.equal(exit.code, 0)
  await eventually(() => reader.ended)
  t.same(reader.events.at(-1), { event: 'end', data: { reason: 'server' } })
})
