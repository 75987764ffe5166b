import type { Database } from './database.js'

/** Statements under way at a time; who comes meanwhile goes into the next one. */
const STATEMENTS = 2
const MOST_IDS = 256

const READ = 'SELECT id, json FROM sluice.items WHERE id = ANY($1::bigint[])'

interface Reading {
  readonly id: number
  readonly resolve: (json: Uint8Array | null) => void
  readonly reject: (error: unknown) => void
}

/**
 * Reads of one item each. Those that come in one turn of the loop, or while statements are under way, share the next
 * statement: a way to the database and back is most of what a read costs. None joins a statement that has been sent, so
 * that it sees all that was acknowledged before it began. As many wait as calls are under way.
 */
export class ItemReads {
  readonly #database: Database
  readonly #waiting: Reading[] = []
  #underWay = 0
  #isScheduled = false

  constructor(database: Database) {
    this.#database = database
  }

  read(id: number): Promise<Uint8Array | null> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ id, resolve, reject })
      this.#schedule()
    })
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.length === 0 || this.#underWay >= STATEMENTS) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      void this.#readTogether(this.#waiting.splice(0, MOST_IDS))
      this.#schedule()
    })
  }

  async #readTogether(readings: readonly Reading[]): Promise<void> {
    this.#underWay++
    try {
      const ids = readings.map(({ id }) => id)
      const rows = await this.#database.query<{ id: number; json: Buffer }>(READ, [ids])
      const found = new Map(rows.map(({ id, json }) => [id, json]))
      for (const { id, resolve } of readings) resolve(found.get(id) ?? null)
    } catch (error) {
      for (const { reject } of readings) reject(error)
    }
    this.#underWay--
    this.#schedule()
  }
}
