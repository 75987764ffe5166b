import { fileURLToPath } from 'node:url'
import { childrenOf } from '../../../bench/harness/machine/proc.js'
import { ServerProcess as Base, type ProcessExit, type ReadyLine } from '../../../src/base/server-process.js'
import { type HttpClient, httpClient } from '../clients/http-client.js'
import { type Lifetime, makeFolder, removeFolder } from '../data/temp-folder.js'
import { eventually } from '../timing/eventually.js'

/** The built program. */
export const MAIN = fileURLToPath(new URL('../../../src/main.js', import.meta.url))
const READY_DEADLINE_MS = 30_000
const EXIT_DEADLINE_MS = 30_000

interface Started {
  /** Settings, and nothing else: the process does not inherit the environment of the test. */
  readonly env?: Readonly<Record<string, string>>
  readonly command?: readonly string[]
  /** Path of the program; the built one of this repository when absent. */
  readonly program?: string
  /** Working folder of the process; without one it gets an empty one of its own. */
  readonly folder?: string
  /** The limit of open files. */
  readonly openFiles?: number
}

/** One line of the log. */
interface LogLine {
  readonly level: number
  readonly process: string
  readonly msg: string
  readonly [member: string]: unknown
}

export const API_KEY = 'sk-test-api-key-01234567890123456789'
export const MANAGEMENT_KEY = 'sk-test-management-key-01234567890123456789'

/** Chosen keys: otherwise the first start makes some and prints them. Empty ones count as not chosen. */
export const KEYS = { SLUICE_API_KEY: API_KEY, SLUICE_MANAGEMENT_KEY: MANAGEMENT_KEY }

/** A server as users run it: the built program as a process, and what can be seen of it from outside. */
export class ServerProcess {
  readonly folder: string
  readonly #lifetime: Lifetime
  readonly #process: Base

  private constructor(lifetime: Lifetime, started: Started, folder: string) {
    this.folder = folder
    this.#lifetime = lifetime
    const { command = ['serve'], env, program = MAIN } = started
    // A server takes a free port, unless the test chooses one.
    const port = started.command === undefined ? { PORT: '0' } : {}
    const { openFiles } = started
    const limited =
      openFiles === undefined ? [] : ['/bin/sh', '-c', `ulimit -n ${openFiles}; exec "$@"`, 'sh']
    const line = withEnvironment({ ...KEYS, ...port, ...env }, [
      ...limited,
      process.execPath,
      program,
      ...command,
    ])
    this.#process = new Base(line, { cwd: folder })
  }

  /** Starts a process that ends with the test, its children included. */
  static start(lifetime: Lifetime, started: Started = {}): ServerProcess {
    const folder = started.folder ?? makeFolder()
    const server = new ServerProcess(lifetime, started, folder)
    lifetime.after(async () => {
      await server.#end()
      if (started.folder === undefined) removeFolder(folder)
    })
    return server
  }

  get pid(): number {
    return this.#process.pid
  }

  get stdout(): string {
    return this.#process.stdout
  }

  get stderr(): string {
    return this.#process.stderr
  }

  /** The lines of standard error that are JSON. */
  get log(): readonly LogLine[] {
    return this.stderr
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line))
  }

  /** The lines of the log with this message. */
  logged(message: string): LogLine[] {
    return this.log.filter(({ msg }) => msg === message)
  }

  /** Resolves when the server has said that it listens; rejects when it ends before. */
  ready(): Promise<ReadyLine> {
    return this.#process.untilListening(READY_DEADLINE_MS)
  }

  /** A client of the server once it listens, with at most so many connections. It closes with the test. */
  async client(sockets?: number): Promise<HttpClient> {
    const client = httpClient((await this.ready()).url, sockets)
    this.#lifetime.after(() => client.close())
    return client
  }

  /** Ends the server as users do. */
  stop(): Promise<ProcessExit> {
    this.signal('SIGTERM')
    return this.exited()
  }

  /** Process ids of the children that live. Linux only. */
  children(): number[] {
    return childrenOf(this.pid)
  }

  signal(name: NodeJS.Signals): void {
    this.#process.signal(name)
  }

  /** Resolves when the process has ended and all its output was read. */
  async exited(deadlineMs = EXIT_DEADLINE_MS): Promise<ProcessExit> {
    let exit: ProcessExit | null = null
    void this.#process.closed.then((how) => {
      exit = how
    })
    return eventually(() => exit, deadlineMs)
  }

  async #end(): Promise<void> {
    const children = this.children()
    this.#process.signal('SIGKILL')
    for (const pid of children) killIfAlive(pid)
    await this.#process.closed
  }
}

/** Starts a server with these settings and waits until it listens. */
export async function serve(
  lifetime: Lifetime,
  env: Readonly<Record<string, string>> = {},
  folder?: string,
): Promise<ReadyLine & { readonly server: ServerProcess }> {
  const server = ServerProcess.start(lifetime, { env, ...(folder !== undefined && { folder }) })
  return { ...(await server.ready()), server }
}

/** Runs a command to its end and tells how it went. */
export async function runSluice(
  lifetime: Lifetime,
  command: readonly string[],
  started: Omit<Started, 'command'> = {},
): Promise<ProcessExit & { readonly stdout: string; readonly stderr: string }> {
  const run = ServerProcess.start(lifetime, { ...started, command })
  const exit = await run.exited()
  return { ...exit, stdout: run.stdout, stderr: run.stderr }
}

/** The command with these settings and the way to find programs as its whole environment. */
export function withEnvironment(
  env: Readonly<Record<string, string>>,
  command: readonly string[],
): readonly string[] {
  const settings = Object.entries({ PATH: process.env.PATH ?? '', ...env })
  // env(1) and not the `env` option: the test runner puts hooks of its own into the environment of all children.
  return ['/usr/bin/env', '-i', ...settings.map(([name, value]) => `${name}=${value}`), ...command]
}

/** A worker ends by itself soon after its supervisor: it may be gone already. */
export function killIfAlive(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}
