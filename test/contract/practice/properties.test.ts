/** Any request at all: the server does what the contract says, stays up, and changes only what it acknowledges. */
import { pbkdf2Sync } from 'node:crypto'
import fc from 'fast-check'
import { test } from 'tap'
import { anyRequest, type GeneratedRequest } from '../../support/arbitraries/request-arbitraries.js'
import type { HttpReply } from '../../support/clients/http-client.js'
import { statsPerWorker } from '../../support/clients/worker-connections.js'
import { ItemModel } from '../../support/models/item-model.js'
import { judge, type Performed, type Verdict } from '../../support/models/practice-oracle.js'
import type { Violation } from '../../support/models/violations.js'
import { practiceServer } from '../../support/servers/practice-server.js'

const BATCHES = 105
const BATCH = 200

/** `FAST_CHECK_SEED=… node dist/test/contract/practice/properties.test.js` sends the same requests again. */
const SEED = process.env.FAST_CHECK_SEED === undefined ? {} : { seed: Number(process.env.FAST_CHECK_SEED) }

const { server, client } = await practiceServer({}, 24)
const model = new ItemModel()

/** One exchange: what was asked, what it must come to, and what came. */
interface Exchange {
  readonly method: string
  readonly target: string
  readonly contentType: string | null
  readonly verdict: Verdict
  readonly reply: HttpReply
}

async function perform(generated: GeneratedRequest): Promise<Exchange> {
  const { method, contentType, headers, body } = generated
  const path = generated.path.replace(/@(\d+)$/, (_, back) =>
    String(Math.max(0, model.lastId - Number(back))),
  )
  const target = generated.query === '' ? path : `${path}?${generated.query}`
  const type = contentType === null ? {} : { 'Content-Type': contentType }
  const bytes = body.length === 0 ? {} : { body }
  const wanted = { method, path: target, headers: { ...type, ...headers }, ...bytes }
  const reply = await client.send(wanted).catch((cause: unknown) => {
    throw new Error(
      `${method} ${target} with ${JSON.stringify(wanted.headers)}, ${body.length} bytes: ${String(cause)}`,
    )
  })
  return { method, target, contentType, verdict: judge({ method, target, contentType, body }), reply }
}

const pidsOfWorkers = async (): Promise<readonly number[]> =>
  (await statsPerWorker(server.baseUrl)).map(({ pid }) => pid).sort((one, other) => one - other)

test('any batch of concurrent requests is answered as the contract says and changes only what it says', async (t) => {
  const pids = await pidsOfWorkers()
  const ends = new Map<string, number>()
  const property = fc.asyncProperty(
    fc.array(anyRequest, { minLength: BATCH, maxLength: BATCH, size: 'max' }),
    async (batch) => {
      const exchanges = await Promise.all(batch.map(perform))
      const faults = exchanges.flatMap(faultsOf)
      for (const { verdict, reply } of exchanges) count(ends, `${kindOf(verdict)} ${reply.status}`)
      faults.push(...deletionFaults(exchanges), ...exchanges.flatMap(presenceFaults))
      faults.push(...model.settle(await listed()))
      if (faults.length > 0) throw new Error(faults.slice(0, 5).join('; '))
    },
  )
  // A failure is reported with its seed and not shrunk: the store has moved on.
  const result = await fc.check(property, { numRuns: BATCHES, endOnFailure: true, ...SEED })
  if (result.failed) t.fail(printable(`FAST_CHECK_SEED=${result.seed}: ${String(result.errorInstance)}`))
  t.equal(result.numRuns * BATCH, BATCHES * BATCH, 'requests')
  t.strictSame(await pidsOfWorkers(), pids, 'no worker was restarted')
  t.comment(
    [...ends]
      .map(([end, n]) => `${end}: ${n}`)
      .toSorted()
      .join(', '),
  )
  for (const end of [
    'create 201',
    'update 200',
    'delete 204',
    'invalid 422',
    'unknown-path 404',
    'too-large 413',
  ]) {
    t.ok((ends.get(end) ?? 0) > 50, `${end} came up ${ends.get(end)} times`)
  }
})

/** Generated text may hold anything, line separators included. */
function printable(text: string): string {
  return text.replace(/[^ -~]/g, (character) => `\\u{${character.codePointAt(0)!.toString(16)}}`)
}

function count(ends: Map<string, number>, end: string): void {
  ends.set(end, (ends.get(end) ?? 0) + 1)
}

function kindOf(verdict: Verdict): string {
  return verdict.kind === 'performs' ? verdict.operation.name : verdict.kind
}

async function listed(): Promise<Map<number, string>> {
  const items = new Map<number, string>()
  for (let offset = 0; ; offset += 100) {
    const page = (await client.get(`/api/v1/items?limit=100&offset=${offset}`)).json as { id: number }[]
    for (const item of page) items.set(item.id, JSON.stringify(item))
    if (page.length < 100) return items
  }
}

/** Says what is wrong with one answer, and tells the model what it acknowledged. */
function faultsOf(exchange: Exchange): string[] {
  const { method, target, contentType, verdict, reply } = exchange
  const right = method === 'HEAD' ? headFits(verdict, reply) : fits(verdict, reply)
  if (right) return []
  return [
    `${method} ${target} as ${contentType}: ${JSON.stringify(verdict, bigints)} got ${reply.status} ${reply.text.slice(0, 400)}`,
  ]
}

function bigints(_: string, value: unknown): unknown {
  return typeof value === 'bigint' ? String(value) : value
}

