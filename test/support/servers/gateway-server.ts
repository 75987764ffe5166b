/** The built server as a gateway, with credentials the test knows. */
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolder } from '../data/temp-folder.js'
import { type PracticeServer, type PracticeServerOptions, startPracticeServer } from './practice-server.js'
import { API_KEY, KEYS, MANAGEMENT_KEY } from './server-process.js'

export { API_KEY, MANAGEMENT_KEY }

/** Tests put it into prompts: `stop` and `askChat` fail where any sink of the server repeats it. */
export const CANARY_PROMPT = 'canary-prompt-5d1f0c72'

export interface GatewayServer extends PracticeServer {
  /** What OpenAI-compatible clients are given. */
  readonly apiUrl: string
  /** Reads with a key, the API key unless told. */
  get(path: string, key?: string): Promise<Response>
  /** Sends a value as JSON, or a form or bytes as they are, with a key, the API key unless told; `''` is none. */
  post(path: string, body: unknown, options?: PostOptions): Promise<Response>
  /** Replaces the configuration file, in one step. Throws where there is no file. */
  write(config: Readonly<Record<string, unknown>>): void
  /** The same, and asks for a reload. */
  reload(config: Readonly<Record<string, unknown>>): void
  /** As for every server; rejects also when its log or its metrics hold a key or the canary prompt. */
  stop(): Promise<void>
}

interface PostOptions {
  readonly key?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

interface GatewayServerOptions extends PracticeServerOptions {
  /** The configuration file, as a value; JSON is YAML. */
  readonly config?: Readonly<Record<string, unknown>>
}

/** Starts a server; without a configuration only the simulated models exist. */
export async function startGateway(options: GatewayServerOptions = {}): Promise<GatewayServer> {
  const { config, ...rest } = options
  const path = config === undefined ? null : join(makeFolder(), 'sluice.json')
  const env: Record<string, string> = { ...KEYS, ...rest.env }
  if (path !== null) {
    env.SLUICE_CONFIG = path
    writeFileSync(path, JSON.stringify(config))
  }
  const server = await startPracticeServer({ ...rest, env })
  const apiUrl = `${server.baseUrl}/api/v1`
  const write = (next: Readonly<Record<string, unknown>>): void => {
    if (path === null) throw new Error('this server was started without a configuration file')
    writeFileSync(`${path}.new`, JSON.stringify(next))
    renameSync(`${path}.new`, path)
  }
  return {
    ...server,
    apiUrl,
    get: (path, key = API_KEY) => fetch(apiUrl + path, { headers: { Authorization: `Bearer ${key}` } }),
    post: (path, body, { key = API_KEY, headers, signal } = {}) => {
      const json = body instanceof FormData ? {} : { 'Content-Type': 'application/json' }
      return fetch(apiUrl + path, {
        method: 'POST',
        headers: { Authorization: `Bearer ${key}`, ...json, ...headers },
        body: body instanceof FormData || body instanceof Uint8Array ? body : JSON.stringify(body),
        ...(signal !== undefined && { signal }),
      })
    },
    write,
    reload: (next) => {
      write(next)
      server.signal('SIGHUP')
    },
    stop: async () => {
      const metrics = await metricsOf(server)
      await server.stop()
      failOnSecrets('the metrics', metrics)
      failOnSecrets('the log', server.log())
    },
  }
}

/** What no sink may hold, with a name that may be told. */
const SECRETS = [
  ['the API key', API_KEY],
  ['the management key', MANAGEMENT_KEY],
  ['the prompt', CANARY_PROMPT],
] as const

function failOnSecrets(sink: string, text: string): void {
  for (const [name, secret] of SECRETS) {
    if (text.includes(secret)) throw new Error(`${sink} of the server holds ${name}`)
  }
}

/** `''` when there is nobody to ask any more: then `stop` tells why. */
function metricsOf({ baseUrl }: PracticeServer): Promise<string> {
  return fetch(`${baseUrl}/metrics`, { signal: AbortSignal.timeout(5_000) }).then(
    (response) => response.text(),
    () => '',
  )
}

/** Whatever a server sent: a test says what it expects, and a wrong guess fails it. */
// biome-ignore lint/suspicious/noExplicitAny: reading unknown JSON member by member would bury every test
export type Json = any

export interface Asked {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body as JSON. */
  json(): Json
  /** Data of each event as its format has them. */
  events(): Json[]
}

/** One chat call over a socket of its own. Rejects when an error repeats a key or the canary prompt. */
export async function askChat(
  server: GatewayServer,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Asked> {
  const response = await fetch(`${server.apiUrl}/chat/completions`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${API_KEY}`, 'Content-Type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  return await asked(response, eventsOf)
}

/** What was answered. Rejects when an error repeats a key or the canary prompt. */
export async function asked(response: Response, events: (text: string) => Json[]): Promise<Asked> {
  const text = await response.text()
  if (response.status >= 400) failOnSecrets('an error', text)
  const { status, headers } = response
  return { status, headers, text, json: () => JSON.parse(text), events: () => events(text) }
}

/** Data of each event of a stream's text, `[DONE]` as it is. Comments are skipped. */
export function eventsOf(text: string): Json[] {
  return text
    .split('\n\n')
    .filter((frame) => frame.startsWith('data: '))
    .map((frame) => frame.slice('data: '.length))
    .map((data) => (data === '[DONE]' ? data : JSON.parse(data)))
}
