/** The only place that loads the library of the protocol: one connection to a server, in whichever of its wire generations. */
import type {
  Client,
  JsonSchemaValidator,
  jsonSchemaValidator,
  Transport,
} from '@modelcontextprotocol/client'
import { VERSION } from '../../../base/version.js'

/** Loaded with the first connection. */
export type McpLibrary = typeof import('@modelcontextprotocol/client')

interface McpConnectionOptions {
  /** A fresh transport. */
  openTransport(library: McpLibrary): Transport
  /** Milliseconds for the connection. */
  readonly timeoutMs: number
  onGone(): void
  onListChanged(): void
}

const MOST_PAGES = 8

/** What a tool answers is told to a model as it is: schemas of servers are not run here. */
const UNCHECKED: jsonSchemaValidator = {
  getValidator<T>(): JsonSchemaValidator<T> {
    return (data) => ({ valid: true, data: data as T, errorMessage: undefined })
  },
}

/** A server of the older generation that says nothing to the question which one it is of. */
const PROBE_MS = 3_000

/** Takes some 200 ms of this thread the first time: where servers are configured that is done before the first call. */
export function loadMcpLibrary(): Promise<McpLibrary> {
  return import('@modelcontextprotocol/client')
}

/** Rejects with what went wrong; nothing is left of the connection then. */
export async function connectTo(options: McpConnectionOptions): Promise<Client> {
  const library = await loadMcpLibrary()
  try {
    return await connectAs('auto', library, options)
  } catch (error) {
    // A server of the older generation may end at the question which one it is of.
    if ((error as LibraryError).code !== library.SdkErrorCode.EraNegotiationFailed) throw error
    return connectAs('legacy', library, options)
  }
}

async function connectAs(
  mode: 'auto' | 'legacy',
  library: McpLibrary,
  { openTransport, timeoutMs: timeout, onGone, onListChanged }: McpConnectionOptions,
): Promise<Client> {
  const client = new library.Client(
    { name: 'sluice', version: VERSION },
    {
      // A server may ask a client for nothing: neither for answers of models or people, nor for files.
      capabilities: {},
      inputRequired: { autoFulfill: false },
      jsonSchemaValidator: UNCHECKED,
      versionNegotiation: { mode, probe: { timeoutMs: Math.min(PROBE_MS, timeout) } },
      listMaxPages: MOST_PAGES,
      listChanged: { tools: { autoRefresh: false, onChanged: onListChanged } },
    },
  )
  client.onerror = () => {}
  try {
    await client.connect(openTransport(library), { timeout })
  } catch (error) {
    await client.close().catch(() => {})
    throw error
  }
  client.onclose = onGone
  if (client.transport === undefined)
    throw new library.SdkError(library.SdkErrorCode.ConnectionClosed, 'closed')
  return client
}

interface LibraryError {
  readonly code?: unknown
  readonly message?: unknown
  readonly data?: { readonly status?: unknown }
}

/** Status of the HTTP answer that an error is about; null where it is about none. */
export function httpStatusOf(error: unknown): number | null {
  const status = ((error ?? {}) as LibraryError).data?.status
  return typeof status === 'number' ? status : null
}

const LONGEST_DETAIL = 500

const REASONS: Readonly<Record<string, string>> = {
  REQUEST_TIMEOUT: 'did not answer in time',
  CONNECTION_CLOSED: 'ended the connection',
  NOT_CONNECTED: 'ended the connection',
  ENOENT: 'could not be started',
  EACCES: 'could not be started',
  UNSUPPORTED_RESULT_TYPE: 'asked for input, which nobody gives here',
}

/** `reason` goes on from the name of the server, in our words; `detail` may be in the server's. */
export interface McpFailure {
  readonly reason: string
  readonly detail?: string
}

/** The body of an answer that refuses is not told: it may repeat what was sent. */
export function failureOf(error: unknown): McpFailure {
  const status = httpStatusOf(error)
  if (status !== null) return { reason: `answered with status ${status}` }
  const { code, message } = (error ?? {}) as LibraryError
  const reason = REASONS[String(code)]
  return reason === undefined
    ? { reason: 'failed', detail: String(message).slice(0, LONGEST_DETAIL) }
    : { reason }
}
