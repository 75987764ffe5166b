/** A Chromium without a window, spoken to over pipes: what a page logs and what it holds. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'

export interface BrowserTab {
  /** The value of an expression in the page, as JSON has it. */
  readonly evaluate: (expression: string) => Promise<unknown>
  /** Evaluates until the value is truthy. Rejects after thirty seconds with what the page logged. */
  readonly until: (expression: string) => Promise<unknown>
  /** Exceptions, and messages of level error or warning, so far. */
  readonly problems: readonly string[]
  readonly close: () => Promise<void>
}

type DevToolsReply = {
  readonly result?: Record<string, unknown>
  readonly error?: { readonly message: string }
}

export class HeadlessBrowser {
  readonly #child: ChildProcess
  readonly #folder: string
  readonly #waiting = new Map<number, (answer: DevToolsReply) => void>()
  readonly #listeners = new Map<string, (method: string, params: Record<string, unknown>) => void>()
  #count = 0

  constructor(program: string) {
    this.#folder = mkdtempSync(join(tmpdir(), 'sluice-browser-'))
    const options = [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--hide-scrollbars',
      '--remote-debugging-pipe',
      `--user-data-dir=${this.#folder}`,
    ]
    this.#child = spawn(program, [...options, 'about:blank'], {
      stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
    })
    this.#read(this.#child.stdio[4] as Readable)
  }

  async open(url: string): Promise<BrowserTab> {
    const { targetId } = await this.#call('Target.createTarget', { url: 'about:blank' })
    const { sessionId } = await this.#call('Target.attachToTarget', { targetId, flatten: true })
    const session = String(sessionId)
    const problems: string[] = []
    this.#listeners.set(session, (method, params) => {
      const problem = problemOf(method, params)
      if (problem !== null) problems.push(problem)
    })
    const call = (method: string, params: object = {}) => this.#call(method, params, session)
    await Promise.all([call('Runtime.enable'), call('Log.enable'), call('Page.enable')])
    const size = { width: 1400, height: 1000 }
    await call('Emulation.setDeviceMetricsOverride', { ...size, deviceScaleFactor: 1, mobile: false })
    await call('Page.navigate', { url })
    const evaluate = async (expression: string) => {
      const { result } = await call('Runtime.evaluate', {
        expression,
        returnByValue: true,
        awaitPromise: true,
      })
      return (result as { value?: unknown }).value
    }
    return {
      evaluate,
      until: (expression) =>
        retryUntil(() => evaluate(expression), `${expression} stays false; ${problems.join('; ')}`),
      problems,
      close: async () => void (await this.#call('Target.closeTarget', { targetId })),
    }
  }

  async close(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once('exit', resolve))
    // Asked to, it ends its helper processes first, which would otherwise go on writing into the folder.
    void this.#call('Browser.close', {}).catch(() => {})
    const impatient = setTimeout(() => this.#child.kill('SIGKILL'), 5_000)
    await ended
    clearTimeout(impatient)
    rmSync(this.#folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  }

  #call(method: string, params: object, sessionId?: string): Promise<Record<string, unknown>> {
    const id = ++this.#count
    const input = this.#child.stdio[3] as Writable
    input.write(`${JSON.stringify({ id, method, params, ...(sessionId !== undefined && { sessionId }) })}\0`)
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, ({ result, error }) =>
        error === undefined ? resolve(result ?? {}) : reject(new Error(`${method}: ${error.message}`)),
      )
    })
  }

  #read(output: Readable): void {
    let rest = ''
    output.setEncoding('utf8').on('data', (text: string) => {
      const messages = (rest + text).split('\0')
      rest = messages.pop() ?? ''
      for (const message of messages) this.#take(JSON.parse(message))
    })
  }

  #take(
    message: DevToolsReply & {
      id?: number
      sessionId?: string
      method?: string
      params?: Record<string, unknown>
    },
  ): void {
    if (message.id === undefined) {
      this.#listeners.get(message.sessionId ?? '')?.(message.method ?? '', message.params ?? {})
      return
    }
    this.#waiting.get(message.id)?.(message)
    this.#waiting.delete(message.id)
  }
}

/** What a developer would see in red or yellow; null for anything else. */
function problemOf(method: string, params: Record<string, unknown>): string | null {
  if (method === 'Runtime.exceptionThrown') return JSON.stringify(params.exceptionDetails)
  if (method === 'Log.entryAdded') {
    const { level, text, url } = params.entry as { level: string; text: string; url?: string }
    return level === 'error' || level === 'warning' ? `${text} ${url ?? ''}` : null
  }
  if (method !== 'Runtime.consoleAPICalled') return null
  return params.type === 'error' || params.type === 'warning' ? JSON.stringify(params.args) : null
}

async function retryUntil(attempt: () => Promise<unknown>, complaint: string): Promise<unknown> {
  const deadline = performance.now() + 30_000
  while (performance.now() < deadline) {
    // A page that is just being loaded has no place to evaluate anything in.
    const value = await attempt().catch(() => null)
    if (value) return value
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error(complaint)
}
