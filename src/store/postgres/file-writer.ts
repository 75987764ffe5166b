import { contentTypeOf, SNIFFED_BYTES } from '../../base/content-type.js'
import { Fault } from '../../base/fault.js'
import { noRoomFault } from '../disk-reserve.js'
import type { FileRecord, FileWriter, NewFileDetails } from '../file-store.js'
import { BLOCK_BYTES, type BlockPool } from '../files/block-writer.js'
import type { Database } from './database.js'
import type { UnfinishedBytes, WaitingBytes } from './file-bytes.js'
import type { FileSweeper } from './file-sweeper.js'

/** Of a content, the last one excepted; stored contents depend on it. */
export const PIECE_BYTES = BLOCK_BYTES

interface PieceWriterPorts {
  readonly organizationId: string
  readonly database: Database
  readonly blocks: BlockPool
  readonly waiting: WaitingBytes
  readonly unfinished: UnfinishedBytes
  readonly sweeper: FileSweeper
  /** Of an organization. */
  readonly limits: { readonly files: number; readonly bytes: number }
  readonly tooManyFiles: () => Fault
  readonly unixMs: () => number
}

const BEGIN = `
  WITH file AS (INSERT INTO sluice.files (id) VALUES ($1) RETURNING id)
  INSERT INTO sluice.file_pieces SELECT id, $2, $3 FROM file RETURNING number`
const CONTINUE = `
  WITH file AS (
    UPDATE sluice.files SET touched_at = now() WHERE id = $1 AND record IS NULL AND deleted_at IS NULL RETURNING id
  )
  INSERT INTO sluice.file_pieces SELECT id, $2, $3 FROM file RETURNING number`
const STORE = 'SELECT sluice.store_file($1, $2, $3, $4, $5, $6, $7, $8, $9) AS outcome'

/** Writes one content in pieces, one of which is sent while the next one fills; the last one comes with its record. */
export function createPieceWriter(id: string, ports: PieceWriterPorts): FileWriter {
  const writer = new PieceWriter(id, ports)
  return {
    write: (piece) => writer.write(piece),
    commit: (details) => writer.commit(details),
    abandon: () => writer.abandon(),
  }
}

class PieceWriter {
  readonly #id: string
  readonly #ports: PieceWriterPorts
  #head = Buffer.alloc(0)
  #block: Buffer | null = null
  #filled = 0
  /** Full pieces so far, sent or waiting. */
  #pieces = 0
  #pending = 0
  /** Settles when all full pieces so far are stored; never rejects. */
  #sent: Promise<void> = Promise.resolve()
  /** The same without the last one: a sender waits for it. */
  #sentBefore: Promise<void> = Promise.resolve()
  #failure: { readonly cause: unknown } | null = null
  #isOver = false
  #isGivenUp = false
  #isStored = false
  /** Of the organization's unfinished bytes. */
  #unfinished = 0

  constructor(id: string, ports: PieceWriterPorts) {
    this.#id = id
    this.#ports = ports
  }

