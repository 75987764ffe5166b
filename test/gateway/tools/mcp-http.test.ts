/** What of an MCP server over HTTP a strict one sees, and what a hostile one can do. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type Test, test } from 'tap'
import type { JsonObject } from '../../../src/gateway/formats/json-values.js'
import { createMcpTool } from '../../../src/gateway/tools/mcp/mcp.js'
import type { PreparedTool } from '../../../src/gateway/tools/port/tool.js'
import { answerMcpMessage } from '../../../src/simulator/mcp/simulated-mcp-server.js'
import { listen } from '../../support/servers/listen.js'
import { eventually } from '../../support/timing/eventually.js'
import { byUrl, mcpWorld } from '../../support/tools/mcp-servers.js'
import { CALLER, prepared, REQUEST, refusalOf, requested, toolRun } from '../../support/tools/tool-call.js'

interface Seen {
  readonly method: string
  readonly headers: IncomingMessage['headers']
  readonly message: JsonObject
}

/** A server with sessions that answers as the simulated one does, unless `instead` has taken the answer. */
async function sessions(t: Test, instead: (seen: Seen, response: ServerResponse) => boolean = () => false) {
  const seen: Seen[] = []
  let session = 0
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece as Buffer)
    if (request.method !== 'POST') {
      response.writeHead(405).end()
      return
    }
    const message = JSON.parse(Buffer.concat(pieces).toString()) as JsonObject
    const call = { method: String(message.method), headers: request.headers, message }
    seen.push(call)
    if (instead(call, response)) return
    if (message.method === 'initialize') session++
    const isKnown = message.method === 'initialize' || request.headers['mcp-session-id'] === `s${session}`
    const answer = isKnown ? answerMcpMessage(message) : null
    const status = message.method === 'server/discover' ? 400 : isKnown ? (answer === null ? 202 : 200) : 404
    response.writeHead(status, { 'content-type': 'application/json', 'mcp-session-id': `s${session}` })
    response.end(status === 200 ? JSON.stringify(answer) : '')
  })
  const url = `http://127.0.0.1:${await listen({ after: (end) => t.teardown(end) }, server)}/mcp`
  return { url, seen, forgetSession: () => session++ }
}

async function toolAt(t: Test, url: string, more: Parameters<typeof byUrl>[1] = {}) {
  const { servers, close } = mcpWorld({ s: byUrl(url, more) })
  t.teardown(close)
  return createMcpTool(servers)
}

const add = async (tool: ReturnType<typeof createMcpTool>) => {
  const ready = await prepared(tool, { server_label: 's', allowed_tools: ['add'] })
  return () => ready.run({ id: 'c', function: 's__add', arguments: { a: 1, b: 2 } }, toolRun())
}

test('it gets the credential of the operator and nothing of the caller', async (t) => {
  const { url, seen } = await sessions(t)
  const tool = await toolAt(t, url, { apiKey: 'operators-secret', headers: { 'x-team': 'blue' } })
  await (await add(tool))()
  t.same([...new Set(seen.map(({ headers }) => headers.authorization))], ['Bearer operators-secret'])
  t.same([...new Set(seen.map(({ headers }) => headers['x-team']))], ['blue'])
  t.notMatch(
    JSON.stringify(seen),
    new RegExp(`${CALLER.keyHash}|${CALLER.organizationId}|${CALLER.workspaceId}`),
  )
})

test('one connection serves all requests, and a forgotten session is opened anew within the call', async (t) => {
  const { url, seen, forgetSession } = await sessions(t)
  const call = await add(await toolAt(t, url))
  await Promise.all([call(), call()])
  t.equal(seen.filter(({ method }) => method === 'initialize').length, 1)
  forgetSession()
  t.match((await call()).content, { text: '1 + 2 = 3' })
  t.equal(seen.filter(({ method }) => method === 'initialize').length, 2)
})

test('answers that are too large, no JSON, of another type, late, refused or cut are errors for the model', async (t) => {
  let instead: ((response: ServerResponse) => void) | null = null
  const { url } = await sessions(t, ({ method }, response) => {
    if (method !== 'tools/call' || instead === null) return false
    instead(response)
    return true
  })
  const call = await add(await toolAt(t, url, { timeoutMs: 5_000, maxAnswerBytes: 65_536 }))
  const json = { 'content-type': 'application/json' }
  for (const [fault, answer] of [
    [/larger than 65536 bytes/, (r: ServerResponse) => r.writeHead(200, json).end(`"${'x'.repeat(5e6)}"`)],
    [/failed/, (r: ServerResponse) => r.writeHead(200, json).end('<html>')],
    [
      /Unexpected content type/,
      (r: ServerResponse) => r.writeHead(200, { 'content-type': 'text/html' }).end('x'),
    ],
    [/in time|timeout/, () => {}],
    [/answered with status 503$/, (r: ServerResponse) => r.writeHead(503).end('Bearer operators-secret')],
    [/failed/, (r: ServerResponse) => r.writeHead(200, json).write('{', () => r.destroy())],
    [
      /status 302|redirect/i,
      (r: ServerResponse) => r.writeHead(302, { location: 'http://127.0.0.2:1/' }).end(),
    ],
  ] as const) {
    instead = answer
    const { content, isError, executed } = await call()
    t.match(content, { error: fault })
    t.same([isError, executed], [true, true])
  }
  instead = null
  t.match(await call(), { isError: false }, 'and it serves again')
})

