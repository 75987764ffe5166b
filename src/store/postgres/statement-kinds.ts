/** What statements are for, by the first table or function of ours that they name: for figures, never for a decision. */

const STATEMENT_KINDS = [
  'membership',
  'records',
  'bank',
  'ledger',
  'practice',
  'transaction',
  'other',
] as const
export type StatementKind = (typeof STATEMENT_KINDS)[number]

/** Beginnings of the names, the first that fits. */
const KINDS: readonly (readonly [beginning: RegExp, kind: StatementKind])[] = [
  [/^(machines|fleet)/, 'membership'],
  [/^(records|change|audit)/, 'records'],
  [/^(bank|called_in|has_open_leases|void_leases)/, 'bank'],
  [/^(take_journals|keep_ledger|make_ledger|ledger|spent|settle)/, 'ledger'],
  [/^(items|item_|change_items|files?|file_|store_file|remove_file|keep_workspace|memor)/, 'practice'],
]
const TRANSACTION = /^(BEGIN|COMMIT|ROLLBACK)/
/** Statements are constants of the program, a hundred or so; what puts values into its text is not remembered. */
const MOST_REMEMBERED = 1_000

const known = new Map<string, StatementKind>()

export function statementKind(sql: string): StatementKind {
  const remembered = known.get(sql)
  if (remembered !== undefined) return remembered
  const kind = findKind(sql)
  if (known.size < MOST_REMEMBERED) known.set(sql, kind)
  return kind
}

function findKind(sql: string): StatementKind {
  if (TRANSACTION.test(sql)) return 'transaction'
  const [, name = ''] = /sluice\.(\w+)/.exec(sql) ?? []
  return KINDS.find(([beginning]) => beginning.test(name))?.[1] ?? 'other'
}
