/**
 * What becomes of every member of a request: asked of a running gateway in front of providers that write down what
 * they are sent. Run as a program it writes the tables into the guide.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import type { Test } from 'tap'
import { askMessages } from '../../support/clients/messages-calls.js'
import { speaking } from '../../support/providers/mock-anthropic.js'
import { type MockUpstream, mockUpstream } from '../../support/providers/mock-upstream.js'
import { mockCompletion, mockStream } from '../../support/servers/chat-bench.js'
import { askChat, type GatewayServer, type Json, startGateway } from '../../support/servers/gateway-server.js'
import {
  CHAT_SAMPLES,
  documentedMembers,
  MESSAGES_SAMPLES,
  type Sample,
  UNKNOWN_SAMPLES,
} from './member-samples.js'

type Format = 'chat' | 'messages'
type Kind = 'openai' | 'anthropic'

/**
 * `passed`: the provider gets it as it came. `crosses`: the provider gets it in other words. `executed`: the gateway
 * acts on it. `hashed`: it goes into the pseudonym of the end user, and nowhere else. `told`: left out, and named in `untranslated`. `refused`: an answer that names it. `nothing`: a defect.
 */
type Fate = 'passed' | 'crosses' | 'executed' | 'hashed' | 'told' | `refused ${number}` | 'nothing'

interface MemberRow {
  readonly member: string
  readonly fates: Readonly<Record<Kind, Fate>>
}

export type MemberTables = Readonly<Record<Format | 'unknown in chat' | 'unknown in messages', MemberRow[]>>

const KINDS: readonly Kind[] = ['openai', 'anthropic']

/** Asks everything; takes some seconds. */
export async function measureMembers(t: Test): Promise<MemberTables> {
  const world = await startWorld(t)
  const tables: Record<string, MemberRow[]> = {}
  const unknown = Object.keys(UNKNOWN_SAMPLES)
  for (const [name, format, members] of [
    ['chat', 'chat', documentedMembers('chat')],
    ['messages', 'messages', documentedMembers('messages')],
    ['unknown in chat', 'chat', unknown],
    ['unknown in messages', 'messages', unknown],
  ] as const) {
    tables[name] = []
    for (const member of members) {
      const openai = await fateOf(world, format, 'openai', member)
      tables[name].push({
        member,
        fates: { openai, anthropic: await fateOf(world, format, 'anthropic', member) },
      })
    }
  }
  return tables as unknown as MemberTables
}

interface World {
  readonly server: GatewayServer
  readonly providers: Readonly<Record<Kind, MockUpstream>>
}

const REASONED = {
  content: [
    { type: 'thinking', thinking: 'hm', signature: 's' },
    { type: 'text', text: 'hi' },
  ],
}

async function startWorld(t: Test): Promise<World> {
  const openai = await mockUpstream(t, (peer, { body }) => {
    const { stream } = JSON.parse(body) as { stream?: boolean }
    if (stream === true) peer.stream(mockStream('hi'))
    else {
      const answer = mockCompletion('hi') as Json
      answer.choices[0].message.reasoning = 'hm'
      peer.json(answer)
    }
  })
  const anthropic = await mockUpstream(t, speaking(REASONED))
  const serving = (provider: string, upstream_model: string, prompt = '1') => ({
    endpoints: [{ provider, upstream_model, prices: { prompt } }],
  })
  const server = await startGateway({
    env: { SLUICE_WORKERS: '1' },
    config: {
      providers: {
        openai: { kind: 'openai', base_url: `${openai.origin}/v1` },
        anthropic: { kind: 'anthropic', base_url: anthropic.origin },
      },
      models: {
        'openai/first': serving('openai', 'first'),
        'openai/second': serving('openai', 'second'),
        'openai/cheap': serving('openai', 'cheap', '0'),
        'anthropic/first': serving('anthropic', 'first'),
        'anthropic/second': serving('anthropic', 'second'),
        'anthropic/cheap': serving('anthropic', 'cheap', '0'),
      },
      routing: { retries: 0 },
    },
  })
  t.teardown(() => server.stop())
  return { server, providers: { openai, anthropic } }
}

/** What an answer shows, and what the provider was sent for it. */
interface Seen {
  readonly status: number
  readonly text: string
  readonly type: string
  readonly untranslated: readonly string[]
  readonly sent: Json
  readonly record: Json
}

/** Their names stand for the models of either provider. */
function forKind(value: unknown, kind: Kind): Json {
  return JSON.parse(JSON.stringify(value).replaceAll('acme/', `${kind}/`))
}

