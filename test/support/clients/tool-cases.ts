/**
 * Every server tool and plugin once, as a public client asks for it: what the request says, what the simulated agent is
 * told to do, and what must come of it, whole and streamed.
 */
import type { Test } from 'tap'
import { pdfOf } from '../data/pdf.js'
import type { GatewayServer } from '../servers/gateway-server.js'
import { whyNoSandbox } from '../tools/local-sandbox.js'

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
  /** A PDF that comes with the message. */
  readonly attachment?: Buffer
  readonly script: string
  /** What the answer says. */
  readonly says: RegExp
  /** Rows of the generation beside its turns, `kind name`. */
  readonly rows: readonly string[]
  /** Another model than the agent answers. */
  readonly choosesModel?: true
  /** Results that differ from call to call: ids, times. Then texts and figures are not compared. */
  readonly varies?: true
}

/** A document of one page that says "Tides turn twice a day." */
const PDF = pdfOf('Tides turn twice a day.')
const OUTSIDE = 'https://waterworks.example/reports/2025.pdf'

/** Where this machine has none, its absence has a test of its own (test/gateway/tools/bash). */
const HAS_SANDBOX = (await whyNoSandbox()) === null

const BASH: ToolCase = {
  name: 'bash',
  tools: [{ type: 'service:bash' }],
  script: 'call service:bash {"command":"echo $((6 * 7))"}',
  says: /42/,
  rows: ['tool bash'],
  varies: true,
}