test('a server that the request brings has to be on the list, and gets no credential', async (t) => {
  const { url, seen } = await sessions(t)
  const { servers, close } = mcpWorld(
    { s: byUrl('http://127.0.0.1:1/mcp', { apiKey: 'operators-secret' }) },
    { allowedUrls: [url], allowLoopback: true },
  )
  t.teardown(close)
  const tool = createMcpTool(servers)
  const ready = await prepared(tool, { server_label: 'mine', server_url: url })
  t.ok(ready.functions.some(({ name }) => name === 'mine__add'))
  t.ok(seen.every(({ headers }) => headers.authorization === undefined))
  for (const address of [`${url}/other`, 'http://example.com/mcp', 'no address', 'file:///etc/passwd']) {
    t.match(await refusalOf(tool, { server_label: 'mine', server_url: address }), {
      refused: /neither the address of a configured server nor in tools.mcp.allowed_urls/,
      member: ['parameters', 'server_url'],
    })
  }
  t.match(
    await refusalOf(tool, { server_label: 's', server_url: 'http://127.0.0.1:1/mcp' }),
    { member: ['parameters', 'server_label'], refused: /names a server that failed/ },
    'the address of the configured one is taken, and that one cannot be reached',
  )
})

test('also what is on the list is dialled at public addresses only', async (t) => {
  const { url, seen } = await sessions(t)
  const { servers, close } = mcpWorld({}, { allowedUrls: [url] })
  t.teardown(close)
  t.match(await refusalOf(createMcpTool(servers), { server_label: 'mine', server_url: url }), {
    refused: /failed/,
  })
  t.equal(seen.length, 0)
})

test('organizations share no connection to a server that they bring', async (t) => {
  const { url, seen } = await sessions(t)
  const { servers, close } = mcpWorld({}, { allowedUrls: [url], allowLoopback: true })
  t.teardown(close)
  const tool = createMcpTool(servers)
  for (const organizationId of ['one', 'two', 'one']) {
    const asked = requested('mcp', { server_label: 'mine', server_url: url })
    await tool.prepare(asked, { ...REQUEST, caller: { ...CALLER, organizationId } })
  }
  t.equal(seen.filter(({ method }) => method === 'initialize').length, 2)
})

test('however many organizations bring a server, a loop under way goes on with its own', async (t) => {
  const { url } = await sessions(t)
  const { servers, close } = mcpWorld({}, { allowedUrls: [url], allowLoopback: true })
  t.teardown(close)
  const tool = createMcpTool(servers)
  const asked = requested('mcp', { server_label: 'mine', server_url: url, allowed_tools: ['add'] })
  const readies: PreparedTool[] = []
  for (let at = 0; at < 70; at++) {
    const ready = await tool.prepare(asked, {
      ...REQUEST,
      caller: { ...CALLER, organizationId: `org-${at}` },
    })
    if ('refused' in ready) throw new Error(ready.refused)
    readies.push(ready)
  }
  const call = { id: 'c', function: 'mine__add', arguments: { a: 1, b: 2 } }
  for (const [at, ready] of readies.entries()) {
    const run = toolRun({ caller: { ...CALLER, organizationId: `org-${at}` } })
    t.match(await ready.run(call, run), { isError: false })
  }
})

test('a server of the newest generation is spoken to without a session', async (t) => {
  const { url, seen } = await sessions(t, ({ method, message, headers }, response) => {
    const result =
      method === 'server/discover'
        ? {
            ...{ resultType: 'complete', ttlMs: 0, cacheScope: 'private', supportedVersions: ['2026-07-28'] },
            ...{ capabilities: { tools: {} }, serverInfo: { name: 'new', version: '1' } },
          }
        : { resultType: 'complete', ttlMs: 0, cacheScope: 'private', ...resultOf(message) }
    if (headers['mcp-protocol-version'] !== '2026-07-28') response.writeHead(400).end()
    else {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result }))
    }
    return true
  })
  t.match((await (await add(await toolAt(t, url)))()).content, { text: '1 + 2 = 3' })
  t.same([...new Set(seen.map(({ method }) => method))], ['server/discover', 'tools/list', 'tools/call'])
})

