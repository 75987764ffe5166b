/** Containers of this machine, each command of them in a sandbox of bubblewrap. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { AddressGuard, DnsLookup } from '../../../../upstream/address-guard.js'
import {
  type Container,
  type ContainerFile,
  type ContainerOwner,
  type Egress,
  type Sandbox,
  type SandboxCommand,
  SandboxFailure,
  type SandboxRun,
} from '../sandbox.js'
import { type EgressRelay, type SandboxLimits, sandboxCommandLine } from './bubblewrap.js'
import {
  type ContainerBounds,
  ContainerFolders,
  type ContainerRecord,
  type PackedState,
} from './container-folders.js'
import { type EgressBounds, EgressProxy } from './egress-proxy.js'
import { makeRelayFolder, type RelayFolder } from './egress-relay.js'
import { type KernelLock, lockOneOf } from './kernel-locks.js'
import { GRACE_MS, runSandbox, type SandboxResult } from './sandbox-process.js'
import { seccompProgram } from './seccomp.js'

export interface LocalSandboxOptions {
  /** Folder for containers, made where it is not there. */
  readonly folder: string
  /** Who runs sandboxes on the machine, where this server may choose. */
  readonly uid: number | null
  readonly limits: SandboxLimits
  readonly containers: Omit<ContainerBounds, 'archiveBytes'>
  /** Commands at a time, over all processes of this server. */
  readonly runs: { readonly perOrganization: number; readonly inAll: number }
  /** Null where no host may ever be reached. */
  readonly egress: {
    readonly guard: AddressGuard
    readonly resolve: DnsLookup
    readonly bounds: EgressBounds
  } | null
  readonly unixMs: () => number
}

const SWEEP_MS = 60_000
/** Headers and padding of the archive, for each file. */
const ARCHIVE_OVERHEAD = 2048

export class LocalSandbox implements Sandbox {
  readonly name = 'sandbox'
  readonly #options: LocalSandboxOptions
  readonly #folders: ContainerFolders
  readonly #filter: Buffer
  readonly #running = new Set<Promise<unknown>>()
  readonly #closing = new AbortController()
  readonly #sweeper: NodeJS.Timeout
  #relay: Promise<RelayFolder> | null = null
  #sockets = 0

  /** Starts with a sweep: what a server left that was killed is over by now. */
  constructor(options: LocalSandboxOptions) {
    const { limits, containers, folder, unixMs } = options
    const filter = seccompProgram(process.arch)
    if (filter === null) throw new Error(`there is no filter of system calls for ${process.arch}`)
    this.#options = options
    this.#filter = filter
    const archiveBytes = limits.diskBytes + limits.files * ARCHIVE_OVERHEAD
    this.#folders = new ContainerFolders(folder, { ...containers, archiveBytes }, unixMs)
    this.#sweeper = setInterval(() => this.#sweep(), SWEEP_MS).unref()
    this.#sweep()
  }

  async create(owner: ContainerOwner): Promise<Container> {
    return publicPart(await this.#folders.create(owner))
  }

  async run(
    owner: ContainerOwner,
    containerId: string,
    command: SandboxCommand,
    signal: AbortSignal,
  ): Promise<SandboxRun & { readonly container: Container }> {
    const both = AbortSignal.any([signal, this.#closing.signal])
    const until = performance.now() + command.timeoutMs
    const running = this.#withContainer(owner, containerId, until, both, (record) =>
      this.#withTurn(owner, until, both, () => this.#runIn(owner, record, command, until, both)),
    )
    this.#running.add(running)
    try {
      return await running
    } finally {
      this.#running.delete(running)
    }
  }

  put(owner: ContainerOwner, containerId: string, path: string, bytes: Uint8Array): Promise<void> {
    return this.#withContainer(owner, containerId, waitEnd(), this.#closing.signal, (record) =>
      this.#folders.put(owner, record, path, bytes),
    )
  }

  get(owner: ContainerOwner, containerId: string, path: string, maxBytes: number): Promise<Buffer> {
    return this.#withContainer(owner, containerId, waitEnd(), this.#closing.signal, (record) =>
      this.#folders.get(owner, record, path, maxBytes),
    )
  }

