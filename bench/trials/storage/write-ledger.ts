/** What a client may say of an item. */
interface ItemContent {
  readonly name: string
  readonly description: string
  readonly price: number
}

/** An item as the service answers it. */
interface StoredItem extends ItemContent {
  readonly id: number
  readonly created_at: number
}

/** What the ledger holds of an item whose creation was acknowledged or seen. */
export interface LedgerEntry {
  readonly id: number
  readonly createdAt: number
  /** The contents a read may show: one, or two while an update is neither acknowledged nor refused. */
  contents: readonly ItemContent[]
  /** `unsure`: a deletion was sent and nothing is known of it. */
  state: 'live' | 'deleted' | 'unsure'
}

/** The kinds of broken promise a trial looks for. */
export type WriteViolation =
  | 'lost'
  | 'half-record'
  | 'reused-id'
  | 'id-out-of-order'
  | 'unexplained-gap'
  | 'undead'
  | 'created-at-changed'

const KEYS = 'name,description,price,id,created_at'
const NOTES_PER_KIND = 3
const FILLER = 'übergroße Ladung · 漢字 · 🚢 '

/**
 * Reads an item from an answer's bytes; null unless it is exactly the five keys in their order with values of
 * the right kind, which is what "no half records" means.
 */
export function parseItem(body: Buffer): StoredItem | null {
  try {
    const value: unknown = JSON.parse(body.toString('utf8'))
    if (typeof value !== 'object' || value === null || Object.keys(value).join() !== KEYS) return null
    const item = value as StoredItem
    const sound =
      typeof item.name === 'string' &&
      typeof item.description === 'string' &&
      typeof item.price === 'number' &&
      Number.isSafeInteger(item.id) &&
      typeof item.created_at === 'number'
    return sound ? item : null
  } catch {
    return null
  }
}

function sameContent(a: ItemContent, b: ItemContent): boolean {
  return a.name === b.name && a.description === b.description && a.price === b.price
}

/**
 * The client's own account of its writes: what it sent, what was acknowledged, what is unknown because the
 * answer never came. Everything a later read shows is held against it.
 */
export class WriteLedger {
  readonly entries = new Map<number, LedgerEntry>()
  readonly counts = new Map<WriteViolation, number>()
  readonly notes: string[] = []
  /** Contents of creates whose outcome is unknown, by name. */
  readonly unknownCreates = new Map<string, ItemContent>()
  acknowledged = 0
  unknown = 0
  /** Unknown creates that turned out to have been carried out. */
  ghosts = 0
  gaps = 0
  #sent = new Map<string, ItemContent>()
  #highest = 0

  /** The highest id seen so far; ids begin at 1. */
  get highest(): number {
    return this.#highest
  }

  /** A content that no other write ever had; its size varies from a few bytes to about a kilobyte. */
  newContent(): ItemContent {
    const n = this.#sent.size + 1
    const description = `${n}:${FILLER.repeat((n * 7) % 20)}`.slice(0, 1_000).toWellFormed()
    const content = { name: `write ${n}`, description, price: ((n * 37) % 100_000) / 8 }
    this.#sent.set(content.name, content)
    return content
  }

  /** A create was answered with 201. `floor`: the highest id known when it was sent. */
  created(content: ItemContent, item: StoredItem | null, floor: number): LedgerEntry | null {
    this.acknowledged++
    if (item === null || !sameContent(item, content)) {
      this.#addViolation('half-record', `a 201 does not repeat what was sent as ${content.name}`)
      return null
    }
    if (this.entries.has(item.id)) this.#addViolation('reused-id', `id ${item.id} was given twice`)
    if (item.id <= floor) this.#addViolation('id-out-of-order', `id ${item.id} was given after ${floor}`)
    return this.#enter(item, content)
  }

  /** A create was sent and its outcome is unknown. */
  createUnknown(content: ItemContent): void {
    this.unknown++
    this.unknownCreates.set(content.name, content)
  }

