/** Containers at rest: a folder each, with what is known of it and its files in one archive. */
import { createHash, randomBytes } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import {
  appendFile,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  rmdir,
  stat,
  truncate,
  writeFile,
} from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type Container, type ContainerOwner, SandboxFailure } from '../sandbox.js'
import { type ArchivedFile, ArchiveScanner, archivedFile } from './archive.js'
import { tryLock } from './kernel-locks.js'

export interface ContainerRecord extends Container {
  readonly workspaceId: string
  /** Name of the archive within the folder; null where nothing was written yet. */
  readonly archive: string | null
  readonly files: readonly ArchivedFile[]
}

export interface ContainerBounds {
  readonly lifetimeMs: number
  readonly archiveBytes: number
  readonly perOrganization: number
  readonly inAll: number
}

/** What a run has left: exit code of the command, and the archive that is not yet the container's. */
export interface PackedState {
  readonly exitCode: number
  readonly archive: string
  readonly files: readonly ArchivedFile[]
}

const RECORD = 'container.json'
const LONGEST_CODE = 16

/** Every method that changes a container expects its caller to hold `lockName`. */
export class ContainerFolders {
  readonly #root: string
  readonly #bounds: ContainerBounds
  readonly #unixMs: () => number
  /** Part of every lock's name: other servers on the machine have other containers. */
  readonly locks: string

  constructor(root: string, bounds: ContainerBounds, unixMs: () => number) {
    this.#root = root
    this.#bounds = bounds
    this.#unixMs = unixMs
    this.locks = `sluice-sandbox-${shortHash(root)}`
  }

  lockName(id: string): string {
    return `${this.locks}-container-${id}`
  }

