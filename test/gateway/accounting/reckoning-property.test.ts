/**
 * Ten thousand answers of both kinds of provider, in both formats, whole and streamed, with tiers, speeds, caches,
 * searches, pictures and sound, on the operator's account and on the caller's own: what is told and charged is what an independent reckoning makes of the price table.
 */
import { inspect, isDeepStrictEqual } from 'node:util'
import { test } from 'tap'
import { z } from 'zod'
import { NEVER_ABORTED } from '../../../src/base/cancellation.js'
import type { Principal } from '../../../src/base/principal.js'
import { ChunkEncoder, encodeCompletion } from '../../../src/features/chat/encode.js'
import { encodeAnswer, MessagesEncoder } from '../../../src/features/messages/encode.js'
import { CallerKeyEndpoints } from '../../../src/gateway/catalog/catalog.js'
import { pricesSchema } from '../../../src/gateway/catalog/configuration/prices.js'
import type { ChatRequest } from '../../../src/gateway/formats/canonical.js'
import type { MessagesRequest } from '../../../src/gateway/formats/messages.js'
import { chatFormat } from '../../../src/gateway/metering/format.js'
import { messagesFormat } from '../../../src/gateway/metering/messages-format.js'
import { anthropicProvider } from '../../../src/gateway/providers/anthropic/provider.js'
import { openAiProvider } from '../../../src/gateway/providers/openai/provider.js'
import { messagesOverChat } from '../../../src/gateway/translation/messages-over-chat.js'
import { findRow } from '../../../src/store/ledger/row-text.js'
import type { UpstreamClient, UpstreamReceiver } from '../../../src/upstream/port.js'
import { pseudoRandom } from '../../support/arbitraries/pseudo-random.js'
import { CALLER, catalogOf } from '../../support/providers/scripted-provider.js'
import { moneyWorld } from '../../support/servers/money-world.js'
import { anthropicAnswer, type Facts, openAiAnswer, PNG } from './told-usage.js'

const ANSWERS = 10_000
const WORLDS = 100
const SEED = 17

// ── The price table and the reckoning ───────────────────────────────────────
// Written apart from the product on purpose: decimal texts, one price per kind, and a division at the end.

type Table = Readonly<Record<string, string>>
type Tiers = Readonly<Record<string, Table>>

/** Names in the price table of a kind, and of what it costs where the table does not name it. */
const NAMES: Readonly<Record<keyof Facts, readonly string[]>> = {
  plain: ['prompt'],
  read: ['input_cache_read', 'prompt'],
  write5m: ['input_cache_write', 'prompt'],
  write1h: ['input_cache_write_1h', 'input_cache_write', 'prompt'],
  heard: ['input_audio', 'prompt'],
  seen: ['input_image_token', 'prompt'],
  watched: ['input_video_token', 'prompt'],
  said: ['completion'],
  thought: ['internal_reasoning', 'completion'],
  spoken: ['output_audio', 'completion'],
  painted: ['output_image_token', 'completion'],
  searches: ['web_search'],
  picturesIn: ['input_image'],
  picturesOut: ['output_image'],
}

/** Whole parts of 10^-18 dollars. */
function unitsOf(decimal: string): bigint {
  const [whole = '0', fraction = ''] = decimal.split('.')
  return BigInt(whole + fraction.padEnd(18, '0'))
}

function reckonNanos(facts: Facts, table: Table): bigint {
  let units = unitsOf(table.request ?? '0')
  for (const [kind, names] of Object.entries(NAMES)) {
    const name = names.find((each) => table[each] !== undefined)
    if (name !== undefined) units += BigInt(facts[kind as keyof Facts]) * unitsOf(table[name]!)
  }
  return (units + 500_000_000n) / 1_000_000_000n
}

// ── Chance ──────────────────────────────────────────────────────────────────

const below = pseudoRandom(SEED)
const isLikely = (percent: number): boolean => below(100) < percent
const pick = <T>(list: readonly T[]): T => list[below(list.length)]!

const PER_TOKEN = [...new Set(Object.values(NAMES).flat())].filter((name) => !/web|_image$/.test(name))
const PER_PIECE = ['request', 'web_search', 'input_image', 'output_image']

function drawTable(percent: number): Table {
  const table: Record<string, string> = {}
  for (const name of PER_TOKEN)
    if (isLikely(percent)) table[name] = `0.${String(below(10 ** 12)).padStart(15, '0')}`
  for (const name of PER_PIECE)
    if (isLikely(percent)) table[name] = `0.${String(below(10 ** 8)).padStart(9, '0')}`
  return table
}

const TIERS = ['flex', 'priority', 'batch', 'fast']

function drawTiers(): Tiers {
  return Object.fromEntries(TIERS.filter(() => isLikely(70)).map((tier) => [tier, drawTable(40)]))
}