async function ask({ server, providers }: World, format: Format, kind: Kind, more: object): Promise<Seen> {
  const upstream = providers[kind]
  const before = upstream.requests.length
  const least = format === 'messages' ? { max_tokens: 50 } : {}
  const body = {
    model: `${kind}/first`,
    messages: [{ role: 'user', content: 'Hi.' }],
    ...least,
    ...forKind(more, kind),
  }
  const headers = { 'X-Service-Metadata': 'enabled' }
  const {
    status,
    text,
    headers: answered,
  } = await (format === 'chat' ? askChat : askMessages)(server, body, headers)
  const untranslated = /"untranslated":(\[[^\]]*\])/.exec(text)?.[1] ?? '[]'
  const sent = upstream.requests.length === before ? null : JSON.parse(upstream.requests.at(-1)!.body)
  const record = status === 200 ? await recordOf(server, answered.get('x-generation-id')!) : null
  return {
    status,
    text,
    type: answered.get('content-type')!,
    untranslated: JSON.parse(untranslated),
    sent,
    record,
  }
}

/** What is kept of a call, but for what no two calls have in common. */
async function recordOf(server: GatewayServer, id: string): Promise<Json> {
  for (let tries = 0; tries < 200; tries++) {
    const response = await server.get(`/generation?id=${id}`)
    if (response.status !== 200) continue
    const { data } = (await response.json()) as Json
    return Object.fromEntries(
      Object.entries(data).filter(
        ([name]) => !/id$|time|created|latency|_at$/.test(name) || name === 'session_id',
      ),
    )
  }
  throw new Error(`there is no record of ${id}`)
}

const SAMPLES = {
  chat: { ...CHAT_SAMPLES, ...UNKNOWN_SAMPLES },
  messages: { ...MESSAGES_SAMPLES, ...UNKNOWN_SAMPLES },
} as const satisfies Readonly<Record<Format, Readonly<Record<string, Sample>>>>

async function fateOf(world: World, format: Format, kind: Kind, member: string): Promise<Fate> {
  const sample = (SAMPLES[format] as Readonly<Record<string, Sample>>)[member]
  if (sample === undefined) throw new Error(`no value of ${member} to try with`)
  const without = await ask(world, format, kind, sample.beside ?? {})
  const withIt = await ask(world, format, kind, { ...sample.beside, [member]: sample.value })
  if (withIt.status >= 400) {
    const named = new RegExp(`\\b${member}\\b`)
    if (without.status === withIt.status || (named.test(withIt.text) && !GATEWAY_MEMBERS.has(member)))
      return `refused ${withIt.status}`
  }
  if (withIt.status !== without.status || withIt.type !== without.type) return 'executed'
  if (withIt.untranslated.some((path) => path === member || path.startsWith(`${member}.`))) return 'told'
  const { sent } = withIt
  const isSame = isDeepStrictEqual(sent, without.sent)
  if (isSame && isDeepStrictEqual(shown(withIt), shown(without)))
    return ALWAYS_SO.has(member) ? 'executed' : 'nothing'
  if (isSame || GATEWAY_MEMBERS.has(member)) return 'executed'
  if (isDeepStrictEqual(sent[member], forKind(sample.value, kind))) return 'passed'
  return isDeepStrictEqual(unnamed(sent), unnamed(without.sent)) ? 'hashed' : 'crosses'
}

/** Of routing alone, whatever a provider is sent in the end. */
const GATEWAY_MEMBERS: ReadonlySet<string> = new Set([
  ...['model', 'models', 'fallbacks', 'provider', 'providers', 'route', 'stream', 'debug', 'session_id'],
])

/**
 * What is asked for is done for everybody, or keeps the gateway from marking a prompt of its own accord, which no
 * provider of this test has asked for.
 */
const ALWAYS_SO: ReadonlySet<string> = new Set([...['stream_options', 'prompt_cache_options']])

/** Without the pseudonym of the end user. */
function unnamed({ user: _, metadata: __, ...rest }: Json): Json {
  return rest
}

/** What the caller gets, but for what differs from call to call. */
function shown({ text, record }: Seen): unknown {
  return { text: text.replaceAll(/gen-\w+|"created":\d+|"generation_time":\d+/g, ''), record }
}

// ── The tables as the guide shows them ─────────────────────────────────────────

const PAGE = fileURLToPath(new URL('../../../../docs/guide/request-members.md', import.meta.url))

function block(name: string): RegExp {
  return new RegExp(`(?<=<!-- members of ${name}:begin -->\\n).*(?=<!-- members of ${name}:end -->)`, 's')
}

export function memberTable(rows: readonly MemberRow[]): string {
  const lines = rows.map(
    ({ member, fates }) => `| \`${member}\` | ${KINDS.map((kind) => fates[kind]).join(' | ')} |`,
  )
  return [
    '| Member | to an `openai` provider | to an `anthropic` provider |',
    '| - | - | - |',
    ...lines,
    '',
  ].join('\n')
}

/** What stands between the two marks of the page; null when the marks are not there. */
export function tableOfPage(name: string): string | null {
  return block(name).exec(readFileSync(PAGE, 'utf8'))?.[0] ?? null
}

export function writeTables(tables: MemberTables): void {
  const page = Object.entries(tables).reduce(
    (text, [name, rows]) => text.replace(block(name), memberTable(rows)),
    readFileSync(PAGE, 'utf8'),
  )
  writeFileSync(PAGE, page)
}