const resultOf = (message: JsonObject): JsonObject => (answerMcpMessage(message)?.result ?? {}) as JsonObject

test('its tools are listed once for all who wait, and a call that hangs for one organization keeps no other waiting', async (t) => {
  const hanging: ServerResponse[] = []
  const { url, seen } = await sessions(t, ({ method, message }, response) => {
    const { arguments: args } = (message.params ?? {}) as { arguments?: { a?: number } }
    if (method !== 'tools/call' || args?.a !== 0) return false
    hanging.push(response)
    return true
  })
  const { servers, close } = mcpWorld({ s: byUrl(url, { concurrentCalls: 8 }) })
  t.teardown(close)
  const tool = createMcpTool(servers)
  const readies = await Promise.all(Array.from({ length: 20 }, () => prepared(tool, { server_label: 's' })))
  t.equal(seen.filter(({ method }) => method === 'tools/list').length, 1)
  const ask = (a: number, organizationId: string, signal: AbortSignal) => {
    const call = { id: 'c', function: 's__add', arguments: { a, b: 1 } }
    return readies[0]!.run(call, toolRun({ caller: { ...CALLER, organizationId }, signal }))
  }
  const leaving = new AbortController()
  const stuck = Array.from({ length: 20 }, () => ask(0, 'one', leaving.signal))
  await eventually(() => hanging.length === 2)
  t.match((await ask(1, 'two', new AbortController().signal)).content, { text: '1 + 1 = 2' })
  t.equal(hanging.length, 2, 'a quarter of the calls at a time')
  leaving.abort()
  t.equal((await Promise.all(stuck)).filter(({ isError, executed }) => isError && executed).length, 2)
})

test('an event may be as large as an answer, a stream of them larger; one without an end is not read on', async (t) => {
  let endless = false
  const { url } = await sessions(t, ({ method, message }, response) => {
    if (method !== 'tools/call') return false
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const say = (value: object) => `data: ${JSON.stringify({ jsonrpc: '2.0', ...value })}`
    const params = { progressToken: 'p', progress: 1, message: 'x'.repeat(3_000) }
    for (let n = 0; n < 100; n++) {
      response.write(say({ method: 'notifications/progress', params }))
      // Events that end between two pieces.
      response.write('\n')
      response.write(n % 2 === 0 ? '\n' : '\r\n')
    }
    if (endless) response.write(`data: ${'x'.repeat(20_000)}`)
    else response.end(`${say({ id: message.id as number, result: resultOf(message) })}\n\n`)
    return true
  })
  const call = await add(await toolAt(t, url, { timeoutMs: 2_000, maxAnswerBytes: 10_000 }))
  t.match((await call()).content, { text: '1 + 2 = 3' })
  endless = true
  t.match(await call(), { isError: true, executed: true })
})

test('a status that is none is an error for the model', async (t) => {
  const { url } = await sessions(t, ({ method }, response) => {
    if (method !== 'tools/call') return false
    response.socket!.end('HTTP/1.1 799 Odd\r\nContent-Length: 0\r\n\r\n')
    return true
  })
  t.match(await (await add(await toolAt(t, url)))(), { isError: true, executed: true })
})

test('of the servers that requests bring the one unused for longest is let go, and none that somebody waits for', async (t) => {
  let hanging: ServerResponse | null = null
  const { url, seen } = await sessions(t, ({ method }, response) => {
    if (method !== 'tools/call') return false
    hanging = response
    return true
  })
  const { servers, close } = mcpWorld({}, { allowedUrls: [url], allowLoopback: true })
  t.teardown(close)
  const tool = createMcpTool(servers)
  const bringAs = (organizationId: string) =>
    prepared(tool, { server_label: 'mine', server_url: url }, { caller: { ...CALLER, organizationId } })
  const busy = await bringAs('busy')
  const answer = busy.run({ id: 'c', function: 'mine__add', arguments: { a: 1, b: 2 } }, toolRun())
  await eventually(() => hanging)
  for (let n = 0; n < 70; n++) await bringAs(`org-${n}`)
  const id = seen.findLast(({ method }) => method === 'tools/call')!.message.id
  hanging!.writeHead(200, { 'content-type': 'application/json' })
  hanging!.end(
    JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'still here' }] } }),
  )
  t.match((await answer).content, { text: 'still here' })
  const opened = () => seen.filter(({ method }) => method === 'initialize').length
  const before = opened()
  await bringAs('org-69')
  t.equal(opened(), before, 'the latest is kept')
  await bringAs('org-0')
  t.equal(opened(), before + 1, 'the oldest is not')
})
