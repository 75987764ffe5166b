/** One sandbox from its start to its end: what goes in and out, what it holds, and how it is ended. */
import { type ChildProcess, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { SandboxFailure } from '../sandbox.js'
import { DESCRIPTORS } from './bubblewrap.js'
import { KeptOutput } from './kept-output.js'
import { memoryOfTree } from './process-tree.js'

/** Looks at the sandbox so often; what it writes is read in portions of a tick. */
const TICK_MS = 20
/** 50 MiB a second of each sandbox: whoever floods us waits. */
const READ_PER_TICK = 2 ** 20
/** A sandbox has so long to come up, and to unpack and pack its container. */
export const GRACE_MS = 10_000
const LARGEST_INFO = 4096

interface SandboxProcessOptions {
  readonly commandLine: readonly string[]
  readonly filter: Uint8Array
  /** Who runs it on the machine; null: whoever runs this server. */
  readonly uid: number | null
  readonly command: string
  /** The container, packed; null for an empty one. */
  readonly state: Readable | null
  readonly memoryBytes: number
  /** Wall clock of everything, from the start. */
  readonly limitMs: number
  readonly maxOutputBytes: number
  readonly signal: AbortSignal
}

type EndedBy = 'timeout' | 'memory' | 'aborted' | 'quota' | 'broken'

export interface SandboxResult {
  readonly stdout: string
  readonly stderr: string
  /** Exit code of our shell within; 0 when all went its way. Null when it was killed. */
  readonly code: number | null
  readonly ended: EndedBy | null
}

/**
 * Runs a sandbox. `takeState` reads what it packs, and is awaited; when it rejects the sandbox is ended. Resolves once
 * no process of it is left; rejects only where none could be started.
 */
export async function runSandbox(
  options: SandboxProcessOptions,
  takeState: (packed: Readable) => Promise<void>,
): Promise<SandboxResult> {
  const sandbox = new RunningSandbox(options)
  const taken = takeState(sandbox.packed).catch((error: unknown) =>
    sandbox.end(error instanceof SandboxFailure && error.code === 'quota_exceeded' ? 'quota' : 'broken'),
  )
  const code = await sandbox.whenOver()
  await taken
  return sandbox.result(code)
}

class RunningSandbox {
  readonly #child: ChildProcess
  readonly #options: SandboxProcessOptions
  readonly #stdout: KeptOutput
  readonly #stderr: KeptOutput
  readonly #startedAt = performance.now()
  readonly #ticker: NodeJS.Timeout
  /** The sandbox's first process, by its number out here: when it ends, the kernel ends all others. */
  #inner: number | null = null
  #ended: EndedBy | null = null
  #left = READ_PER_TICK
  readonly #onAbort = (): void => this.end('aborted')

  constructor(options: SandboxProcessOptions) {
    this.#options = options
    this.#stdout = new KeptOutput(options.maxOutputBytes)
    this.#stderr = new KeptOutput(options.maxOutputBytes)
    const [program, ...args] = options.commandLine
    // In the session of this server: one of its own would have its own share of the processor (autogroups), and there
    // is no terminal that the filter of system calls would let it write to.
    this.#child = spawn(program!, args, {
      cwd: '/',
      env: { PATH: '/usr/bin:/bin:/usr/sbin:/sbin' },
      stdio: ['ignore', 'pipe', 'pipe', 'pipe', 'pipe', 'pipe', 'pipe'],
      ...(options.uid !== null && { uid: options.uid, gid: options.uid }),
    })
    this.#drain(this.#child.stdout!, this.#stdout)
    this.#drain(this.#child.stderr!, this.#stderr)
    const { info, input, filter } = DESCRIPTORS
    for (const writable of [this.#stream(input), this.#stream(filter)] as Writable[]) {
      writable.on('error', () => {}) // the sandbox has ended before it has read everything
    }
    ;(this.#stream(filter) as Writable).end(options.filter)
    this.#readInfo(this.#stream(info) as Readable)
    this.#ticker = setInterval(() => this.#look(), TICK_MS)
    if (options.signal.aborted) this.end('aborted')
    else options.signal.addEventListener('abort', this.#onAbort, { once: true })
  }

  get packed(): Readable {
    return this.#stream(DESCRIPTORS.output) as Readable
  }

  /** Exit code, once everything is over; null after a signal. */
  whenOver(): Promise<number | null> {
    return new Promise((resolve, reject) => {
      this.#child.once('error', (error) => {
        this.#stopWatching()
        this.packed.destroy()
        reject(error)
      })
      // `close` follows `exit` when the streams have ended; nobody else holds them then.
      this.#child.once('close', (code) => {
        this.#stopWatching()
        resolve(code)
      })
    })
  }

  result(code: number | null): SandboxResult {
    return { stdout: this.#stdout.text(), stderr: this.#stderr.text(), code, ended: this.#ended }
  }

  /** Kills it. The first reason counts. */
  end(reason: EndedBy): void {
    this.#ended ??= reason
    const pid = this.#inner ?? this.#child.pid
    if (pid === undefined || this.#child.exitCode !== null || this.#child.signalCode !== null) return
    try {
      process.kill(pid, 'SIGKILL')
    } catch {
      // It has ended by itself.
    }
    for (const stream of this.#child.stdio.slice(1, 5)) stream?.destroy()
  }

  #stream(descriptor: number): Readable | Writable {
    return this.#child.stdio[descriptor] as Readable | Writable
  }

  /** Before the sandbox stands nothing is sent, so that without us it never begins. */
  #readInfo(info: Readable): void {
    let text = ''
    info.on('data', (piece: Buffer) => {
      if (text.length < LARGEST_INFO) text += piece.toString('latin1')
      const pid = /"child-pid":\s*(\d+)/.exec(text)?.[1]
      if (pid === undefined || this.#inner !== null) return
      this.#inner = Number(pid)
      if (this.#ended !== null) this.end(this.#ended)
      else this.#send()
    })
    info.on('error', () => {})
  }

  #send(): void {
    const input = this.#stream(DESCRIPTORS.input) as Writable
    input.write(`${this.#options.command}\0`)
    const { state } = this.#options
    if (state === null) input.end(EMPTY_ARCHIVE)
    else state.on('error', () => this.end('broken')).pipe(input)
  }

  #drain(stream: Readable, kept: KeptOutput): void {
    stream.on('data', (piece: Buffer) => {
      kept.push(piece)
      this.#left -= piece.length
      if (this.#left <= 0) this.#pauseOutputs(true)
    })
    stream.on('error', () => {})
  }

  #pauseOutputs(paused: boolean): void {
    for (const stream of [this.#child.stdout!, this.#child.stderr!]) {
      if (paused) stream.pause()
      else if (!stream.destroyed) stream.resume()
    }
  }

  #look(): void {
    if (this.#left <= 0) {
      this.#left = READ_PER_TICK
      this.#pauseOutputs(false)
    }
    if (performance.now() - this.#startedAt > this.#options.limitMs) this.end('timeout')
    else if (this.#inner !== null && memoryOfTree(this.#inner) > this.#options.memoryBytes) this.end('memory')
  }

  #stopWatching(): void {
    clearInterval(this.#ticker)
    this.#options.signal.removeEventListener('abort', this.#onAbort)
  }
}

/** Two blocks of zeros. */
const EMPTY_ARCHIVE = Buffer.alloc(1024)