function fits(verdict: Verdict, reply: HttpReply): boolean {
  const { status, text } = reply
  switch (verdict.kind) {
    case 'unknown-path':
      return status === 404 && text === '{"error":{"code":404,"message":"Resource not found"}}'
    case 'other-method':
      return (
        status === 405 && text === '{"detail":"Method Not Allowed"}' && reply.headers.allow === verdict.allow
      )
    case 'too-large':
      return status === 413
    case 'invalid':
      return status === 422 && text === expectedRefusal(verdict.violations, text)
    case 'performs':
      return outcomeFits(verdict.operation, reply)
  }
}

/** The contract leaves the offset of a body that is no JSON open: it is taken from the answer. */
function expectedRefusal(violations: readonly Violation[], text: string): string {
  const named = /\["body",(\d+)\]/.exec(text)?.[1]
  const detail = violations.map(({ loc, msg, type }) => ({
    loc: loc.map((part) => (part === -1 && named !== undefined ? Number(named) : part)),
    msg,
    type,
  }))
  return JSON.stringify({ detail })
}

const STATUSES: Readonly<Record<Verdict['kind'], readonly number[]>> = {
  'unknown-path': [404],
  'other-method': [405],
  'too-large': [413],
  invalid: [422],
  performs: [200, 404],
}

function headFits(verdict: Verdict, reply: HttpReply): boolean {
  return reply.body.length === 0 && STATUSES[verdict.kind].includes(reply.status)
}

const NOT_FOUND = '{"detail":"Item not found"}'

function outcomeFits(operation: Performed, reply: HttpReply): boolean {
  const { status, text } = reply
  switch (operation.name) {
    case 'create':
      return status === 201 && created(operation.fields, reply)
    case 'update':
      return status === 404 ? text === NOT_FOUND : status === 200 && updated(operation, text)
    case 'delete':
      if (status === 204) model.changed(Number(operation.id), null)
      return status === 204 ? text === '' : status === 404 && text === NOT_FOUND
    case 'read':
      return status === 404 ? text === NOT_FOUND : status === 200
    case 'list':
      return status === 200 && ascending(text).length <= operation.limit
    case 'search':
      return status === 200 && allHold(text, operation.q) && ascending(text).length <= operation.limit
    case 'hash':
      return status === 200 && hashFits(operation, text)
    case 'report':
      return status === 200 && (JSON.parse(text) as { items: number }).items === operation.items
    default:
      return status === 200
  }
}

function created(fields: object, reply: HttpReply): boolean {
  const { id, created_at, ...rest } = JSON.parse(reply.text) as { id: number; created_at: number }
  model.changed(id, reply.text)
  const same = JSON.stringify(rest) === JSON.stringify(fields)
  return same && Number.isInteger(id) && created_at > 0 && reply.headers.location === `/api/v1/items/${id}`
}

function updated({ id, fields }: { id: bigint; fields: object }, text: string): boolean {
  model.changed(Number(id), text)
  const item = JSON.parse(text) as { id: number; created_at: number }
  const before = model.text(Number(id))
  const { id: same, created_at, ...rest } = item
  const kept =
    before === undefined || (JSON.parse(before) as { created_at: number }).created_at === created_at
  return same === Number(id) && kept && JSON.stringify(rest) === JSON.stringify(fields)
}

function ascending(text: string): number[] {
  const ids = (JSON.parse(text) as { id: number }[]).map(({ id }) => id)
  if (ids.some((id, i) => i > 0 && id <= ids[i - 1]!)) throw new Error(`ids out of order: ${ids.join()}`)
  return ids
}

function allHold(text: string, needle: string): boolean {
  const items = JSON.parse(text) as { name: string; description: string }[]
  return items.every(({ name, description }) => name.includes(needle) || description.includes(needle))
}

function hashFits({ data, rounds }: { data: string; rounds: number }, text: string): boolean {
  const { hash, rounds: said } = JSON.parse(text) as { hash: string; rounds: number }
  return said === rounds && hash === pbkdf2Sync(data, 'load-test', rounds, 32, 'sha256').toString('hex')
}

/** An item that was there is deleted exactly once, however many ask; one that was not, never. */
function deletionFaults(exchanges: readonly Exchange[]): string[] {
  const asked = new Map<number, number>()
  for (const { verdict, reply, method } of exchanges) {
    if (method !== 'DELETE' || verdict.kind !== 'performs' || verdict.operation.name !== 'delete') continue
    const id = Number(verdict.operation.id)
    asked.set(id, (asked.get(id) ?? 0) + (reply.status === 204 ? 1 : 0))
  }
  return [...asked].flatMap(([id, deleted]) => {
    const right = model.text(id) === undefined ? deleted <= 1 : deleted === 1
    return right ? [] : [`item ${id} was deleted ${deleted} times`]
  })
}

/** What a read, an update or a deletion may find, given what else was acknowledged in the same batch. */
function presenceFaults({ method, target, verdict, reply }: Exchange): string[] {
  if (verdict.kind !== 'performs' || !('id' in verdict.operation) || method === 'HEAD') return []
  const { name, id } = verdict.operation
  const before = model.text(Number(id))
  const changes = model.changesOf(Number(id))
  const mayBeAbsent = before === undefined || changes.includes(null)
  const mayBePresent = before !== undefined || changes.length > 0
  const possible = reply.status === 404 ? mayBeAbsent : mayBePresent
  const shown = name !== 'read' || reply.status === 404 || [before, ...changes].includes(reply.text)
  return possible && shown ? [] : [`${method} ${target} got ${reply.status} ${reply.text}, before: ${before}`]
}
