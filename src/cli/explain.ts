/**
 * `sluice explain`: where a request would go and why. Asks a running server, which knows how its endpoints are, or
 * plans from the configuration alone.
 */
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { systemClock } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import { ANONYMOUS } from '../base/principal.js'
import { composeRouting } from '../compose/routing.js'
import type { Config } from '../config/config.js'
import { buildCatalog } from '../gateway/catalog/catalog.js'
import type { Provider } from '../gateway/providers/port/provider.js'
import { explainRouting, type RoutingExplanation } from '../gateway/routing/explain.js'
import { messagesOverChat } from '../gateway/translation/messages-over-chat.js'
import { faultMessage } from '../http/dialects/gateway.js'
import { endpointFilterFor, requestToExplain } from '../inference-http/request-to-explain.js'
import {
  type CommandFailure,
  type CommandResult,
  commandFailure,
  sanitizeForTerminal,
  usageError,
} from './command-result.js'
import { formatTable } from './text-table.js'

const EXPLAIN_USAGE = `usage: sluice explain [FILE]

Reads the body of a chat or messages request, from FILE or from standard input, and tells which endpoints would
serve it, in which order and why. Nobody is called.

  --server URL   ask the server that runs there, which knows the state of its endpoints; its management key is
                 taken from SLUICE_MANAGEMENT_KEY. Without it the plan follows from the configuration alone
  --json         as JSON
`

interface ExplainPorts {
  readonly print: (fd: 1 | 2, text: string) => void
  /** All of standard input. */
  readonly readInput: () => string
}

/** @returns the exit code: 0 when explained, 1 when there is no plan or no answer, 2 when it was no command */
export async function explainCommand(
  args: readonly string[],
  config: Config,
  { print, readInput }: ExplainPorts,
): Promise<0 | 1 | 2> {
  const outcome = await runExplain(args, config, readInput)
  if ('text' in outcome) {
    print(1, outcome.text)
    return 0
  }
  print(
    2,
    outcome.code === 2
      ? `sluice: ${outcome.complaint}\n\n${EXPLAIN_USAGE}`
      : `sluice: ${outcome.complaint}\n`,
  )
  return outcome.code
}

async function runExplain(
  args: readonly string[],
  config: Config,
  readInput: () => string,
): Promise<CommandResult | CommandFailure> {
  const words = parseExplainArgs(args)
  if ('complaint' in words) return words
  const request = readInferenceRequest(words.file, readInput)
  if (typeof request === 'string') return commandFailure(request)
  const told =
    words.server === undefined
      ? explainFromConfig(config, request)
      : await explainFromServer(words.server, config.managementKey, request)
  if (typeof told === 'string') return commandFailure(told)
  return { text: words.json ? `${JSON.stringify(told, null, 2)}\n` : formatExplanation(told) }
}

interface ExplainArgs {
  readonly file: string | undefined
  readonly server: string | undefined
  readonly json: boolean
}

function parseExplainArgs(args: readonly string[]): ExplainArgs | CommandFailure {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: { server: { type: 'string' }, json: { type: 'boolean' } },
      allowPositionals: true,
    })
    if (positionals.length > 1) return usageError('explain takes one file')
    return { file: positionals[0], server: values.server, json: values.json === true }
  } catch (error) {
    return usageError((error as Error).message)
  }
}

/** A sentence when there is none. */
function readInferenceRequest(file: string | undefined, readInput: () => string): object | string {
  try {
    const text = file === undefined || file === '-' ? readInput() : readFileSync(file, 'utf8')
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      return 'the request must be a JSON object'
    return value
  } catch (error) {
    return `the request cannot be read: ${(error as Error).message}`
  }
}

function explainFromConfig({ gateway }: Config, value: object): RoutingExplanation | string {
  const catalog = buildCatalog(gateway, {
    createProvider: () => NEVER_CALLED,
    messagesOver: messagesOverChat,
  })
  const routing = composeRouting(gateway.routing, 0, systemClock, null)
  try {
    const request = requestToExplain(value)
    return explainRouting(catalog, request, ANONYMOUS, endpointFilterFor(request), routing)
  } catch (error) {
    if (error instanceof Fault) return faultMessage(error)
    throw error
  }
}

const NEVER_CALLED = {} as Provider

const SERVER_TIMEOUT_MS = 10_000

async function explainFromServer(
  server: string,
  key: string,
  request: object,
): Promise<RoutingExplanation | string> {
  if (key === '') return 'SLUICE_MANAGEMENT_KEY is needed to ask a server'
  try {
    const response = await fetch(new URL('/api/v1/routing/explain', server), {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(request),
      signal: AbortSignal.timeout(SERVER_TIMEOUT_MS),
    })
    const body = (await response.json()) as { data?: RoutingExplanation; error?: { message?: string } }
    if (response.ok && Array.isArray(body.data?.endpoints)) return body.data
    return `the server answered ${response.status}: ${sanitizeForTerminal(body.error?.message ?? 'no reason given')}`
  } catch (error) {
    return `the server at ${server} did not answer: ${(error as Error).message}`
  }
}

function formatExplanation({ requested, total, endpoints, excluded }: RoutingExplanation): string {
  const rows = endpoints.map(({ position, provider, model, state, price, why }) => [
    String(position),
    sanitizeForTerminal(provider),
    sanitizeForTerminal(model),
    state,
    `$${price}`,
    sanitizeForTerminal(why.join('; ')),
  ])
  const head = `${requested}: ${endpoints.length} of ${total} endpoints, in order of trial\n\n`
  const tried = formatTable([['', 'provider', 'model', 'state', 'per million', 'why'], ...rows])
  if (excluded.length === 0) return head + tried
  const left = formatTable([
    ['provider', 'model', 'excluded'],
    ...excluded.map((one) => [
      sanitizeForTerminal(one.provider),
      sanitizeForTerminal(one.model),
      sanitizeForTerminal(one.why),
    ]),
  ])
  return `${head}${tried}\n${left}`
}