  write(piece: Uint8Array): void | Promise<void> {
    if (this.#isOver) return Promise.reject(fileAbandoned())
    if (this.#head.length < SNIFFED_BYTES) {
      this.#head = Buffer.concat([this.#head, piece.subarray(0, SNIFFED_BYTES - this.#head.length)])
    }
    for (let from = 0; from < piece.byteLength && this.#failure === null; ) {
      this.#block ??= this.#ports.blocks.acquire()
      const to = Math.min(piece.byteLength, from + PIECE_BYTES - this.#filled)
      this.#block.set(piece.subarray(from, to), this.#filled)
      this.#filled += to - from
      from = to
      if (this.#filled === PIECE_BYTES) this.#sendBlock(this.#block)
    }
    if (this.#failure !== null) return Promise.reject(this.#failure.cause)
    if (this.#pending > 1) return this.#sentBefore.then(() => this.#failIfRefused())
  }

  async commit(details: NewFileDetails): Promise<FileRecord> {
    if (this.#isOver) throw fileAbandoned()
    this.#isOver = true
    const stored = this.#store(details)
    // Whoever gives the file up meanwhile waits for what came of it.
    this.#sent = stored.then(
      () => {},
      () => {},
    )
    return stored
  }

  /** What cannot be removed now is swept when it is old enough. */
  async abandon(): Promise<void> {
    this.#isOver = true
    this.#isGivenUp = true
    await this.#sent
    this.#releaseBlock()
    // Where nothing was sent there is nothing to remove, unless the database took the file and could not say so.
    if (!this.#isStored && (this.#pieces > 0 || this.#failure !== null))
      await this.#ports.sweeper.discard(this.#id).catch(() => {})
    this.#giveBackUnfinished()
  }

  async #store(details: NewFileDetails): Promise<FileRecord> {
    const { database, limits, unixMs, tooManyFiles } = this.#ports
    await this.#sent
    this.#failIfRefused()
    const sizeBytes = this.#pieces * PIECE_BYTES + this.#filled
    const mimeType = contentTypeOf(this.#head, sizeBytes <= SNIFFED_BYTES)
    const file = Object.freeze({ ...details, id: this.#id, mimeType, sizeBytes, createdAt: unixMs() })
    const last = this.#filled > 0 ? this.#block!.subarray(0, this.#filled) : null
    try {
      const [row] = await database.query<{ outcome: 'stored' | 'full' | 'gone' }>(STORE, [
        ...[file.id, Buffer.from(JSON.stringify(file)), file.organizationId, file.workspaceId],
        ...[sizeBytes, this.#pieces, last, limits.files, limits.bytes],
      ])
      if (row!.outcome === 'full') throw tooManyFiles()
      if (row!.outcome === 'gone') throw contentGone()
      this.#isStored = true
      this.#giveBackUnfinished()
      return file
    } catch (cause) {
      this.#failure = { cause }
      throw cause
    } finally {
      this.#releaseBlock()
    }
  }

  #sendBlock(block: Buffer): void {
    this.#block = null
    this.#filled = 0
    const { blocks, waiting } = this.#ports
    const cause = this.#takeRoom()
    if (cause !== null) {
      this.#failure = { cause }
      blocks.release(block)
      return
    }
    const number = this.#pieces++
    this.#pending++
    this.#sentBefore = this.#sent
    this.#sent = this.#sent
      .then(() => this.#sendPiece(number, block))
      .catch((cause: unknown) => {
        this.#failure ??= { cause }
      })
      .then(() => {
        blocks.release(block)
        waiting.giveBack(PIECE_BYTES)
        this.#pending--
      })
  }

  /** For one more piece; null where there is room. */
  #takeRoom(): Fault | null {
    const { organizationId, unfinished, waiting, tooManyFiles } = this.#ports
    if (!unfinished.take(organizationId, PIECE_BYTES)) return tooManyFiles()
    this.#unfinished += PIECE_BYTES
    return waiting.take(PIECE_BYTES) ? null : noRoomFault('too much waits for the database')
  }

  async #sendPiece(number: number, block: Buffer): Promise<void> {
    if (this.#isGivenUp || this.#failure !== null) return
    const rows = await this.#ports.database.query(number === 0 ? BEGIN : CONTINUE, [this.#id, number, block])
    if (rows.length === 0) throw contentGone()
  }

  #giveBackUnfinished(): void {
    this.#ports.unfinished.giveBack(this.#ports.organizationId, this.#unfinished)
    this.#unfinished = 0
  }

  #releaseBlock(): void {
    if (this.#block !== null) this.#ports.blocks.release(this.#block)
    this.#block = null
  }

  #failIfRefused(): void {
    if (this.#failure !== null) throw this.#failure.cause
  }
}

function fileAbandoned(): Fault {
  return new Fault('unavailable', { detail: 'the file was given up' })
}

/** It stood still for so long that it was swept. */
function contentGone(): Fault {
  return new Fault('unavailable', { detail: 'the content of a new file has gone' })
}