function drawFacts(kind: 'openai' | 'anthropic'): Facts {
  const some = (percent: number, most: number): number => (isLikely(percent) ? below(most) : 0)
  const ofOpenAi = kind === 'openai' ? 100 : 0
  const most = pick([20, 5_000, 3_000_000])
  return {
    plain: below(most),
    read: some(40, most),
    write5m: some(30, most),
    write1h: some(30, most),
    said: below(most),
    thought: some(40, most),
    searches: some(30, 20),
    picturesIn: some(30, 4),
    heard: some(ofOpenAi * 0.3, most),
    seen: some(ofOpenAi * 0.3, most),
    watched: some(ofOpenAi * 0.2, most),
    spoken: some(ofOpenAi * 0.3, most),
    painted: some(ofOpenAi * 0.2, most),
    picturesOut: some(ofOpenAi * 0.3, 3),
  }
}

// ── The server and its callers ──────────────────────────────────────────────

const OWN_KEY = 'key-of-the-caller'

/** Answers every call with what was laid ready for it. */
class LaidAnswers implements UpstreamClient {
  pieces: readonly string[] = []
  refusesOwnKey = false

  call(request: { readonly body: unknown; readonly headers: unknown }, receiver: UpstreamReceiver) {
    const { pieces } = this
    const isStream = (JSON.parse(String(request.body)) as { stream?: boolean }).stream === true
    const isRefused = this.refusesOwnKey && JSON.stringify(request.headers).includes(OWN_KEY)
    setImmediate(() => {
      if (isRefused) {
        receiver.onHead(401, { 'content-type': 'application/json' })
        receiver.onEnd()
        return
      }
      receiver.onHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' })
      for (const piece of pieces) receiver.onData(Buffer.from(piece))
      receiver.onEnd()
    })
    return { waits: () => null, pause: () => {}, resume: () => {}, cancel: () => {}, release: () => {} }
  }

  sockets = () => 0
  inFlight = () => 0
  close = async () => {}
}

/** On which a world's callers go first, and whether the limits of their keys count that. */
const ACCOUNTS = ['operators', 'own', 'own, in the limit'] as const
type Account = (typeof ACCOUNTS)[number]

const TIMEOUTS = { connectMs: 1e6, headersMs: 1e6, firstTokenMs: 1e6, idleMs: 1e6, totalMs: 1e6 }

/** A caller whose own accounts count in the limit of its key, or do not. */
const callerWith = (includesByok: boolean): Principal => ({
  ...CALLER,
  limits: {
    spending: { limit: 1e15, reset: null, ...(includesByok && { includesByok: true }) },
    ...{ requestsPerMinute: null, tokensPerMinute: null, concurrent: null },
  },
})

const KEY = {
  id: 'k',
  provider: 'a',
  priority: 'first',
  allowFallback: true,
  models: null,
  secret: OWN_KEY,
} as const

function drawWorld(kind: 'openai' | 'anthropic', account: Account) {
  const table = drawTable(80)
  const tiers = drawTiers()
  const { prices } = z.parse(pricesSchema, { ...table, service_tiers: tiers })
  const upstream = new LaidAnswers()
  const options = { baseUrl: 'http://127.0.0.1:9/v1', apiKey: null, headers: {}, version: '1', upstream }
  const server = { ...options, timeouts: TIMEOUTS, limits: { connections: 1, keepAliveMs: 1 } }
  const providerWith = (apiKey: string | null) =>
    kind === 'openai' ? openAiProvider({ ...server, apiKey }) : anthropicProvider({ ...server, apiKey })
  const catalog = catalogOf({ 'acme/one': [{ slug: 'a', prices, hasBreaker: false }] }, () =>
    providerWith(null),
  )
  const [entry] = catalog.providers
  const callerKeys = new CallerKeyEndpoints((secret) => {
    const provider = providerWith(secret)
    return { ...entry!, provider, messages: messagesOverChat(provider) }
  })
  if (account !== 'operators') Object.assign(entry!, { callerKeys })
  const caller = account === 'operators' ? CALLER : callerWith(account === 'own, in the limit')
  return { kind, table, tiers, upstream, caller, ...moneyWorld(catalog, [KEY]) }
}

/** The list that holds for an answer, and what of it is asked for and told. */
function drawTier({ kind, table, tiers }: ReturnType<typeof drawWorld>, format: 'chat' | 'messages') {
  const words = kind === 'openai' ? ['flex', 'priority'] : ['priority', 'batch', 'fast']
  const told = pick([undefined, null, ...words])
  const asked = pick(format === 'chat' ? [null, 'flex', 'priority', 'fast'] : [null, 'speed'])
  // What is asked for changes nothing: it counts what was served.
  return { told, asked, prices: { ...table, ...(told ? tiers[told] : {}) } }
}

