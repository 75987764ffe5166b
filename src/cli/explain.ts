/**
 * `sluice explain`: where a request would go and why. Asks a running server, which knows how its endpoints are, or
 * plans from the configuration alone.
 */
import { readFileSync } from 'node:fs'
import { systemClock } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import { ANONYMOUS } from '../base/principal.js'
import { composeRouting } from '../compose/routing.js'
import type { Config } from '../config/config.js'
import type { GenerationAnswer } from '../features/generation/endpoints.js'
import type { RequestExplanation } from '../features/routing/endpoints.js'
import { buildCatalog } from '../gateway/catalog/catalog.js'
import type { Provider } from '../gateway/providers/port/provider.js'
import { explainRouting } from '../gateway/routing/explain.js'
import { messagesOverChat } from '../gateway/translation/messages-over-chat.js'
import { faultDetail } from '../http/dialects/gateway.js'
import { endpointFilterFor, requestToExplain } from '../inference-http/request-to-explain.js'
import {
  type CommandOutput,
  type CommandPorts,
  failCommand,
  failUsage,
  formatTable,
  parseCommandArgs,
  runCommand,
  sanitizeForTerminal,
} from './command.js'
import { formatGeneration } from './explain-generation.js'

const EXPLAIN_USAGE = `usage: sluice explain [FILE | gen-ID]

Reads the body of a chat or messages request, from FILE or from standard input, and tells which endpoints would
serve it, in which order and why. Nobody is called. For the id of a generation it tells how that one came about.

  --server URL   ask the server that runs there, which knows the state of its endpoints and its ledger; its
                 management key is taken from SLUICE_MANAGEMENT_KEY. Without it the plan follows from the
                 configuration alone
  --json         as JSON
`

/** @returns the exit code: 0 when explained, 1 when there is no plan or no answer, 2 when it was no command */
export function explainCommand(
  args: readonly string[],
  settings: () => Promise<Config>,
  { print, readInput }: CommandPorts,
): Promise<number> {
  return runCommand({ args, usage: EXPLAIN_USAGE, print }, async (): Promise<CommandOutput> => {
    const options = { server: { type: 'string' }, json: { type: 'boolean' } } as const
    const { values, positionals } = parseCommandArgs('explain', args, options)
    if (positionals.length > 1) failUsage('explain takes one file or generation')
    const config = await settings()
    const [named = '-'] = positionals
    if (named.startsWith('gen-')) {
      if (values.server === undefined) failUsage('a generation is explained by its server: --server URL')
      const told = await readGeneration(values.server, config.managementKey, named)
      return { text: values.json === true ? `${JSON.stringify(told, null, 2)}\n` : formatGeneration(told) }
    }
    const request = readInferenceRequest(named, readInput)
    const explanation =
      values.server === undefined
        ? explainFromConfig(config, request)
        : await explainFromServer(values.server, config.managementKey, request)
    const isJson = values.json === true
    return { text: isJson ? `${JSON.stringify(explanation, null, 2)}\n` : formatExplanation(explanation) }
  })
}

function readInferenceRequest(file: string, readInput: () => string): object {
  let value: unknown
  try {
    value = JSON.parse(file === '-' ? readInput() : readFileSync(file, 'utf8'))
  } catch (error) {
    return failCommand(`the request cannot be read: ${(error as Error).message}`)
  }
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  return isObject ? (value as object) : failCommand('the request must be a JSON object')
}

/** What tools and plugins come to depends on what runs beside the server. */
const ONLY_BY_SERVER = 'only a running server knows its tools and plugins: ask it with --server'

/** `loop` is a sentence where a server has to be asked. */
type ExplanationFound = Omit<RequestExplanation, 'loop'> & {
  readonly loop: RequestExplanation['loop'] | typeof ONLY_BY_SERVER
}

function explainFromConfig({ gateway }: Config, body: object): ExplanationFound {
  const catalog = buildCatalog(gateway, {
    createProvider: () => NEVER_CALLED,
    messagesOver: messagesOverChat,
  })
  const routing = composeRouting({ config: { gateway }, worker: 0, clock: systemClock, broadcast: null })
  try {
    const request = requestToExplain(body)
    const plan = explainRouting(catalog, request, ANONYMOUS, endpointFilterFor(request), routing)
    return { ...plan, loop: request.tooling === undefined ? null : ONLY_BY_SERVER }
  } catch (error) {
    if (error instanceof Fault) return failCommand(faultDetail(error) ?? error.kind)
    throw error
  }
}

