/** A server of ours as a child process: its start, what it says, the line that tells where it listens, and its end. */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'

export interface ServerProcessOptions {
  /** Working folder. */
  readonly cwd: string
  /** The whole environment; without one the child inherits that of this process. */
  readonly env?: NodeJS.ProcessEnv
  /** A process group of its own, whose id is the process id. */
  readonly detached?: boolean
  /** How many of the last characters of each output are kept; all of them unless it says. */
  readonly keptChars?: number
}

/** How a process ended; both null when it could not be started. */
export interface ProcessExit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** What the ready line says. */
export type ReadyLine = NonNullable<ReturnType<typeof findReadyLine>>

/** The server did not come up. `message` begins with a verb, and ends with what was kept of its log. */
export class ServerNotReady extends Error {}

const READY_LINE = /^sluice listening on ((https?):\/\/(\S+):(\d+)) \(workers: (\d+), pool threads: (\d+)\)$/m

type ServerChild = ChildProcessByStdio<null, Readable, Readable>

export class ServerProcess {
  /** Resolves when the process has ended; its output may still be read. */
  readonly exited: Promise<ProcessExit>
  /** Resolves when the process has ended and its output is closed. */
  readonly closed: Promise<ProcessExit>
  readonly #child: ServerChild
  #stdout = ''
  #stderr = ''
  #startFault: Error | null = null

  /**
   * Starts `command` with its arguments. A program that cannot be started shows as a `ProcessExit` and in
   * `untilListening`.
   */
  constructor(command: readonly string[], options: ServerProcessOptions) {
    const { cwd, env, detached = false, keptChars: kept = Number.POSITIVE_INFINITY } = options
    const [program = '', ...args] = command
    const child = spawn(program, args, {
      cwd,
      detached,
      stdio: ['ignore', 'pipe', 'pipe'],
      ...(env !== undefined && { env }),
    })
    this.#child = child
    const ended = (event: 'exit' | 'close'): Promise<ProcessExit> =>
      new Promise((resolve) => {
        child.once(event, (code, signal) => resolve({ code, signal }))
        child.once('error', () => {
          if (child.pid === undefined) resolve({ code: null, signal: null })
        })
      })
    child.on('error', (error) => {
      this.#startFault = error
    })
    this.exited = ended('exit')
    this.closed = ended('close')
    // Both pipes are read for the whole life of the server: a full pipe would block it.
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.#stdout = lastChars(this.#stdout + text, kept)
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = lastChars(this.#stderr + text, kept)
    })
  }

  /** 0 when it could not be started. */
  get pid(): number {
    return this.#child.pid ?? 0
  }

  /** What was kept of its standard output. */
  get stdout(): string {
    return this.#stdout
  }

  /** What was kept of its standard error, where the log goes. */
  get stderr(): string {
    return this.#stderr
  }

  /** True once it has ended. */
  get hasExited(): boolean {
    return this.#startFault !== null || this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  /**
   * Waits for the ready line. Rejects with ServerNotReady at the deadline, when the process ends before, or on
   * `left`.
   */
  untilListening(limitMs: number, left?: AbortSignal): Promise<ReadyLine> {
    const { stdout } = this.#child
    return new Promise<ReadyLine>((resolve, reject) => {
      const fail = (reason: string): void =>
        settle(() => reject(new ServerNotReady(this.#stderr === '' ? reason : `${reason}: ${this.#stderr}`)))
      const look = (): void => {
        const found = findReadyLine(this.#stdout)
        if (found !== null) settle(() => resolve(found))
      }
      const stop = (): void => fail('was not waited for')
      const timer = setTimeout(() => fail(`did not listen within ${limitMs / 1000} s`), limitMs)
      const settle = (how: () => void): void => {
        clearTimeout(timer)
        stdout.off('data', look)
        left?.removeEventListener('abort', stop)
        how()
      }
      stdout.on('data', look)
      left?.addEventListener('abort', stop)
      // What was written last is read before the end counts.
      void this.closed.then(({ code, signal }) => {
        look()
        if (this.#startFault !== null) fail(`could not be started: ${this.#startFault.message}`)
        else fail(`ended with ${signal ?? code} before it listened`)
      })
      look()
      if (left?.aborted) stop()
    })
  }

  /** Sends a signal to the process alone; nothing happens when it has ended. */
  signal(name: NodeJS.Signals): void {
    this.#child.kill(name)
  }

  /** Asks it to end (SIGTERM) and calls `force`, which kills it, when it has not after `graceMs`. */
  async stop(graceMs: number, force = (): void => this.signal('SIGKILL')): Promise<ProcessExit> {
    const timer = setTimeout(force, graceMs)
    this.signal('SIGTERM')
    const exit = await this.exited
    clearTimeout(timer)
    return exit
  }

  /** Whether this process stays alive for the sake of the server; it does unless told otherwise. */
  holdEventLoop(alive: boolean): void {
    for (const handle of [this.#child, this.#child.stdout as Socket, this.#child.stderr as Socket]) {
      if (alive) handle.ref()
      else handle.unref()
    }
  }
}

function lastChars(text: string, kept: number): string {
  return text.length > kept ? text.slice(-kept) : text
}

function findReadyLine(output: string) {
  const match = READY_LINE.exec(output)
  if (match === null) return null
  const [, url = '', scheme = '', host = '', port, workers, poolThreads] = match
  return { url, scheme, host, port: Number(port), workers: Number(workers), poolThreads: Number(poolThreads) }
}
