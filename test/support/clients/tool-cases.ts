/**
 * Every server tool and plugin once, as a public client asks for it: what the request says, what the simulated agent is
 * told to do, and what must come of it, whole and streamed.
 */
import type { Test } from 'tap'
import type { GatewayServer } from '../servers/gateway-server.js'

export interface ToolCase {
  readonly name: string
  /** Of the chat format. */
  readonly tools?: readonly Readonly<Record<string, unknown>>[]
  readonly plugins?: readonly Readonly<Record<string, unknown>>[]
  /** No operation of the messages format has it. */
  readonly chatOnly?: true
  /** Other gateways of this kind do not have it, so their client cannot say it. */
  readonly ours?: true
  /** `sim/agent` when absent. */
  readonly model?: string
  /** Further members of the request. */
  readonly more?: Readonly<Record<string, unknown>>
  readonly messagesMore?: Readonly<Record<string, unknown>>
  readonly script: string
  /** What the answer says. */
  readonly says: RegExp
  /** Rows of the generation beside its turns, `kind name`. */
  readonly rows: readonly string[]
  /** Results that differ from call to call: ids, times. Then texts and figures are not compared. */
  readonly varies?: true
}

const search = '{"query":"tidal power"}'

export const TOOL_CASES: readonly ToolCase[] = [
  {
    name: 'datetime',
    tools: [{ type: 'service:datetime', parameters: { timezone: 'Europe/Oslo' } }],
    script: 'say Now.\ncall service:datetime\nanswer Done.',
    says: /Done\./,
    rows: ['tool datetime'],
    varies: true,
  },
  {
    name: 'web_search',
    tools: [{ type: 'service:web_search', parameters: { max_results: 3 } }],
    script: `call service:web_search ${search}`,
    says: /https:\/\//,
    rows: ['tool web_search'],
  },
  {
    name: 'experimental__search_models',
    tools: [{ type: 'service:experimental__search_models' }],
    script: 'call service:experimental__search_models {"query":"agent"}',
    says: /sim\/agent/,
    rows: ['tool experimental__search_models'],
  },
]

/** The configuration file of a server that runs them all. */
export function toolServerConfig(): Readonly<Record<string, unknown>> {
  return {}
}

/** What a generation came to. */
interface GenerationRows {
  readonly total_cost: number
  readonly rows: readonly { readonly kind: string; readonly name: string; readonly charged: number }[]
}

/** Checks what an answer says and costs against its rows; money in dollars. */
export async function checkAnswer(
  t: Test,
  server: GatewayServer,
  each: ToolCase,
  answer: { readonly id: string; readonly text: string; readonly cost: number | undefined },
): Promise<void> {
  t.match(answer.text, each.says)
  const { rows, total_cost } = await generationRows(server, answer.id)
  const told = rows.filter(({ kind }) => kind !== 'turn').map(({ kind, name }) => `${kind} ${name}`)
  t.strictSame(told.sort(), [...each.rows].sort())
  const charged = rows.reduce((sum, row) => sum + toNanos(row.charged), 0)
  t.equal(charged, toNanos(total_cost), 'the rows are what the generation cost')
  if (answer.cost !== undefined) t.equal(toNanos(answer.cost), charged, 'and what the answer says it cost')
}

function toNanos(dollars: number): number {
  return Math.round(dollars * 1e9)
}

async function generationRows(server: GatewayServer, id: string): Promise<GenerationRows> {
  const reply = await server.get(`/generation?id=${id}`)
  const { data } = (await reply.json()) as { readonly data: GenerationRows }
  return data
}
