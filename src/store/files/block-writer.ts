import { writeSync } from 'node:fs'
import { type FileHandle, mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import { noRoomFault, type TakeRoom } from '../disk-reserve.js'

export const BLOCK_BYTES = 256 * 1024
/** Blocks that are kept while no writer needs them: 8 MiB. */
const MAX_IDLE_BLOCKS = 32
/** Full blocks that wait at most; what still comes is written at once: 2 MiB. */
const MAX_BUFFERED_BLOCKS = 8

/**
 * Memory for bytes on their way to a disk, used again and again: a fresh buffer costs the kernel more (its pages have
 * to be found and cleared) than the copy into it, and stays until the collector comes by. Blocks are not cleared: their
 * users read only what they have written.
 */
export class BlockPool {
  readonly #idle: Buffer[] = []

  acquire(): Buffer {
    return this.#idle.pop() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES)
  }

  /** Once nothing reads or writes it any more. */
  release(block: Buffer): void {
    if (this.#idle.length < MAX_IDLE_BLOCKS) this.#idle.push(block)
  }
}

/** Creates a file, and its folder where that is absent. */
export async function openNewFile(folder: string, name: string, flags: 'wx' | 'wx+'): Promise<FileHandle> {
  const path = join(folder, name)
  return open(path, flags, 0o600).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    await mkdir(folder, { recursive: true })
    return open(path, flags, 0o600)
  })
}

/**
 * Bytes on their way into a file: gathered into blocks, of which one is written while the next one fills. A sender who
 * does not wait when asked to costs the loop time instead of memory: on a fast network it can send megabytes within one
 * turn, before the loop hears that any block has been written.
 */
export class BlockWriter {
  readonly #blocks: BlockPool
  readonly #open: () => Promise<FileHandle>
  readonly #takeRoom: TakeRoom
  #opening: Promise<FileHandle> | null = null
  /** Null until it is open. */
  #file: FileHandle | null = null
  #block: Buffer | null = null
  #filled = 0
  /** Where `#block` belongs in the file. */
  #at = 0
  #pending = 0
  /** Settles when everything so far has been written; never rejects. */
  #written: Promise<void> = Promise.resolve()
  /** The same without the last full block: a sender waits for it while more than that one is pending. */
  #writtenBefore: Promise<void> = Promise.resolve()
  #failure: { readonly cause: unknown } | null = null
  #isReleased = false

  /** `open` is called when the first block is full, or at `flush`. */
  constructor(blocks: BlockPool, open: () => Promise<FileHandle>, takeRoom: TakeRoom) {
    this.#blocks = blocks
    this.#open = open
    this.#takeRoom = takeRoom
  }

  get size(): number {
    return this.#at + this.#filled
  }

  /** Takes the bytes. Until the promise is settled no more should come; it rejects as the disk did. */
  write(piece: Uint8Array): void | Promise<void> {
    if (this.#failure !== null) return Promise.reject(this.#failure.cause)
    if (this.#pending >= MAX_BUFFERED_BLOCKS && this.#file !== null) this.#writeSync(this.#file.fd, piece)
    else this.#gather(piece)
    if (this.#pending > 1) return this.#writtenBefore.then(() => this.#failIfRefused())
  }

  /** The bytes, when there are so few that no file was opened; a copy. */
  bytesInMemory(): Buffer | null {
    if (this.#opening !== null) return null
    return Buffer.from(this.#block?.subarray(0, this.#filled) ?? [])
  }

  /** Resolves with the file when all of it has been written; rejects as the disk did. */
  async flush(): Promise<FileHandle> {
    if (this.#filled > 0) this.#writeBlock()
    const file = await this.#openOnce()
    await this.#written
    this.#failIfRefused()
    return file
  }

  /** Gives the memory back. Resolves with the file, null when none was opened, when nothing touches it any more. */
  async release(): Promise<FileHandle | null> {
    this.#isReleased = true
    if (this.#block !== null) this.#blocks.release(this.#block)
    this.#block = null
    this.#filled = 0
    await this.#written
    return (await this.#opening?.catch(() => null)) ?? null
  }

  #gather(piece: Uint8Array): void {
    for (let from = 0; from < piece.byteLength; ) {
      this.#block ??= this.#blocks.acquire()
      const to = Math.min(piece.byteLength, from + BLOCK_BYTES - this.#filled)
      this.#block.set(from === 0 && to === piece.byteLength ? piece : piece.subarray(from, to), this.#filled)
      this.#filled += to - from
      from = to
      if (this.#filled === BLOCK_BYTES) this.#writeBlock()
    }
  }

  /** Every block knows its place in the file, so that this piece may be written before those that wait. */
  #writeSync(file: number, piece: Uint8Array): void {
    if (this.#filled > 0) this.#writeBlock()
    const at = this.#at
    this.#at += piece.byteLength
    this.#requireRoom(piece.byteLength)
    if (this.#failure !== null) return
    try {
      for (let done = 0; done < piece.byteLength; ) {
        done += writeSync(file, piece, done, piece.byteLength - done, at + done)
      }
    } catch (cause) {
      this.#failure ??= { cause }
    }
  }

  #openOnce(): Promise<FileHandle> {
    this.#opening ??= this.#open().then((file) => {
      this.#file = file
      return file
    })
    return this.#opening
  }

  #writeBlock(): void {
    const block = this.#block!
    const bytes = this.#filled
    const at = this.#at
    this.#block = null
    this.#filled = 0
    this.#at += bytes
    this.#pending++
    this.#requireRoom(bytes)
    this.#openOnce().catch(() => {})
    this.#writtenBefore = this.#written
    this.#written = this.#written
      .then(() => this.#writeFully(block, bytes, at))
      .catch((cause: unknown) => {
        this.#failure ??= { cause }
      })
      .then(() => {
        this.#blocks.release(block)
        this.#pending--
      })
  }

  async #writeFully(block: Buffer, bytes: number, at: number): Promise<void> {
    if (this.#isReleased || this.#failure !== null) return
    const file = await this.#openOnce()
    // The disk may take less than it is given.
    for (let done = 0; done < bytes; ) {
      const { bytesWritten } = await file.write(block, done, bytes - done, at + done)
      done += bytesWritten
    }
  }

  #requireRoom(bytes: number): void {
    if (!this.#takeRoom(bytes))
      this.#failure ??= { cause: noRoomFault('the disk is full but for its reserve') }
  }

  #failIfRefused(): void {
    if (this.#failure !== null) throw this.#failure.cause
  }
}