const QUESTION = { type: 'text', text: 'is it?' }
const PICTURE = { type: 'image_url', ...PNG }
const SOURCE = { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' }

function chatRequest(facts: Facts, asked: string | null, stream: boolean): ChatRequest {
  const content = [QUESTION, ...Array.from({ length: facts.picturesIn }, () => PICTURE)]
  const messages = [{ role: 'user', content }]
  return {
    model: 'acme/one',
    messages,
    stream,
    ...(asked !== null && { service_tier: asked }),
  } as ChatRequest
}

function messagesRequest(facts: Facts, asked: string | null, stream: boolean): MessagesRequest {
  const content = [
    QUESTION,
    ...Array.from({ length: facts.picturesIn }, () => ({ type: 'image', source: SOURCE })),
  ]
  const messages = [{ role: 'user' as const, content }]
  return {
    model: 'acme/one',
    max_tokens: 9,
    messages,
    stream,
    ...(asked !== null && { speed: 'fast' as const }),
  }
}

/** The whole of what a caller is sent, and the id of it. */
async function ask(
  { gateway, caller }: ReturnType<typeof drawWorld>,
  format: 'chat' | 'messages',
  request: ChatRequest | MessagesRequest,
): Promise<{ readonly id: string; readonly sent: string }> {
  const inference = { caller, simulate: '', traceparent: '' }
  const at = { arrivedAt: performance.now() }
  const [ours, encodeWhole, Encoder] =
    format === 'chat'
      ? ([chatFormat, encodeCompletion, ChunkEncoder] as const)
      : ([messagesFormat, encodeAnswer, MessagesEncoder] as const)
  const generation = await gateway.prepare(
    ours as typeof chatFormat,
    { ...inference, request: request as ChatRequest },
    at,
  )
  const { id } = generation
  if (request.stream !== true) {
    const format = ours as typeof chatFormat
    const { answer, fault } = await gateway.complete(format, generation, NEVER_ABORTED, (result) => result)
    if (fault !== null) throw fault
    return { id, sent: (encodeWhole as typeof encodeCompletion)(generation, answer, null) }
  }
  const encoder = new (Encoder as typeof ChunkEncoder)(generation)
  return new Promise((resolve, reject) => {
    let sent = ''
    gateway.stream(ours as typeof chatFormat, generation, {
      onEvent: (event) => {
        sent += encoder.event(event)
      },
      onFlush: () => {},
      onEnd: () => resolve({ id, sent: sent + encoder.end(null) }),
      onFailure: reject,
    })
  })
}

/** What the caller reads of its cost, the last that was sent; in nano-dollars. */
function toldCost(sent: string) {
  const last = (member: string, value: string): string | undefined =>
    [...sent.matchAll(new RegExp(`"${member}":(${value})`, 'g'))].at(-1)?.[1]
  const nanos = (member: string): bigint => BigInt(Math.round(Number(last(member, '[0-9.e-]+')) * 1e9))
  return {
    charged: nanos('cost'),
    upstream: nanos('upstream_inference_cost'),
    isByok: last('is_byok', 'true|false') === 'true',
  }
}

test('ten thousand answers cost what the price table says, to the nano-dollar', async (t) => {
  let reckoned = 0n
  let booked = 0n
  const wrong: string[] = []
  for (let world = 0; world < WORLDS; world++) {
    const account = ACCOUNTS[world % ACCOUNTS.length]!
    const place = drawWorld(world % 2 === 0 ? 'openai' : 'anthropic', account)
    let own = 0n
    for (let answer = 0; answer < ANSWERS / WORLDS; answer++) {
      const format = pick(['chat', 'messages'] as const)
      const stream = isLikely(50)
      const facts = drawFacts(place.kind)
      // The messages format has no place for pictures in an answer, and the translation drops them.
      const seen = format === 'messages' ? { ...facts, picturesOut: 0 } : facts
      const { told, asked, prices } = drawTier(place, format)
      const answers = place.kind === 'openai' ? openAiAnswer : anthropicAnswer
      place.upstream.pieces = answers({ facts: seen, tier: told }, stream)
      place.upstream.refusesOwnKey = isLikely(30)
      const isByok = account !== 'operators' && !place.upstream.refusesOwnKey
      const build = format === 'chat' ? chatRequest : messagesRequest
      const { id, sent } = await ask(place, format, build(seen, asked, stream))
      const due = reckonNanos(seen, prices)
      const row = findRow(Buffer.from(place.lines.join('')), id)
      reckoned += due
      if (isByok) own += due
      const is = { ...toldCost(sent), cost: BigInt(row?.cost ?? -1), byokCost: row?.byokCost }
      const charged = isByok ? 0n : due
      const want = {
        ...{ charged, upstream: due, isByok, cost: charged },
        byokCost: isByok ? Number(due) : undefined,
      }
      if (!isDeepStrictEqual(is, want))
        wrong.push(inspect({ kind: place.kind, account, format, stream, seen, told, asked, is, want }))
    }
    const books = place.charged()
    t.equal(books.unclosed, 0)
    t.equal(place.open(), 0)
    t.equal(BigInt(books.byok), own)
    const ofKey = { operators: 0, own: books.nanos, 'own, in the limit': books.nanos + books.byok }[account]
    t.equal(
      place.spent(),
      books.nanos + ofKey,
      'credits have lost what the rows charge, and limits what counts',
    )
    booked += BigInt(books.nanos + books.byok)
  }
  t.same(wrong.slice(0, 3), [])
  t.equal(wrong.length, 0)
  t.equal(booked, reckoned)
  t.ok(reckoned > 1_000_000_000n)
})
