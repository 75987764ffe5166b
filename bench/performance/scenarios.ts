/** The load scenarios, as data. Nothing here runs; `campaign.ts` does. */

import { randomIds, shuffled } from '../harness/figures/sequence.js'
import type { IdPlan, RequestSpec } from '../harness/http/requests.js'
import type { Bar } from './bars.js'
import { TOKEN_PATH } from './federation/exchange-request.js'
import type { IssuingAlgorithm } from './federation/issuing-key.js'
import { BARE_TARGET, callSpec, messagesSpec, toolCallSpec } from './gateway/calls.js'
import type { PollPlan } from './job.js'

/**
 * What a scenario is compared with, measured in the same run on the same core.
 * `copy`: a bare uWebSockets.js program that answers the bytes our server answered.
 * `relay`: a bare uWebSockets.js to undici relay in front of the same mock upstream; gateway scenarios only.
 * `pbkdf2` and `scan`: bare threads doing the same computation in a loop, without any HTTP.
 * `jws`: a bare thread in which `jose` verifies one token of an issuer and signs one of ours; exchanges only.
 * `key`: the same server under the same calls, with the key that the access token acts for.
 * `chat`: the same server under calls of its chat endpoint, which the mock upstream answers in chat's own format.
 */
export type FloorPlan =
  | { readonly kind: 'none' }
  | { readonly kind: 'copy' }
  | { readonly kind: 'relay' }
  | { readonly kind: 'pbkdf2'; readonly data: string; readonly rounds: number }
  | { readonly kind: 'scan'; readonly items: number; readonly needle: string }
  | { readonly kind: 'jws'; readonly alg: IssuingAlgorithm }
  | { readonly kind: 'key' }
  | { readonly kind: 'chat'; readonly model: string; readonly text?: string }

/** A figure that has a known right value. Latencies in ms, CPU share in cores. */
export interface Expectation {
  readonly figure: 'p50' | 'p99' | 'serverShare'
  readonly min: number
  readonly max: number
}

export interface Scenario {
  readonly name: string
  readonly operation: string
  readonly note: string
  /** Items in the store when the server is ready. */
  readonly seedItems: number
  readonly connections: number
  readonly requests: readonly RequestSpec[]
  readonly ids?: IdPlan
  readonly floor: FloorPlan
  /** Writes change the store, so their server starts anew, with a fresh store, in every round. */
  readonly freshStoreEachRound?: true
  /** Items one request visits: adds figures per item, the latency one measured on one connection. */
  readonly itemsVisited?: number
  readonly poll?: PollPlan
  readonly expect?: readonly Expectation[]
  /** What it is held to. */
  readonly bars?: readonly Bar[]
  /** Every call is made at the mock upstream too, and what is added to it is told. */
  readonly pairs?: true
}

const ITEM = '/api/v1/items/:item_id'
const ITEMS = '/api/v1/items'
const HEALTH_POLL: PollPlan = { path: '/api/v1/health', ratePerSecond: 50 }

const getHealth: RequestSpec = { method: 'GET', route: '/api/v1/health', path: '/api/v1/health' }
const listItems: RequestSpec = { method: 'GET', route: ITEMS, path: ITEMS }
const getItem = (id: number): RequestSpec => ({ method: 'GET', route: ITEM, path: `${ITEMS}/${id}` })

const itemBody = (name: string): string =>
  JSON.stringify({
    name,
    description: 'An item written by the benchmark; its text is about as long as that of a seeded item.',
    price: 12.5,
  })

const createItem: RequestSpec = { method: 'POST', route: ITEMS, path: ITEMS, body: itemBody('bench item') }
const updateItem: RequestSpec = {
  method: 'PUT',
  route: ITEM,
  path: `${ITEMS}/{spread}`,
  body: itemBody('bench item, updated'),
}
const deleteItem: RequestSpec = { method: 'DELETE', route: ITEM, path: `${ITEMS}/{next}` }

const HASH: RequestSpec = { method: 'POST', route: '/api/v1/hash', path: '/api/v1/hash' }

const repeat = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value)

/** A scenario of 64 connections on an empty store whose floor is a copy, unless it says otherwise. */
const scenario = (
  one: Pick<Scenario, 'name' | 'operation' | 'note' | 'requests'> & Partial<Scenario>,
): Scenario => ({ seedItems: 0, connections: 64, floor: { kind: 'copy' }, ...one })

const NEEDLE = 'zzzz-no-match'

