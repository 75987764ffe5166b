/** The transport of a server that is a command: JSON lines over its standard input and output. */
import { type ChildProcess, spawn } from 'node:child_process'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import { Pace } from './pace.js'

interface CommandOptions {
  readonly command: string
  readonly args: readonly string[]
  /** All that its environment holds. */
  readonly environment: Readonly<Record<string, string>>
  readonly cwd: string | null
  /** Most bytes of one message; a command that writes a longer line is ended. */
  readonly maxMessageBytes: number
}

/** What a command has to end by itself once its input has ended. */
const GRACE_MS = 2_000

/**
 * Waits for the end of its input, which comes when this process ends, also without a word, and kills the group of the
 * command then. As long as this process lives it does so itself.
 */
const WATCHER = 'read -r _; sleep 2; kill -s KILL -- "-$1"'

const NEWLINE = 0x0a

export class StdioTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  readonly #options: CommandOptions
  #child: ChildProcess | null = null
  #pieces: Buffer[] = []
  #size = 0
  readonly #pace = new Pace()
  #ended: Promise<void> = Promise.resolve()

  constructor(options: CommandOptions) {
    this.#options = options
  }

  /** The command leads a process group of its own, so that what it starts ends with it. */
  start(): Promise<void> {
    const { command, args, environment, cwd } = this.#options
    const child = spawn(command, args, {
      env: environment,
      cwd: cwd ?? '/',
      detached: true,
      // What it says on its standard error is nobody's: it may hold credentials.
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    this.#child = child
    child.stdin.on('error', () => {})
    child.stdout.on('error', () => {})
    child.stdout.on('data', (chunk: Buffer) => {
      this.#take(chunk)
      const heldMs = this.#pace.take(chunk, performance.now())
      if (heldMs === 0) return
      child.stdout.pause()
      setTimeout(() => child.stdout.resume(), heldMs).unref()
    })
    return new Promise((resolve, reject) => {
      child.once('error', (error) => {
        this.#child = null
        reject(error)
      })
      child.once('spawn', () => {
        const watcher = watch(child.pid!)
        this.#ended = new Promise((ended) => {
          child.once('exit', () => {
            this.#child = null
            killGroup(child.pid!)
            watcher.kill('SIGKILL')
            ended()
            this.onclose?.()
          })
        })
        resolve()
      })
    })
  }

  #take(chunk: Buffer): void {
    let rest = chunk
    for (let at = rest.indexOf(NEWLINE); at >= 0; at = rest.indexOf(NEWLINE)) {
      this.#pieces.push(rest.subarray(0, at))
      const line = Buffer.concat(this.#pieces)
      this.#pieces = []
      this.#size = 0
      rest = rest.subarray(at + 1)
      this.#read(line.toString())
    }
    this.#size += rest.length
    if (rest.length > 0) this.#pieces.push(rest)
    if (this.#size > this.#options.maxMessageBytes) this.#giveUp()
  }

  /** Nothing more of it is read: what came behind a hole would be another message than it has sent. */
  #giveUp(): void {
    const child = this.#child
    child?.stdout?.removeAllListeners('data')
    this.#pieces = []
    if (child?.pid !== undefined) killGroup(child.pid)
  }

  #read(line: string): void {
    if (line.trim() === '' || line.length > this.#options.maxMessageBytes) return
    let message: unknown
    try {
      message = JSON.parse(line)
    } catch {
      this.onerror?.(new Error('the command wrote a line that is no JSON'))
      return
    }
    if (typeof message === 'object' && message !== null) this.onmessage?.(message as JSONRPCMessage)
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin
    if (stdin === null || stdin === undefined || stdin.destroyed) throw new Error('the command has ended')
    if (stdin.writableLength > this.#options.maxMessageBytes) throw new Error('the command does not read')
    stdin.write(`${JSON.stringify(message)}\n`)
  }

  /** Resolves when the command has ended, of itself or because its group was killed. */
  async close(): Promise<void> {
    const child = this.#child
    if (child === null) return
    child.stdin?.end()
    const timer = setTimeout(() => killGroup(child.pid!), GRACE_MS)
    await this.#ended
    clearTimeout(timer)
  }
}

function watch(group: number): ChildProcess {
  const watcher = spawn('/bin/sh', ['-c', WATCHER, 'sh', String(group)], {
    env: {},
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  watcher.on('error', () => {})
  watcher.stdin.on('error', () => {})
  return watcher
}

function killGroup(group: number): void {
  try {
    process.kill(-group, 'SIGKILL')
  } catch {
    // Nobody is left in it.
  }
}
