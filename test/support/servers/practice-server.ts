/** Starts the built server the way users do: a real process on a free port, with a store of its own. */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { makeFolder, removeFolder } from '../data/temp-folder.js'

export interface PracticeServerOptions {
  /** Settings beyond those every test needs (a free port, two workers, a data folder, warnings only). */
  readonly env?: Readonly<Record<string, string>>
  /** Folder of the store. It is kept; without one a fresh folder is made, and removed by `stop`. */
  readonly dataDir?: string
  /** Lines of severity `error` in the log do not fail `stop`: the test provokes them. */
  readonly mayLogErrors?: boolean
}

export interface PracticeServer {
  readonly baseUrl: string
  readonly port: number
  readonly dataDir: string
  /** Process id of the supervisor. */
  readonly pid: number
  /** Everything written to standard error so far. */
  log(): string
  signal(name: NodeJS.Signals): void
  /** Resolves when the supervisor has ended: its exit code, or null when a signal ended it. */
  ended(): Promise<number | null>
  /** SIGTERM, then waits for exit code 0. Rejects on any other end, and when the log holds an error. */
  stop(): Promise<void>
}

type Child = ChildProcessByStdio<null, Readable, Readable>

const MAIN = fileURLToPath(new URL('../../../src/main.js', import.meta.url))
const READY = /^sluice listening on (http:\/\/[^ ]+:(\d+)) /m
const READY_DEADLINE_MS = 30_000
const EXIT_DEADLINE_MS = 30_000
/** Numeric severity of pino's `error`. */
const ERROR_LEVEL = 50

/** Starts a server and waits until it says that it listens. Rejects with its log when it does not. */
export async function startPracticeServer(options: PracticeServerOptions = {}): Promise<PracticeServer> {
  const dataDir = options.dataDir ?? makeFolder()
  // env(1) and not the `env` option: the test runner puts hooks of its own into the environment of all children.
  const command = ['-i', ...settings(dataDir, options.env ?? {}), process.execPath, MAIN, 'serve']
  const child = spawn('/usr/bin/env', command, { stdio: ['ignore', 'pipe', 'pipe'] })
  const log = collected(child.stderr)
  const exited = ending(child)
  const { baseUrl, port } = await readiness(child, exited, log)
  hold(child, false)
  return {
    baseUrl,
    port,
    dataDir,
    pid: child.pid!,
    log,
    signal: (name) => void child.kill(name),
    ended: () => {
      hold(child, true)
      return exited
    },
    stop: async () => {
      hold(child, true)
      child.kill('SIGTERM')
      const code = await within(EXIT_DEADLINE_MS, exited, 'the server did not end after SIGTERM')
      if (options.dataDir === undefined) removeFolder(dataDir)
      if (code !== 0) throw new Error(`the server ended with ${code}:\n${log()}`)
      if (options.mayLogErrors !== true) failOnErrors(log())
    },
  }
}

/** The whole environment of the server; nothing is inherited but the way to find programs. */
function settings(dataDir: string, extra: Readonly<Record<string, string>>): string[] {
  const all = {
    PATH: process.env.PATH ?? '',
    PORT: '0',
    SLUICE_WORKERS: '2',
    SLUICE_POOL_THREADS: '1',
    SLUICE_DATA_DIR: dataDir,
    SLUICE_LOG_LEVEL: 'warn',
    ...extra,
  }
  return Object.entries(all).map(([name, value]) => `${name}=${value}`)
}

function collected(stream: Readable): () => string {
  const chunks: Buffer[] = []
  stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  return () => Buffer.concat(chunks).toString()
}

/** A server that runs must not keep the test process alive: the runner ends a file when nothing is left to do. */
function hold(child: Child, alive: boolean): void {
  const handles = [child, child.stdout as Socket, child.stderr as Socket]
  for (const handle of handles) {
    if (alive) handle.ref()
    else handle.unref()
  }
}

/** The server does not outlive the test, however the test ends. */
function ending(child: Child): Promise<number | null> {
  const kill = (): void => void child.kill('SIGKILL')
  process.once('exit', kill)
  return new Promise((resolve) => {
    child.once('close', (code) => {
      process.removeListener('exit', kill)
      resolve(code)
    })
  })
}

async function readiness(
  child: Child,
  exited: Promise<number | null>,
  log: () => string,
): Promise<{ baseUrl: string; port: number }> {
  const said = collected(child.stdout)
  const listening = new Promise<RegExpExecArray>((resolve, reject) => {
    child.stdout.on('data', () => {
      const match = READY.exec(said())
      if (match !== null) resolve(match)
    })
    void exited.then((code) =>
      reject(new Error(`the server ended with ${code} before it listened:\n${log()}`)),
    )
  })
  const [, baseUrl, port] = await within(READY_DEADLINE_MS, listening, 'the server did not say it listens')
  return { baseUrl: baseUrl!, port: Number(port) }
}

async function within<T>(ms: number, promise: Promise<T>, complaint: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${complaint} within ${ms} ms`)), ms)
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    clearTimeout(timer)
  }
}

function failOnErrors(log: string): void {
  const errors = log.split('\n').filter((line) => line !== '' && severity(line) >= ERROR_LEVEL)
  if (errors.length > 0) throw new Error(`the server logged errors:\n${errors.join('\n')}`)
}

/** A line that is no JSON comes from Node itself, or from native code: a crash. */
function severity(line: string): number {
  try {
    return Number((JSON.parse(line) as { level?: unknown }).level ?? Number.POSITIVE_INFINITY)
  } catch {
    return Number.POSITIVE_INFINITY
  }
}
