/**
 * How many connections a worker may hold, and who may open another one. Part of the native edge. uWS goes on accepting
 * when no descriptor is left, in vain and all the time, so the budget ends before.
 */
import { readFile } from 'node:fs/promises'

/** From this share of the budget on, it is counted who holds connections, so that it is known when they are scarce. */
const WATCHED = 0.5
/** From this share on, connections are scarce. */
const SCARCE = 0.8
/** What is left from this share on is kept for addresses that hold less than half of all. */
const KEPT_FOR_OTHERS = 0.9
/** An address with so many connections is never too greedy. */
const MODEST = 8
/** A count of all connections is good for so long, in milliseconds. */
const CENSUS_MS = 1_000

/** Connections per address; an address as in `addressKey`. */
export type Census = Map<string, number>

export class ConnectionBudget {
  open = 0
  /** Connections that were closed as soon as they came, since somebody asked. */
  #refused = 0
  /** Until the first count, those that were opened since they are watched; null where they cannot be counted. */
  #census: Census | null = new Map()
  /** Connections in the census. */
  #counted = 0
  #countedAt = Number.NEGATIVE_INFINITY
  #counting = false
  readonly #most: number
  readonly #count: () => Promise<Census | null>

  /** @param count how many connections each address has at the moment; null where that cannot be told */
  constructor(most: number, count: () => Promise<Census | null>) {
    this.#most = most
    this.#count = count
  }

  get scarce(): boolean {
    return this.open > this.#most * SCARCE
  }

  /**
   * Whether a connection that was opened may stay. While connections are scarce only those addresses get another one
   * that have no more than the average, and the last ones to those that have less than half of all. Whoever is closed
   * must still be told to `closed`.
   */
  opened(address: () => ArrayBuffer): boolean {
    this.open++
    const stays =
      this.open <= this.#most && (this.open <= this.#most * WATCHED || this.#mayOpen(addressKey(address())))
    if (!stays) this.#refused++
    return stays
  }

  closed(): void {
    this.open--
  }

  /** How many were refused since the last call. */
  takeRefused(): number {
    const refused = this.#refused
    this.#refused = 0
    return refused
  }

  #mayOpen(address: string): boolean {
    void this.#recount()
    const census = this.#census
    if (census === null) return true
    const held = census.get(address) ?? 0
    if (this.scarce && held >= MODEST && this.#isGreedy(held, census.size)) return false
    census.set(address, held + 1)
    this.#counted++
    return true
  }

  /** One address alone (a load tool, a proxy) takes nothing away from anybody as long as others find room. */
  #isGreedy(held: number, addresses: number): boolean {
    if (held > this.#counted / addresses) return true
    return this.open > this.#most * KEPT_FOR_OTHERS && held * 2 >= this.#counted
  }

  async #recount(): Promise<void> {
    if (this.#counting || performance.now() - this.#countedAt < CENSUS_MS) return
    this.#counting = true
    const census = await this.#count().catch(() => null)
    this.#census = census
    this.#counted = [...(census?.values() ?? [])].reduce((sum, count) => sum + count, 0)
    this.#countedAt = performance.now()
    this.#counting = false
  }
}

/** An IPv4 address whole, of an IPv6 address the half that its owner does not choose, in hexadecimal. */
export function addressKey(address: ArrayBuffer): string {
  const bytes = Buffer.from(address)
  if (bytes.byteLength === 4) return bytes.toString('hex')
  const isMapped = bytes.subarray(0, 12).equals(MAPPED)
  return isMapped ? bytes.toString('hex', 12) : bytes.toString('hex', 0, 8)
}

const MAPPED = Buffer.from('00000000000000000000ffff', 'hex')

// ── The kernel's table ──────────────────────────────────────────────────────

const TABLES = ['/proc/self/net/tcp', '/proc/self/net/tcp6']
/** Local address and port, remote address; established ones only. */
const ROW = /^ *\d+: [0-9A-F]+:([0-9A-F]{4}) ([0-9A-F]+):[0-9A-F]{4} 01 /gm

/**
 * Open connections to a local port by address, those of other workers included. uWS does not tell whose connection it
 * was that has closed, so they are counted where the kernel keeps them. Null where it has no such table.
 */
export async function countConnections(port: number): Promise<Census | null> {
  const tables = await Promise.all(TABLES.map((path) => readFile(path, 'latin1').catch(() => '')))
  if (tables.every((table) => table === '')) return null
  const census: Census = new Map()
  for (const table of tables) countRows(table, port, census)
  return census
}

/** Adds the rows of a table. */
export function countRows(table: string, port: number, census: Census): void {
  for (const [, local, remote] of table.matchAll(ROW)) {
    if (Number.parseInt(local!, 16) !== port) continue
    // The kernel prints each word of four bytes in the order of the machine: little-endian wherever uWS runs.
    const bytes = Buffer.from(remote!, 'hex').swap32()
    const key = addressKey(new Uint8Array(bytes).buffer)
    census.set(key, (census.get(key) ?? 0) + 1)
  }
}
