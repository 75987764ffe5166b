/**
 * Sessions and sign-in providers in a space of records.
 *
 *     session-records        's' hash                          ->  session
 *                            'u' hash                          ->  an attempt that was redeemed
 *                            'p' id                            ->  provider
 *     session-belongings     's' organization, time, hash      ->  hash    oldest first
 *                            'w' owner, time, hash             ->  hash    oldest first
 *                            'e' end, kind, hash               ->  what has to go then, the first first
 *                            'p' organization, id              ->  id
 *
 * Nothing runs to clear away what has ended: each new session takes a few of those with it, more than it adds.
 */
import type { FederationAuditRow } from '../federation-store.js'
import type { RedeemedAttempt, Session, SessionStore, SignInProvider } from '../session-store.js'
import type { AuditBook } from './audit-book.js'
import { createOwnedRecords } from './federation.js'
import type { ByteTable, RecordSpace } from './record-space.js'
import { ownerPrefix, RecordTable } from './record-table.js'

/** Sessions of one key or member. */
const MOST_OF_OWNER = 20
const MOST_OF_ORGANIZATION = 5_000
/** What a new session clears away of what has ended; it adds two entries at most. */
const CLEARED_AT_ONCE = 16

/** The sessions of an organization, of an owner; what ends. */
const OF_ORGANIZATION = 's'
const OF_OWNER = 'w'
const ENDING = Buffer.from('e')
const COUNT = 'c'

/** @param audit takes the rows about providers */
export function createSessionStore(space: RecordSpace, audit: AuditBook<FederationAuditRow>): SessionStore {
  const records = new RecordTable(space, 'session-records')
  const index = space.byteTable('session-belongings')
  const sessions = new SessionTable(space, records, index)
  return {
    session: (hash) => records.readParsed<Session>(`s${hash}`, () => recordKey('s', hash)),
    sessionsOf: ({ organizationId, owner }) =>
      space
        .inSnapshot(() =>
          records.listIndexed<Session>(
            index,
            owner === null ? ownerPrefix(OF_ORGANIZATION, organizationId) : ownerPrefix(OF_OWNER, owner),
            (hash) => recordKey('s', hash.toString()),
          ),
        )
        .filter((session) => session.organizationId === organizationId)
        .reverse(),
    addSession: (session, attempt) => space.writeDurably(() => sessions.add(session, attempt)),
    isRedeemed: (hash) => space.inSnapshot(() => sessions.isRedeemed(hash)),
    removeSession: (hash) =>
      space.writeDurably(() => {
        const current = records.get<Session>(recordKey('s', hash))
        if (current !== null) sessions.remove(current)
        return current !== null
      }),
    providers: createOwnedRecords<SignInProvider>(
      space,
      { records, ownerIndex: index, audit },
      'p',
      (provider) => provider,
    ),
  }
}

/** What is done to sessions inside a change. */
class SessionTable {
  constructor(
    private readonly space: RecordSpace,
    private readonly records: RecordTable,
    private readonly index: ByteTable,
  ) {}

  isRedeemed(attemptHash: string): boolean {
    const key = recordKey('u', attemptHash)
    return key !== null && this.records.has(key)
  }

  add(session: Session, attempt: RedeemedAttempt | null): boolean {
    if (attempt !== null && this.isRedeemed(attempt.hash)) return false
    this.clearEnded(session.createdAt)
    this.makeRoom(session)
    if (attempt !== null) {
      this.records.put(recordKey('u', attempt.hash)!, attempt)
      this.index.put(endingKey('u', attempt), Buffer.from(`u${attempt.hash}`))
    }
    this.records.put(recordKey('s', session.hash)!, session)
    this.index.put(endingKey('s', session), Buffer.from(`s${session.hash}`))
    for (const key of belongingKeys(session)) this.index.put(key, Buffer.from(session.hash))
    this.count(session.organizationId, 1)
    return true
  }

  remove(session: Session): void {
    this.records.remove(recordKey('s', session.hash)!)
    this.index.remove(endingKey('s', session))
    for (const key of belongingKeys(session)) this.index.remove(key)
    this.count(session.organizationId, -1)
  }

  private clearEnded(now: number): void {
    for (const entry of this.first(ENDING, CLEARED_AT_ONCE)) {
      const kind = entry.toString('latin1', 0, 1) as Kind
      const key = recordKey(kind, entry.toString('latin1', 1))!
      const ended = this.records.get<Session | RedeemedAttempt>(key)!
      if (ended.expiresAt > now) return
      if ('organizationId' in ended) this.remove(ended)
      else {
        this.records.remove(key)
        this.index.remove(endingKey('u', ended))
      }
    }
  }

  /** So that a session more is not one too many. */
  private makeRoom({ organizationId, ...session }: Session): void {
    const own = this.first(ownerPrefix(OF_OWNER, ownerOf(session))!, MOST_OF_OWNER)
    if (own.length === MOST_OF_OWNER) this.removeOf(own[0]!)
    if (this.count(organizationId, 0) < MOST_OF_ORGANIZATION) return
    const [oldest] = this.first(ownerPrefix(OF_ORGANIZATION, organizationId)!, 1)
    if (oldest !== undefined) this.removeOf(oldest)
  }

  private removeOf(hash: Buffer): void {
    this.remove(this.records.get<Session>(recordKey('s', hash.toString()))!)
  }

  /** How many sessions an organization has, after so many more. */
  private count(organizationId: string, more: number): number {
    const key = Buffer.from(COUNT + organizationId)
    const before = Number(Buffer.from(this.space.get(this.index, key) ?? '0').toString())
    if (more !== 0) this.index.put(key, Buffer.from(String(before + more)))
    return before + more
  }

  private first(prefix: Buffer, limit: number): Buffer[] {
    return this.space.valuesOfPage(this.index, prefix, { offset: 0, limit })
  }
}

type Kind = 's' | 'u'

/** Null for what is no SHA-256 in lower-case hex. */
function recordKey(kind: Kind, hash: string): Buffer | null {
  return /^[0-9a-f]{64}$/.test(hash) ? Buffer.from(kind + hash) : null
}

function ownerOf({ keyHash, memberId }: Pick<Session, 'keyHash' | 'memberId'>): string {
  return keyHash ?? memberId!
}

function belongingKeys(session: Session): Buffer[] {
  const place = timeKey(session.createdAt, session.hash)
  return [
    Buffer.concat([ownerPrefix(OF_ORGANIZATION, session.organizationId)!, place]),
    Buffer.concat([ownerPrefix(OF_OWNER, ownerOf(session))!, place]),
  ]
}

function endingKey(kind: Kind, { expiresAt, hash }: RedeemedAttempt): Buffer {
  return Buffer.concat([ENDING, timeKey(expiresAt, kind + hash)])
}

function timeKey(at: number, name: string): Buffer {
  const time = Buffer.alloc(8)
  time.writeBigUInt64BE(BigInt(at))
  return Buffer.concat([time, Buffer.from(name)])
}