const search = (items: number, more: Partial<Scenario> = {}): Scenario =>
  scenario({
    name: `search-${items / 1000}k`,
    operation: 'GET /api/v1/search',
    note: `full scan of ${items} items without a match; the floor is a bare String.includes loop over as many texts`,
    seedItems: items,
    connections: 8,
    requests: [{ method: 'GET', route: '/api/v1/search', path: `/api/v1/search?q=${NEEDLE}` }],
    floor: { kind: 'scan', items, needle: NEEDLE },
    itemsVisited: items,
    ...more,
  })

const hash = (rounds: number, more: Partial<Scenario> = {}): Scenario =>
  scenario({
    name: `hash-${rounds / 1000}k`,
    operation: 'POST /api/v1/hash',
    note: `PBKDF2 with ${rounds} rounds; the floor is as many bare threads calling pbkdf2Sync in a loop`,
    connections: 16,
    requests: [{ ...HASH, body: JSON.stringify({ data: 'bench', rounds }) }],
    floor: { kind: 'pbkdf2', data: 'bench', rounds },
    ...more,
  })

/** A call passed on to the mock upstream; `model` chooses its answer. */
const gateway = (
  name: string,
  model: string,
  connections: number,
  note: string,
  more: Partial<Scenario> = {},
): Scenario =>
  scenario({
    name,
    operation: 'POST /api/v1/chat/completions',
    note,
    connections,
    requests: [callSpec(BARE_TARGET, model)],
    floor: { kind: 'relay' },
    ...more,
  })

/** One caller who makes each call at the mock upstream too; the mock stands beside the server, so that only its work is added. */
const latency = (name: string, model: string, note: string, bars: readonly Bar[] = []): Scenario =>
  gateway(name, model, 1, note, { pairs: true, bars })

/** Against the chat endpoint of the same server. */
const NEARLY_CHAT: readonly Bar[] = [{ figure: 'cpuRatio', atLeast: 0.9 }]

/** Calls of the messages endpoint beside equal ones of chat; `floor` is the model that chat asks. */
const messages = (name: string, model: string, floor: string, note: string): Scenario =>
  scenario({
    name,
    operation: 'POST /api/v1/messages',
    note: `${note}; the floor is the chat endpoint of the same server over a provider of chat`,
    connections: 32,
    requests: [messagesSpec(model)],
    floor: { kind: 'chat', model: floor },
    bars: NEARLY_CHAT,
  })

/** Exchanges of subject tokens signed with `alg`; their forms are filled in when the server's policy is known. */
const exchange = (alg: IssuingAlgorithm): Scenario =>
  scenario({
    name: `exchange-${alg.toLowerCase()}`,
    operation: `POST ${TOKEN_PATH}`,
    note: `${alg} subject tokens, keys at hand, a policy with a condition; the floor is one verify and one sign of bare jose`,
    connections: 32,
    requests: [{ method: 'POST', route: TOKEN_PATH, path: TOKEN_PATH }],
    floor: { kind: 'jws', alg },
    expect: [{ figure: 'p99', min: 0, max: 20 }],
    ...(alg === 'RS256' && { bars: [{ figure: 'cpuRatio', atLeast: 0.6 }] }),
  })

const TOOL_CALL = toolCallSpec(20)
/** As many characters in one message, in words. */
const LONG_TEXT = 'all the words that a caller has to say '.repeat(Math.round(TOOL_CALL.body!.length / 39))

