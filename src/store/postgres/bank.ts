/** The bank of all machines in PostgreSQL: the statements of one machine. What they do stands in 005_bank.sql. */
import type {
  BankCall,
  BankClaim,
  BankReply,
  BankTokenClaim,
  BankTokens,
  QuotaBank,
} from '../../limits/quota-bank.js'
import type { Database } from './database.js'

/** Who draws, as it is at the moment. */
export interface BankMember {
  readonly name: string
  /** When it begins to draw. */
  readonly epoch: number
  /** Machines that are live, this one among them. */
  live(): number
}

/** Who waits for a limit waits for 2 s, and is told when the bank is late. */
const EXCHANGE_MS = 1_000
const EXCHANGE = `SELECT name, state, held, room, window_id AS window, ends_in_ms AS "endsInMs", call, version
  FROM sluice.bank($1, $2, $3, $4, $5)`

export function openBank(database: Database, member: BankMember): QuotaBank {
  let seq = 0
  let { epoch } = member
  return {
    exchange: async (claims) => {
      const values = [member.name, epoch, ++seq, member.live(), JSON.stringify(claims.map(claimRow))]
      const replies = await database.query<BankReply>(EXCHANGE, values, { deadlineMs: EXCHANGE_MS })
      return replies.length === 0 && claims.length > 0 ? null : replies
    },
    takeTokens: (claims) =>
      database.query<BankTokens>('SELECT name, granted, level FROM sluice.bank_tokens($1)', [
        JSON.stringify(claims.map(tokenRow)),
      ]),
    calls: async () => {
      const rows = await database.query<{ called: readonly string[] }>(
        'SELECT sluice.called_in($1, $2) AS called',
        [member.name, epoch],
      )
      return rows.flatMap(({ called }) => called.map(parseCall))
    },
    retire: async () => void (await database.query('SELECT sluice.bank_retire($1)', [member.name])),
    freeEarlier: async () => void (await database.query('SELECT sluice.bank_free($1)', [member.name])),
    adopt: async (joined) => {
      const rows = await database.query<{ name: string }>('SELECT sluice.bank_adopt($1, $2) AS name', [
        member.name,
        joined,
      ])
      epoch = joined
      return rows.map(({ name }) => name)
    },
    prune: async () => void (await database.query('SELECT sluice.bank_prune()')),
  }
}

/** From `NUMBER NAME`, as the beat and the hints say it. */
export function parseCall(text: string): BankCall {
  const space = text.indexOf(' ')
  return { call: Number(text.slice(0, space)), name: text.slice(space + 1) }
}

function claimRow({ windowMs, window, ...claim }: BankClaim): object {
  return { ...claim, window_ms: windowMs, window_id: window }
}

function tokenRow({ refillPerMs, ...claim }: BankTokenClaim): object {
  return { ...claim, refill_per_ms: refillPerMs }
}