const NEVER_CALLED = {} as Provider

const SERVER_TIMEOUT_MS = 10_000

async function explainFromServer(server: string, key: string, request: object): Promise<RequestExplanation> {
  const asked = { path: '/api/v1/routing/explain', method: 'POST' as const, body: JSON.stringify(request) }
  return askServer<RequestExplanation>(server, key, asked, (told) => Array.isArray(told.endpoints))
}

async function readGeneration(server: string, key: string, id: string): Promise<GenerationAnswer> {
  const asked = {
    path: `/api/v1/generation?id=${encodeURIComponent(id)}`,
    method: 'GET' as const,
    body: null,
  }
  return askServer<GenerationAnswer>(server, key, asked, (told) => Array.isArray(told.candidates))
}

interface ServerQuestion {
  readonly path: string
  readonly method: 'GET' | 'POST'
  readonly body: string | null
}

/** The `data` of the answer. `isOurs`: whether it is what was asked for. */
async function askServer<T>(
  server: string,
  key: string,
  { path, method, body: sent }: ServerQuestion,
  isOurs: (data: T) => boolean,
): Promise<T> {
  if (key === '') failCommand('SLUICE_MANAGEMENT_KEY is needed to ask a server')
  let response: Response
  let body: { readonly data?: T; readonly error?: { readonly message?: string } }
  try {
    response = await fetch(new URL(path, server), {
      method,
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: sent,
      signal: AbortSignal.timeout(SERVER_TIMEOUT_MS),
    })
    body = (await response.json()) as typeof body
  } catch (error) {
    return failCommand(`the server at ${server} did not answer: ${(error as Error).message}`)
  }
  if (response.ok && body.data !== undefined && isOurs(body.data)) return body.data
  const reason = sanitizeForTerminal(body.error?.message ?? 'no reason given')
  return failCommand(`the server answered ${response.status}: ${reason}`)
}

function formatExplanation({ requested, total, endpoints, excluded, loop }: ExplanationFound): string {
  const tables = [
    formatTable([
      ['', 'provider', 'model', 'state', 'per million', 'chance', 'why'],
      ...endpoints.map(({ position, provider, model, state, price, probability, why }) => {
        const chance = probability === null ? '-' : probability.toFixed(3)
        return [String(position), provider, model, state, `$${price}`, chance, why.join('; ')]
      }),
    ]),
  ]
  if (excluded.length > 0) {
    const rows = excluded.map(({ provider, model, why }) => [provider, model, why])
    tables.push(formatTable([['provider', 'model', 'excluded'], ...rows]))
  }
  if (loop !== null) tables.push(typeof loop === 'string' ? `${loop}\n` : formatLoop(loop))
  const head = `${requested}: ${endpoints.length} of ${total} endpoints, in order of trial`
  return `${head}\n\n${tables.join('\n')}`
}

function formatLoop({ tools, plugins, route, cost }: NonNullable<RequestExplanation['loop']>): string {
  const parts: string[] = []
  if (tools.length > 0) {
    const rows = tools.map(({ type, backend, functions, fee }) => [
      type,
      backend,
      functions.join(', '),
      `$${fee}`,
    ])
    parts.push(formatTable([['tool', 'run by', 'functions', 'a call'], ...rows]))
  }
  if (plugins.length > 0) {
    const rows = plugins.map(({ id, unasked }) => [id, unasked ? 'unasked' : 'as asked'])
    parts.push(formatTable([['plugin', 'runs'], ...rows]))
  }
  if (route !== null) parts.push(`${route.id} has chosen the model: ${route.reason}\n`)
  const { turn, most_turns: turns, most_fees: fees, max_cost: limit, most } = cost
  const bound = most === null ? 'nothing bounds the whole' : `$${most} at most`
  const ended = limit === null ? '' : `; ends beyond $${limit}`
  parts.push(
    `cost: $${turn} set aside for the first of at most ${turns} turns, $${fees} of fees at most; ${bound}${ended}\n`,
  )
  return parts.join('\n')
}
