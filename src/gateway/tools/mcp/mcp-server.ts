/** One MCP server: connected when it is first needed, kept for all callers, and connected anew after it was gone. */
import type { CallToolResult, Client, Tool, Transport } from '@modelcontextprotocol/client'
import type { Clock } from '../../../base/clock.js'
import { FetchShares } from '../../../upstream/fetch-shares.js'
import { connectTo, failureOf, httpStatusOf, type McpFailure, type McpLibrary } from './connect.js'

interface McpServerOptions {
  /** What the log says was reached: a host, or the label of a command. */
  readonly place: string
  /** A fresh transport for each connection. */
  openTransport(library: McpLibrary): Transport
  /** Milliseconds of one request. */
  readonly timeoutMs: number
  /** Calls of all organizations at a time; one alone gets a quarter, and each its share (`FetchShares`). */
  readonly concurrentCalls: number
  readonly clock: Pick<Clock, 'monotonicMs'>
}

interface McpCall {
  readonly tool: Tool
  readonly arguments: Record<string, unknown>
  readonly organizationId: string
  readonly signal: AbortSignal
  /** Milliseconds that are left for it. */
  readonly timeoutMs: number
}

type McpAnswer<T> =
  | { readonly ok: true; readonly value: T }
  | ({ readonly ok: false; readonly wasAsked: boolean } & McpFailure)

const CONNECT_MS = 10_000
/** After a connection could not be made, whoever asks is told the same for so long. */
const COOL_DOWN_MS = 2_000
/** A server that cannot tell that its list has changed is asked again. */
const LIST_MS = 300_000

export class McpServer {
  readonly place: string
  /** Milliseconds of one request at most. */
  readonly timeoutMs: number
  readonly #options: McpServerOptions
  readonly #shares: FetchShares
  #connection: Promise<Client> | null = null
  /** Of the latest connection, also while it is being opened. */
  #transport: Transport | null = null
  #failure: { readonly error: unknown; readonly at: number } | null = null
  #list: { readonly tools: readonly Tool[]; readonly until: number } | null = null
  #listing: Promise<McpAnswer<readonly Tool[]>> | null = null
  #calls = 0
  #closed = false

  constructor(options: McpServerOptions) {
    this.place = options.place
    this.timeoutMs = options.timeoutMs
    this.#options = options
    this.#shares = new FetchShares(options.concurrentCalls)
  }

  /** Nobody waits for it. */
  get isIdle(): boolean {
    return this.#calls === 0 && this.#listing === null
  }

  get #now(): number {
    return this.#options.clock.monotonicMs()
  }

  /** What it offers; what it offered last, where it cannot be asked. Never rejects. */
  async tools(): Promise<McpAnswer<readonly Tool[]>> {
    const known = this.#list
    if (known !== null && known.until > this.#now) return { ok: true, value: known.tools }
    this.#listing ??= this.#askForTools()
    const answer = await this.#listing
    return answer.ok || known === null ? answer : { ok: true, value: known.tools }
  }

  /** Asked once for all who wait for it. */
  async #askForTools(): Promise<McpAnswer<readonly Tool[]>> {
    try {
      const client = await this.#connected()
      const signal = AbortSignal.timeout(this.#patienceMs)
      const { tools } = await client.listTools(undefined, { timeout: this.#patienceMs, signal })
      this.#list = { tools, until: this.#now + LIST_MS }
      return { ok: true, value: tools }
    } catch (error) {
      return { ok: false, ...failureOf(error), wasAsked: false }
    } finally {
      this.#listing = null
    }
  }

  /** Of what a request waits for before it is admitted. */
  get #patienceMs(): number {
    return Math.min(CONNECT_MS, this.timeoutMs)
  }

  /** Never rejects. Resolves as soon as the signal is aborted, and the server is told so. */
  async call(call: McpCall): Promise<McpAnswer<CallToolResult>> {
    let answer: McpAnswer<CallToolResult> | null = null
    let hasBegun = false
    this.#calls++
    const turn = this.#shares.run(call.organizationId, async () => {
      if (call.signal.aborted) return
      hasBegun = true
      answer = await this.#callNow(call, true)
    })
    const wasTaken = await Promise.race([turn, untilAborted(call.signal)])
    this.#calls--
    const reason = wasTaken ? 'did not answer in time' : 'has too many calls waiting'
    return answer ?? { ok: false, reason, wasAsked: hasBegun }
  }

  async #callNow(call: McpCall, mayRepeat: boolean): Promise<McpAnswer<CallToolResult>> {
    let client: Client | null = null
    try {
      client = await this.#connected()
      const { tool, signal, timeoutMs: timeout } = call
      const question = { name: tool.name, arguments: call.arguments }
      return { ok: true, value: await client.callTool(question, { signal, timeout, toolDefinition: tool }) }
    } catch (error) {
      // What knows nothing of the session any more has not run the call.
      if (client !== null && mayRepeat && httpStatusOf(error) === 404) {
        await client.close().catch(() => {})
        return this.#callNow(call, false)
      }
      return { ok: false, ...failureOf(error), wasAsked: client !== null }
    }
  }

  #connected(): Promise<Client> {
    const failure = this.#failure
    if (this.#closed) return Promise.reject(new Error('it is no longer configured'))
    if (this.#connection !== null) return this.#connection
    if (failure !== null && this.#now < failure.at + COOL_DOWN_MS) return Promise.reject(failure.error)
    const connection: Promise<Client> = connectTo({
      openTransport: (library) => {
        if (this.#closed) throw new Error('it is no longer configured')
        this.#transport = this.#options.openTransport(library)
        return this.#transport
      },
      timeoutMs: this.#patienceMs,
      onGone: () => this.#forget(connection),
      onListChanged: () => this.#outdateList(),
    })
    connection.catch((error: unknown) => {
      this.#failure = { error, at: this.#now }
      this.#forget(connection)
    })
    this.#connection = connection
    return connection
  }

  /** Whoever asks next opens another one; the server may have become another as well. */
  #forget(connection: Promise<Client>): void {
    if (this.#connection !== connection) return
    this.#connection = null
    this.#outdateList()
  }

  #outdateList(): void {
    if (this.#list !== null) this.#list = { ...this.#list, until: 0 }
  }

  /** Calls under way fail, and a connection that is being opened. Resolves when a command has ended. */
  async close(): Promise<void> {
    this.#closed = true
    await this.#transport?.close().catch(() => {})
    const client = await this.#connection?.catch(() => null)
    await client?.close().catch(() => {})
  }
}

function untilAborted(signal: AbortSignal): Promise<true> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(true)
    else signal.addEventListener('abort', () => resolve(true), { once: true })
  })
}