  folderOf({ organizationId }: ContainerOwner, id: string): string {
    return join(this.#root, shortHash(organizationId), id)
  }

  /** Makes room first: beyond its share an organization loses its own containers, those used longest ago first. */
  async create(owner: ContainerOwner): Promise<ContainerRecord> {
    await this.#makeRoom(shortHash(owner.organizationId))
    const record: ContainerRecord = {
      id: `c-${randomBytes(13).toString('base64url')}`,
      workspaceId: owner.workspaceId,
      expiresAtUnixMs: this.#unixMs() + this.#bounds.lifetimeMs,
      archive: null,
      files: [],
    }
    // Held so that no sweep takes a folder without a record for what somebody has left behind.
    const lock = await tryLock(this.lockName(record.id))
    try {
      await mkdir(this.folderOf(owner, record.id), { recursive: true, mode: 0o700 })
      await this.#write(this.folderOf(owner, record.id), record)
    } finally {
      await lock?.release()
    }
    return record
  }

  /** Rejects with `container_expired` for what is over, unknown, or another workspace's: nobody can tell which. */
  async read(owner: ContainerOwner, id: string): Promise<ContainerRecord> {
    const record = /^[\w-]{1,20}$/.test(id) ? await recordIn(this.folderOf(owner, id)) : null
    if (record === null || record.workspaceId !== owner.workspaceId) throw expired()
    if (record.expiresAtUnixMs <= this.#unixMs()) throw expired()
    return record
  }

  archiveOf(owner: ContainerOwner, { id, archive }: ContainerRecord): Readable | null {
    return archive === null ? null : createReadStream(join(this.folderOf(owner, id), archive))
  }

  /** Writes down what a sandbox packs: a line with the exit code, then the archive. Rejects beyond the quota. */
  async receive(owner: ContainerOwner, id: string, packed: Readable): Promise<PackedState> {
    const archive = `${randomBytes(8).toString('hex')}.tar`
    const scanner = new ArchiveScanner()
    const most = this.#bounds.archiveBytes
    let line = ''
    let exitCode: number | null = null
    let size = 0
    const scanned = async function* (pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
      for await (const piece of pieces) {
        let rest = piece
        if (exitCode === null) {
          const end = piece.indexOf('\n')
          line += piece.toString('latin1', 0, end === -1 ? piece.length : end)
          if (line.length > LONGEST_CODE) throw new Error('no exit code')
          if (end === -1) continue
          exitCode = Number(line)
          rest = piece.subarray(end + 1)
        }
        size += rest.length
        if (size > most) throw new SandboxFailure('quota_exceeded', 'The container is larger than its quota.')
        scanner.push(rest)
        yield rest
      }
    }
    const to = join(this.folderOf(owner, id), archive)
    try {
      await pipeline(packed, scanned, createWriteStream(to, { mode: 0o600 }))
      if (exitCode === null) throw new Error('nothing was packed')
      return { exitCode, archive, files: [...scanner.files.values()] }
    } catch (error) {
      await rm(to, { force: true })
      throw error
    }
  }

  /** The container becomes what was received, and lives on. */
  async commit(owner: ContainerOwner, before: ContainerRecord, state: PackedState): Promise<ContainerRecord> {
    const { archive, files } = state
    const record = { ...before, archive, files, expiresAtUnixMs: this.#unixMs() + this.#bounds.lifetimeMs }
    const folder = this.folderOf(owner, before.id)
    await this.#write(folder, record)
    if (before.archive !== null) await rm(join(folder, before.archive), { force: true })
    return record
  }

  /** What was received is thrown away. */
  async discard(owner: ContainerOwner, id: string, { archive }: PackedState): Promise<void> {
    await rm(join(this.folderOf(owner, id), archive), { force: true })
  }

  /** Adds a file behind what is there; the last one of a path counts. */
  async put(owner: ContainerOwner, record: ContainerRecord, path: string, bytes: Uint8Array): Promise<void> {
    const folder = this.folderOf(owner, record.id)
    const name = record.archive ?? `${randomBytes(8).toString('hex')}.tar`
    const to = join(folder, name)
    const size = record.archive === null ? 0 : (await stat(to)).size
    const part = archivedFile(path, bytes, this.#unixMs() / 1000)
    if (size + part.length > this.#bounds.archiveBytes) {
      throw new SandboxFailure('quota_exceeded', 'The container has no room for the file.')
    }
    if (record.files.some((file) => file.path.startsWith(`${path}/`))) {
      // No sandbox could unpack both, and the container would be lost.
      throw new SandboxFailure('unavailable', `${path} is a folder of the container.`)
    }
    try {
      await appendFile(to, part, { mode: 0o600 })
    } catch (error) {
      await truncate(to, size).catch(() => {}) // half a file would spoil all that comes behind it
      throw error
    }
    const scanner = new ArchiveScanner(size)
    scanner.push(part)
    const files = new Map(record.files.map((file) => [file.path, file]))
    for (const file of scanner.files.values()) files.set(file.path, file)
    await this.#write(folder, { ...record, archive: name, files: [...files.values()] })
  }

  async get(owner: ContainerOwner, record: ContainerRecord, path: string, maxBytes: number): Promise<Buffer> {
    const file = record.files.find((one) => one.path === path)
    if (file === undefined || record.archive === null) throw new SandboxFailure('not_found', 'No such file.')
    if (file.sizeBytes > maxBytes) throw new SandboxFailure('quota_exceeded', 'The file is too large.')
    const handle = await open(join(this.folderOf(owner, record.id), record.archive))
    try {
      const bytes = Buffer.alloc(file.sizeBytes)
      await handle.read(bytes, 0, bytes.length, file.offset)
      return bytes
    } finally {
      await handle.close()
    }
  }

  async remove(owner: ContainerOwner, id: string): Promise<void> {
    await rm(this.folderOf(owner, id), { recursive: true, force: true })
  }

  /** Removes what is over and what nobody can read, unless it is in use. */
  async sweep(): Promise<void> {
    for (const [organization, containers] of await this.#all()) {
      for (const { folder, id, record } of containers) {
        if (record === null || record.expiresAtUnixMs <= this.#unixMs()) await this.#removeIfFree(folder, id)
      }
      await rmdir(join(this.#root, organization)).catch(() => {}) // it is not empty
    }
  }

  async #makeRoom(organization: string): Promise<void> {
    const all = await this.#all()
    const own = all.get(organization) ?? []
    if (own.length >= this.#bounds.perOrganization) return this.#removeOldest(own)
    const lists = [...all.values()]
    const count = lists.reduce((sum, { length }) => sum + length, 0)
    if (count < this.#bounds.inAll) return
    await this.#removeOldest(lists.reduce((a, b) => (b.length > a.length ? b : a)))
  }

  async #removeOldest(containers: readonly StoredContainer[]): Promise<void> {
    const age = ({ record }: StoredContainer): number => record?.expiresAtUnixMs ?? 0
    for (const { folder, id } of containers.toSorted((a, b) => age(a) - age(b))) {
      if (await this.#removeIfFree(folder, id)) return
    }
    throw new SandboxFailure('too_many_containers', 'All containers are in use. Try again later.')
  }

  async #removeIfFree(folder: string, id: string): Promise<boolean> {
    const lock = await tryLock(this.lockName(id))
    if (lock === null) return false
    try {
      await rm(folder, { recursive: true, force: true })
      return true
    } finally {
      await lock.release()
    }
  }

  /** By folder of an organization. */
  async #all(): Promise<Map<string, StoredContainer[]>> {
    const found = new Map<string, StoredContainer[]>()
    for (const organization of await namesIn(this.#root)) {
      const containers: StoredContainer[] = []
      for (const id of await namesIn(join(this.#root, organization))) {
        const folder = join(this.#root, organization, id)
        containers.push({ folder, id, record: await recordIn(folder) })
      }
      found.set(organization, containers)
    }
    return found
  }

  async #write(folder: string, record: ContainerRecord): Promise<void> {
    const next = join(folder, `${RECORD}.next`)
    await writeFile(next, JSON.stringify(record), { mode: 0o600 })
    await rename(next, join(folder, RECORD))
  }
}

interface StoredContainer {
  readonly folder: string
  readonly id: string
  readonly record: ContainerRecord | null
}

const expired = (): SandboxFailure =>
  new SandboxFailure('container_expired', 'There is no such container, or it is over.')

async function recordIn(folder: string): Promise<ContainerRecord | null> {
  try {
    return JSON.parse(await readFile(join(folder, RECORD), 'utf8')) as ContainerRecord
  } catch {
    return null
  }
}

async function namesIn(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => [])
}

function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}