  async delete(owner: ContainerOwner, containerId: string): Promise<void> {
    await this.#withContainer(owner, containerId, waitEnd(), this.#closing.signal, () =>
      this.#folders.remove(owner, containerId),
    )
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.retire()
  }

  /** What runs comes to its own end. */
  async retire(): Promise<void> {
    clearInterval(this.#sweeper)
    await Promise.allSettled(this.#running)
    const relay = await this.#relay?.catch(() => null)
    if (relay != null) await rm(relay.folder, { recursive: true, force: true })
  }

  #sweep(): void {
    this.#folders.sweep().catch(() => {}) // the next one comes in a minute
  }

  /** One use of a container at a time, whichever process is asked. */
  async #withContainer<T>(
    owner: ContainerOwner,
    id: string,
    untilMs: number,
    signal: AbortSignal,
    use: (record: ContainerRecord) => Promise<T>,
  ): Promise<T> {
    await this.#folders.read(owner, id) // strangers do not wait
    const lock = await lockOneOf([this.#folders.lockName(id)], untilMs, signal)
    if (lock === null) throw new SandboxFailure('busy', 'The container is in use.')
    try {
      return await use(await this.#folders.read(owner, id))
    } finally {
      await lock.release()
    }
  }

  /** An organization has so many turns, all of them together so many; the kernel counts, for every process alike. */
  async #withTurn<T>(
    { organizationId }: ContainerOwner,
    untilMs: number,
    signal: AbortSignal,
    use: () => Promise<T>,
  ): Promise<T> {
    const { runs } = this.#options
    const held: KernelLock[] = []
    try {
      for (const [name, count] of [
        [`organization-${organizationId}`, runs.perOrganization],
        ['turn', runs.inAll],
      ] as const) {
        const names = Array.from({ length: count }, (_, turn) => `${this.#folders.locks}-${name}-${turn}`)
        const lock = await lockOneOf(names, untilMs, signal)
        if (lock === null) throw new SandboxFailure('busy', 'Too many commands are running. Try again later.')
        held.push(lock)
      }
      return await use()
    } finally {
      await Promise.all(held.map((lock) => lock.release()))
    }
  }

  async #runIn(
    owner: ContainerOwner,
    record: ContainerRecord,
    command: SandboxCommand,
    untilMs: number,
    signal: AbortSignal,
  ): Promise<SandboxRun & { readonly container: Container }> {
    const proxy = await this.#openEgress(command.allowedDomains)
    let packed: PackedState | null = null
    try {
      const { limits, uid } = this.#options
      const timeoutMs = Math.max(LEAST_MS, untilMs - performance.now())
      const result = await runSandbox(
        {
          commandLine: sandboxCommandLine(limits, timeoutMs, proxy?.relay ?? null),
          filter: this.#filter,
          uid,
          command: command.command,
          state: this.#folders.archiveOf(owner, record),
          memoryBytes: limits.memoryBytes,
          limitMs: timeoutMs + GRACE_MS,
          maxOutputBytes: command.maxOutputBytes,
          signal,
        },
        async (stream) => {
          packed = await this.#folders.receive(owner, record.id, stream)
        },
      )
      const late = performance.now() >= untilMs
      return await this.#finish(owner, record, result, packed, late, proxy?.log() ?? [])
    } finally {
      await proxy?.close()
    }
  }

  async #finish(
    owner: ContainerOwner,
    record: ContainerRecord,
    { stdout, stderr, ended, code }: SandboxResult,
    packed: PackedState | null,
    late: boolean,
    egress: readonly Egress[],
  ): Promise<SandboxRun & { readonly container: Container }> {
    if (ended !== null || packed === null) {
      if (packed !== null) await this.#folders.discard(owner, record.id, packed)
      if ((ended ?? 'broken') === 'broken' && code !== null && STARTING_FAILED.has(code)) {
        throw new SandboxFailure('unavailable', `The sandbox could not be started (${code}).`)
      }
      const reason = ended ?? 'broken'
      return {
        stdout,
        stderr,
        exitCode: null,
        ended: reason,
        changed: [],
        egress,
        container: publicPart(record),
      }
    }
    const { exitCode, files } = packed
    const after = await this.#folders.commit(owner, record, packed)
    const timedOut = exitCode === KILLED && late
    return {
      ...{
        stdout,
        stderr,
        exitCode,
        egress,
        changed: changedFiles(record, files),
        container: publicPart(after),
      },
      ...(timedOut && { ended: 'timeout' as const }),
    }
  }

  async #openEgress(allowedDomains: readonly string[]): Promise<OpenEgress | null> {
    const { egress, uid } = this.#options
    if (egress === null || allowedDomains.length === 0) return null
    this.#relay ??= makeRelayFolder(uid).catch((error: unknown) => {
      this.#relay = null // the next command tries again
      throw error
    })
    const { folder, node, programPath } = await this.#relay
    const socketPath = join(folder, `${this.#sockets++}`)
    const proxy = new EgressProxy({ ...egress, allowedDomains })
    await proxy.listen(socketPath)
    return {
      relay: { socketPath, node, programPath },
      log: () => proxy.log(),
      close: () => proxy.close(),
    }
  }
}

interface OpenEgress {
  readonly relay: EgressRelay
  log(): readonly Egress[]
  close(): Promise<void>
}

const WAIT_MS = 10_000
const waitEnd = (): number => performance.now() + WAIT_MS
/** A command that had to wait has still so long. */
const LEAST_MS = 1_000
/** How a shell tells that its command was killed. */
const KILLED = 137
/** The steps before the command, in bubblewrap.ts; 1 is bwrap's own. */
const STARTING_FAILED = new Set([1, 120, 121, 122, 123])

function publicPart({ id, expiresAtUnixMs }: ContainerRecord): Container {
  return { id, expiresAtUnixMs }
}

/** New files, and those that were written. */
function changedFiles(before: ContainerRecord, after: PackedState['files']): readonly ContainerFile[] {
  const known = new Map(before.files.map((file) => [file.path, file]))
  return after
    .filter(({ path, sizeBytes, modifiedAt, checksum }) => {
      const old = known.get(path)
      return old?.sizeBytes !== sizeBytes || old.modifiedAt !== modifiedAt || old.checksum !== checksum
    })
    .map(({ path, sizeBytes }) => ({ path, sizeBytes }))
}
