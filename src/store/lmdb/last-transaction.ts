/**
 * Which transaction of an LMDB environment was the last one, as its files say it.
 *
 * LMDB keeps the number in its lock file for all processes, and each commit writes it into the data file too. The LMDB
 * inside lmdb-js 3.5.6 has the defect ITS#9496: a process that opens an environment reads the number from the data file
 * and puts it into the lock file a moment later, without holding the write lock. When another process commits in
 * between, the next transaction, of whichever process, begins before that commit and overwrites it. Measured with one
 * process that writes while another opens and closes: 6 of 1,933 commits were lost, and one transaction failed because
 * it met pages from after its begin (`mdb_page_touch`). So every transaction of ours compares its own number with the
 * data file before it reads anything, and puts the lock file right when it began too early. Readers take the number as it
 * is: they may miss the last change from the moment of such an opening to its first transaction, which follows at once.
 */
import { closeSync, openSync, readSync, writeSync } from 'node:fs'
import { endianness } from 'node:os'
import { join } from 'node:path'

/** Offsets in a meta page, of which there are two at the begin of the data file. */
const META_MAGIC = 24
const META_PAGE_SIZE = 48
const META_TRANSACTION = 152
/** Offset in the lock file. */
const LOCK_TRANSACTION = 8
const MAGIC = 0xbeefc0de

export class LastTransaction {
  readonly #lockPath: string
  /**
   * Open from the first `restore` to the end of the process: the first `close` of any descriptor of a file ends all
   * `fcntl` locks that the process holds on it, and by them LMDB knows that the environment is in use.
   */
  #lockFile: number | null = null
  readonly #dataFile: number
  readonly #pageSize: number
  readonly #bytes = Buffer.alloc(8)

  /** @param folder of an environment that is open. Throws when its files are not laid out as they should be. */
  constructor(folder: string) {
    this.#lockPath = join(folder, 'lock.mdb')
    this.#dataFile = openSync(join(folder, 'data.mdb'), 'r')
    this.#pageSize = Number(this.#read(META_PAGE_SIZE) & 0xffff_ffffn)
    if (endianness() !== 'LE' || Number(this.#read(META_MAGIC) & 0xffff_ffffn) !== MAGIC) {
      throw new Error(`the store in ${folder} is not laid out as LMDB lays it out on this kind of machine`)
    }
  }

  /**
   * Whether the last commit has this number or a higher one. Asked by the write transaction that has it, while it holds
   * the write lock. Even and odd numbers have a page each: a commit of this number, or a later one that
   * took its place, stands in the page that is asked.
   */
  isAtOrAfter(transaction: number): boolean {
    return this.#read((transaction % 2) * this.#pageSize + META_TRANSACTION) >= BigInt(transaction)
  }

  /** Tells all processes the last transaction again. Called while a transaction holds the write lock. */
  restore(): void {
    this.#lockFile ??= openSync(this.#lockPath, 'r+')
    this.#bytes.writeBigUInt64LE(this.#committed())
    writeSync(this.#lockFile, this.#bytes, 0, this.#bytes.length, LOCK_TRANSACTION)
  }

  /** Called when the environment is closed. */
  close(): void {
    closeSync(this.#dataFile)
  }

  #committed(): bigint {
    const even = this.#read(META_TRANSACTION)
    const odd = this.#read(this.#pageSize + META_TRANSACTION)
    return even > odd ? even : odd
  }

  #read(offset: number): bigint {
    readSync(this.#dataFile, this.#bytes, 0, this.#bytes.length, offset)
    return this.#bytes.readBigUInt64LE()
  }
}