export const TOOL_CASES: readonly ToolCase[] = [
  ...(HAS_SANDBOX ? [BASH] : []),
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
    script: 'call service:web_search {"query":"gate three"}',
    says: /https:\/\//,
    rows: ['tool web_search'],
  },
  {
    name: 'web_fetch',
    tools: [{ type: 'service:web_fetch' }],
    script: `call service:web_fetch {"url":"${OUTSIDE}"}`,
    says: /waterworks\.example/,
    rows: ['tool web_fetch'],
    varies: true,
  },
  {
    name: 'files',
    tools: [{ type: 'service:files' }],
    script: 'call service:files {"command":"write","filename":"a.txt","content":"Oats."}',
    says: /a\.txt/,
    rows: ['tool files'],
    varies: true,
  },
  {
    name: 'image_generation',
    tools: [{ type: 'service:image_generation', parameters: { size: '32x32' } }],
    script: 'call service:image_generation {"prompt":"a fox"}\nanswer Here it is.',
    says: /Here it is/,
    rows: ['tool image_generation', 'painter sim/painter'],
    varies: true,
  },
  {
    name: 'advisor',
    tools: [{ type: 'service:advisor', parameters: { model: 'sim/instant' } }],
    script: 'call service:advisor {"prompt":"What now?"}\nanswer Advised.',
    says: /Advised/,
    rows: ['tool advisor', 'advisor sim/instant'],
  },
  {
    name: 'subagent',
    tools: [{ type: 'service:subagent', parameters: { model: 'sim/instant' } }],
    script: 'call service:subagent {"task_name":"count","task_description":"Count."}\nanswer Counted.',
    says: /Counted/,
    rows: ['tool subagent', 'subagent sim/instant'],
  },
  {
    name: 'fusion',
    tools: [
      {
        type: 'service:fusion',
        parameters: { model: 'sim/instant', analysis_models: ['sim/instant', 'sim/fast'] },
      },
    ],
    script: 'call service:fusion {"prompt":"Compare."}\nanswer Compared.',
    says: /Compared/,
    rows: ['tool fusion', 'panel sim/fast', 'panel sim/instant', 'judge sim/instant'],
    varies: true,
  },
  {
    name: 'experimental__search_models',
    tools: [{ type: 'service:experimental__search_models' }],
    script: 'call service:experimental__search_models {"query":"agent"}',
    says: /sim\/agent/,
    rows: ['tool experimental__search_models'],
  },
  {
    name: 'memory',
    tools: [{ type: 'service:memory' }],
    script: 'call service:memory {"command":"view","path":"/memories"}\nanswer Remembered.',
    says: /Remembered/,
    rows: ['tool memory'],
    ours: true,
  },
  {
    name: 'mcp',
    tools: [{ type: 'service:mcp', parameters: { server_label: 'sim' } }],
    script: 'call sim__add {"a":2,"b":3}',
    says: /5/,
    rows: ['tool mcp'],
    ours: true,
  },
  {
    name: 'web plugin',
    plugins: [{ id: 'web', max_results: 2 }],
    script: 'answer gate three',
    says: /gate three/,
    rows: ['plugin web'],
  },
  {
    name: 'web-fetch plugin',
    plugins: [{ id: 'web-fetch' }],
    script: `Read ${OUTSIDE} please.\nanswer Read.`,
    says: /Read\./,
    rows: ['plugin web-fetch'],
    varies: true,
  },
  {
    name: 'file-parser',
    plugins: [{ id: 'file-parser', pdf: { engine: 'pdf-text' } }],
    attachment: PDF,
    script: 'answer Seen.',
    says: /Seen/,
    rows: [],
    varies: true,
  },
  {
    name: 'response-healing',
    plugins: [{ id: 'response-healing' }],
    more: { response_format: { type: 'json_object' } },
    script: 'answer {"a":[1,2',
    says: /^\{"a":\s*\[1,\s*2\]\}$/,
    rows: [],
    chatOnly: true,
  },
  {
    name: 'context-compression',
    plugins: [{ id: 'context-compression', engine: 'middle-out' }],
    script: 'answer Short.',
    says: /Short/,
    rows: [],
  },
  {
    name: 'auto-router',
    plugins: [{ id: 'auto-router', allowed_models: ['sim/fast'] }],
    script: 'Say hello.',
    says: /./,
    rows: [],
    choosesModel: true,
  },
  {
    name: 'pareto-router',
    plugins: [{ id: 'pareto-router', max_price: 1000 }],
    script: 'Say hello.',
    says: /./,
    rows: [],
    varies: true,
    choosesModel: true,
  },
  {
    name: 'jev-router',
    plugins: [{ id: 'jev-router', models: ['sim/fast', 'sim/standard'] }],
    script: 'Say hello.',
    says: /./,
    rows: [],
    varies: true,
    choosesModel: true,
    ours: true,
  },
  {
    name: 'moderation',
    plugins: [{ id: 'moderation' }],
    script: 'answer Moderated.',
    says: /Moderated/,
    rows: ['judge sim/judge'],
  },
  {
    name: 'alignment',
    plugins: [{ id: 'alignment', rules: ['Never say "cat".'] }],
    script: 'answer Dogs are nice.',
    says: /Dogs/,
    rows: ['judge sim/judge'],
    ours: true,
  },
  {
    name: 'switchyard-router',
    plugins: [{ id: 'switchyard-router', algorithm: 'passthrough' }],
    script: 'answer Chosen.',
    says: /Chosen/,
    rows: [],
  },
  {
    name: 'fusion plugin',
    plugins: [{ id: 'fusion', model: 'sim/instant', analysis_models: ['sim/instant'] }],
    script: 'answer Fused.',
    says: /./,
    rows: [],
    varies: true,
  },
]

/** The configuration file of a server that runs them all. */
export function toolServerConfig(): Readonly<Record<string, unknown>> {
  return { tools: { bash: { enabled: HAS_SANDBOX } } }
}

/** What the user says, in the chat format. */
export function chatContent({ script, attachment }: ToolCase) {
  if (attachment === undefined) return script
  const file_data = `data:application/pdf;base64,${attachment.toString('base64')}`
  return [
    { type: 'file', file: { filename: 'a.pdf', file_data } },
    { type: 'text', text: script },
  ]
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