/** Every scenario, in the order in which they run. */
export const scenarios: readonly Scenario[] = [
  scenario({
    name: 'health',
    operation: 'GET /api/v1/health',
    note: 'the smallest reply: what a request costs before it does anything',
    requests: [getHealth],
  }),
  scenario({
    name: 'get',
    operation: 'GET /api/v1/items/{id}',
    note: '256 ids drawn from 10000 items',
    seedItems: 10_000,
    requests: [...randomIds(255, 10_000), 1].map(getItem),
    bars: [{ figure: 'cpuRatio', atLeast: 0.85 }],
  }),
  scenario({
    name: 'list',
    operation: 'GET /api/v1/items',
    note: 'the first 20 items',
    seedItems: 10_000,
    requests: [listItems],
    bars: [{ figure: 'cpuRatio', atLeast: 0.75 }],
  }),
  scenario({
    name: 'read-mix',
    operation: '95 % get, 5 % list',
    note: 'fixed weights from a seeded sequence over 10000 items',
    seedItems: 10_000,
    requests: shuffled([...randomIds(190, 10_000).map(getItem), ...repeat(10, listItems)]),
  }),
  scenario({
    name: 'create',
    operation: 'POST /api/v1/items',
    note: 'each 201 is durable; the floor reads the body and answers the same bytes, without a store',
    requests: [createItem],
    freshStoreEachRound: true,
    bars: [{ figure: 'cpuRatio', atLeast: 0.35 }],
  }),
  scenario({
    name: 'mixed-write',
    operation: '50 % create, 30 % update, 20 % delete',
    note: 'seeded sequence; every round starts from 50000 items, and 30 % of its requests add to them',
    seedItems: 50_000,
    requests: shuffled([...repeat(50, createItem), ...repeat(30, updateItem), ...repeat(20, deleteItem)]),
    // Updates stay in the lower half, deletes eat the upper half and then what was created meanwhile: creates
    // outnumber deletes, so the delete counter never catches up with the newest id.
    ids: { next: 25_001, spread: 25_000 },
    freshStoreEachRound: true,
  }),
  search(1_000),
  search(10_000),
  search(100_000, { poll: HEALTH_POLL }),
  hash(1_000),
  hash(10_000, { poll: HEALTH_POLL }),
  hash(100_000),
  scenario({
    name: 'report',
    operation: 'GET /api/v1/report',
    note: 'delay uniform in 100..500 ms, held by a timer; needs 1 s of warm-up, the first replies wait for 500 connects',
    seedItems: 1_000,
    connections: 500,
    requests: [{ method: 'GET', route: '/api/v1/report', path: '/api/v1/report?items=10' }],
    floor: { kind: 'none' },
    expect: [
      { figure: 'p50', min: 295, max: 305 },
      { figure: 'p99', min: 491, max: 501 },
      { figure: 'serverShare', min: 0, max: 0.15 },
    ],
  }),
  gateway('chat', 'bench/json', 32, 'passed on to a mock upstream, an answer of 500 bytes', {
    bars: [{ figure: 'cpuRatio', atLeast: 0.6 }],
  }),
  gateway('stream-16', 'bench/stream-16', 32, '16 tokens at once, the floor writes chunk by chunk'),
  gateway('stream-64', 'bench/stream-64', 32, '64 tokens at once, the floor writes chunk by chunk', {
    bars: [{ figure: 'rateRatio', atLeast: 1.2 }],
  }),
  gateway('stream-1000', 'bench/stream-1000', 8, '1000 tokens at once, the floor writes chunk by chunk'),
  gateway('paced', 'bench/paced-64', 1_000, '1000 streams at a time, each 64 tokens in gaps of 20 ms', {
    bars: [
      { figure: 'cpuRatio', atLeast: 1 / 1.35 },
      { figure: 'gapP99OverFloor', atMost: 10 },
    ],
  }),
  gateway('paced-3000', 'bench/paced-64', 3_000, '3000 streams at a time, each 64 tokens in gaps of 20 ms', {
    bars: [{ figure: 'gapP99', atMost: 60 }],
  }),
  latency('latency', 'bench/json', 'what is added to a whole answer, one connection', [
    { figure: 'addedP50OverFloor', atMost: 70 },
    { figure: 'addedP99OverFloor', atMost: 200 },
  ]),
  latency('latency-first', 'bench/stream-16', 'what is added to the first of 16 tokens, one connection'),
  scenario({
    name: 'chat-tools',
    operation: 'POST /api/v1/chat/completions',
    note: 'chat with 20 functions of the caller, 8 KB; the floor is chat with as long a text',
    connections: 32,
    requests: [TOOL_CALL],
    floor: { kind: 'chat', model: 'bench/json', text: LONG_TEXT },
    bars: NEARLY_CHAT,
  }),
  messages('messages-same', 'messages/json', 'bench/json', 'a provider of messages'),
  messages('messages-translated', 'bench/json', 'bench/json', 'a provider of chat'),
  messages(
    'messages-same-64',
    'messages/stream-64',
    'bench/stream-64',
    'a provider of messages, 64 tokens at once',
  ),
  messages(
    'messages-translated-64',
    'bench/stream-64',
    'bench/stream-64',
    'a provider of chat, 64 tokens at once',
  ),
  exchange('RS256'),
  exchange('ES256'),
  {
    ...gateway('chat-token', 'bench/json', 32, 'chat with an access token; the floor is chat with its key'),
    floor: { kind: 'key' },
  },
]
