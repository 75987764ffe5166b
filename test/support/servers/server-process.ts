import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { type Lifetime, makeFolder, removeFolder } from '../data/temp-folder.js'
import { eventually } from '../timing/eventually.js'

const MAIN = fileURLToPath(new URL('../../../src/main.js', import.meta.url))
const READY = /^sluice listening on ((https?):\/\/(\S+):(\d+)) \(workers: (\d+), pool threads: (\d+)\)$/m
const READY_DEADLINE_MS = 30_000
const EXIT_DEADLINE_MS = 30_000

/** How a process ended. */
export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** What the line on standard output says. */
export interface Ready {
  readonly url: string
  readonly scheme: string
  readonly host: string
  readonly port: number
  readonly workers: number
  readonly poolThreads: number
}

export interface Started {
  /** Settings, and nothing else: the process does not inherit the environment of the test. */
  readonly env?: Readonly<Record<string, string>>
  readonly command?: readonly string[]
  /** Working folder of the process; without one it gets an empty one of its own. */
  readonly folder?: string
}

/** One line of the log. */
export interface LogLine {
  readonly level: number
  readonly process: string
  readonly msg: string
  readonly [member: string]: unknown
}

/** Chosen keys: otherwise the first start makes some and prints them. Empty ones count as not chosen. */
const KEYS = {
  SLUICE_API_KEY: 'sk-test-api-key-01234567890123456789',
  SLUICE_MANAGEMENT_KEY: 'sk-test-management-key-01234567890123456789',
}
/** The key that a process of these tests takes. */
export const API_KEY = KEYS.SLUICE_API_KEY

/** A server as users run it: the built program as a process, and what can be seen of it from outside. */
export class ServerProcess {
  readonly folder: string
  readonly #child: ChildProcessByStdio<null, Readable, Readable>
  readonly #exited: Promise<Exit>
  #stdout = ''
  #stderr = ''

  private constructor(started: Started, folder: string) {
    this.folder = folder
    const settings = Object.entries({ ...KEYS, ...started.env }).map(([name, value]) => `${name}=${value}`)
    const path = `PATH=${process.env.PATH ?? ''}`
    // env(1) and not the `env` option: the harness puts hooks of its own into the environment of all children.
    this.#child = spawn(
      '/usr/bin/env',
      ['-i', path, ...settings, process.execPath, MAIN, ...(started.command ?? ['serve'])],
      { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] },
    )
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.#stdout += text
    })
    this.#child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text
    })
    this.#exited = new Promise((resolve) => {
      // `close` comes after `exit`, when everything that was written has been read.
      this.#child.on('close', (code, signal) => resolve({ code, signal }))
    })
  }

  /** Starts a process that ends with the test, its children included. */
  static start(lifetime: Lifetime, started: Started = {}): ServerProcess {
    const folder = started.folder ?? makeFolder()
    const server = new ServerProcess(started, folder)
    lifetime.after(async () => {
      await server.#end()
      if (started.folder === undefined) removeFolder(folder)
    })
    return server
  }

  get pid(): number {
    return this.#child.pid!
  }

  get stdout(): string {
    return this.#stdout
  }

  get stderr(): string {
    return this.#stderr
  }

  /** The lines of standard error that are JSON. */
  get log(): readonly LogLine[] {
    return this.#stderr
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line))
  }

  /** Resolves when the server has said that it listens; rejects when it ends before. */
  async ready(): Promise<Ready> {
    const match = await eventually(() => {
      if (this.#child.exitCode !== null) throw new Error(`it has ended: ${this.#stderr}`)
      return READY.exec(this.#stdout)
    }, READY_DEADLINE_MS)
    const [, url = '', scheme = '', host = '', port, workers, poolThreads] = match
    return {
      url,
      scheme,
      host,
      port: Number(port),
      workers: Number(workers),
      poolThreads: Number(poolThreads),
    }
  }

  /** Process ids of the children that live. Linux only. */
  children(): number[] {
    return childrenOf(this.pid)
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name)
  }

  /** Resolves when the process has ended and all its output was read. */
  async exited(deadlineMs = EXIT_DEADLINE_MS): Promise<Exit> {
    let exit: Exit | null = null
    void this.#exited.then((how) => {
      exit = how
    })
    return eventually(() => exit, deadlineMs)
  }

  async #end(): Promise<void> {
    const children = this.children()
    this.#child.kill('SIGKILL')
    for (const pid of children) killIfAlive(pid)
    await this.#exited
  }
}

/** Runs a command to its end and tells how it went. */
export async function runSluice(
  lifetime: Lifetime,
  command: readonly string[],
  started: Omit<Started, 'command'> = {},
): Promise<Exit & { readonly stdout: string; readonly stderr: string }> {
  const run = ServerProcess.start(lifetime, { ...started, command })
  const exit = await run.exited()
  return { ...exit, stdout: run.stdout, stderr: run.stderr }
}

/** Whether a process lives. */
export function isAlive(pid: number): boolean {
  const stat = statOf(pid)
  return stat !== null && stat.state !== 'Z'
}

function killIfAlive(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}

function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^[0-9]+$/.test(name))
    .map(Number)
    .filter((pid) => {
      const stat = statOf(pid)
      return stat !== null && stat.parent === parent && stat.state !== 'Z'
    })
    .sort((a, b) => a - b)
}

/** proc(5): `pid (comm) state ppid …`; the name may hold spaces and parentheses. */
function statOf(pid: number): { readonly state: string; readonly parent: number } | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const [state = '', parent = ''] = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return { state, parent: Number(parent) }
  } catch {
    return null
  }
}