  /** An update was answered with 200. */
  updated(entry: LedgerEntry, content: ItemContent, item: StoredItem | null): void {
    this.acknowledged++
    if (item === null || !sameContent(item, content) || item.id !== entry.id) {
      this.#addViolation('half-record', `a 200 does not repeat the update of ${entry.id}`)
    } else if (item.created_at !== entry.createdAt) {
      this.#addViolation('created-at-changed', `the update of ${entry.id} moved created_at`)
    }
    entry.contents = [content]
  }

  /** An update was sent and its outcome is unknown: either content may show. */
  updateUnknown(entry: LedgerEntry, content: ItemContent): void {
    this.unknown++
    if (!entry.contents.includes(content)) entry.contents = [...entry.contents, content]
  }

  /** A deletion was answered with 204, or with 404 after one whose outcome was unknown. */
  deleted(entry: LedgerEntry): void {
    this.acknowledged++
    entry.state = 'deleted'
  }

  /** A deletion was sent and its outcome is unknown. */
  deleteUnknown(entry: LedgerEntry): void {
    this.unknown++
    entry.state = 'unsure'
  }

  /** A write found no item where an acknowledged one should be. */
  missing(entry: LedgerEntry, while_: string): void {
    entry.state = 'deleted'
    this.#addViolation('lost', `item ${entry.id} was not found by ${while_}`)
  }

  /** Holds one read of `id` against the account; `body` is null for a 404. */
  check(id: number, body: Buffer | null): void {
    const entry = this.entries.get(id)
    if (body === null) {
      if (entry?.state === 'live') this.#addViolation('lost', `item ${id} is gone`)
      return
    }
    const item = parseItem(body)
    if (item === null || item.id !== id) {
      this.#addViolation('half-record', `item ${id} reads ${body.toString('utf8').slice(0, 120)}`)
    } else if (!entry) {
      this.#acceptUnknownCreate(item)
    } else if (entry.state === 'deleted') {
      this.#addViolation('undead', `item ${id} was deleted and is back`)
    } else {
      this.#compare(entry, item)
    }
  }

  /**
   * Holds the ids that nobody knows against the creates whose outcome is unknown. Call it after `check` saw
   * every id up to the highest: only a create that was never acknowledged may leave a gap.
   */
  checkGaps(): void {
    let gaps = 0
    for (let id = 1; id <= this.#highest; id++) if (!this.entries.has(id)) gaps++
    this.gaps = gaps
    const excess = gaps - this.unknownCreates.size
    if (excess <= (this.counts.get('unexplained-gap') ?? 0)) return
    this.#addViolation(
      'unexplained-gap',
      `${gaps} ids are missing, ${this.unknownCreates.size} creates unknown`,
    )
    this.counts.set('unexplained-gap', excess)
  }

  #acceptUnknownCreate(item: StoredItem): void {
    const content = this.unknownCreates.get(item.name)
    if (!content || !sameContent(item, content)) {
      this.#addViolation('half-record', `item ${item.id} shows what nobody sent: ${item.name.slice(0, 60)}`)
      return
    }
    this.unknownCreates.delete(item.name)
    this.ghosts++
    this.#enter(item, content)
  }

  #compare(entry: LedgerEntry, item: StoredItem): void {
    const shown = entry.contents.find((content) => sameContent(item, content))
    if (shown) {
      entry.contents = [shown]
      if (item.created_at !== entry.createdAt) {
        this.#addViolation('created-at-changed', `created_at of ${item.id} moved`)
      }
      return
    }
    const known = this.#sent.get(item.name)
    if (known && sameContent(item, known))
      this.#addViolation('lost', `item ${item.id} shows ${item.name}, not the last update`)
    else this.#addViolation('half-record', `item ${item.id} shows a content that was never sent`)
  }

  #enter(item: StoredItem, content: ItemContent): LedgerEntry {
    const entry: LedgerEntry = { id: item.id, createdAt: item.created_at, contents: [content], state: 'live' }
    this.entries.set(item.id, entry)
    if (item.id > this.#highest) this.#highest = item.id
    return entry
  }

  #addViolation(kind: WriteViolation, note: string): void {
    const count = (this.counts.get(kind) ?? 0) + 1
    this.counts.set(kind, count)
    if (count <= NOTES_PER_KIND) this.notes.push(`${kind}: ${note}`)
  }
}
