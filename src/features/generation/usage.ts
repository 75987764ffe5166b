/** What calls came to by day, hour, key, model and provider, from sums that are kept as rows come in. */
import { z } from 'zod'
import { type Clock, isoTime, unixMs } from '../../base/clock.js'
import { invalidInput } from '../../base/fault.js'
import { nanosToDollars } from '../../base/money.js'
import { gateway } from '../../http/dialects/gateway.js'
import { type Endpoint, endpointGroup } from '../../http/endpoint.js'
import { nameSchema } from '../../http/json-schema.js'
import { choiceParam, parsedParam } from '../../http/params.js'
import { bytesReply, jsonReply } from '../../http/reply.js'
import type { People } from '../../identity/people.js'
import {
  USAGE_DIMENSIONS,
  type UsageDimension,
  type UsageLedger,
  type UsageLine,
} from '../../store/ledger-store.js'
import { filterOf, ROW_FILTER, type ScopeAccounts, scopeOf } from './scope.js'

const UsageEntry = nameSchema(
  'UsageLine',
  z.object({
    day: z.string().optional().meta({ description: 'UTC, as 2026-11-20.' }),
    hour: z.string().optional().meta({ description: 'When it begins.' }),
    key_hash: z.string().optional(),
    key_name: z.string().nullable().optional(),
    model: z.string().optional(),
    provider: z.string().optional(),
    calls: z.int(),
    failed: z.int(),
    prompt_tokens: z.int(),
    completion_tokens: z.int(),
    cost: z.number().meta({ description: 'Dollars that were paid here.' }),
    byok_cost: z.number().meta({ description: 'Dollars that went on callers’ own accounts at providers.' }),
  }),
)
type UsageEntry = z.infer<typeof UsageEntry>

const UsageAnswer = nameSchema(
  'Usage',
  z.object({ data: z.array(UsageEntry), from: z.string(), to: z.string() }),
)

const HOUR_MS = 60 * 60 * 1000
const DEFAULT_MS = 30 * 24 * HOUR_MS
const MOST_LINES = 10_000

const byParam = parsedParam<readonly UsageDimension[], readonly UsageDimension[]>(
  {
    type: 'string',
    default: 'day',
    description: 'What to tell apart, with commas between: `day` or `hour`, `key`, `model`, `provider`.',
  },
  ['day'],
  'must be some of day, hour, key, model, provider, each once, with commas between, and not both day and hour',
  (text) => {
    const words = text.split(',')
    const known = USAGE_DIMENSIONS.filter((word) => words.includes(word))
    const isBoth = known.includes('day') && known.includes('hour')
    return known.length === words.length && !isBoth ? known : null
  },
)

const operation = endpointGroup({ tag: 'Credits and usage', dialect: gateway, access: 'member' })

/** Sums over what generations came to. */
export const usageEndpoints = (
  ledger: UsageLedger,
  accounts: ScopeAccounts,
  people: People,
  clock: Clock,
): Endpoint[] => [
  operation('read_usage', 'GET /api/v1/usage', {
    summary: 'Read what calls came to, by day or hour, key, model and provider',
    query: {
      ...ROW_FILTER,
      by: byParam,
      format: choiceParam(['json', 'csv'], 'json', 'As JSON or as CSV (RFC 4180).'),
    },
    replies: { 200: { description: 'Sums of whole hours', schema: UsageAnswer } },
    faults: ['item-not-found', 'unavailable'],
    handle: async ({ caller, query }) => {
      const { by, format } = query
      const scope = await scopeOf(caller, query.organization_id, accounts, people)
      const time = wholeHours(query.from, query.to, unixMs(clock))
      await ledger.sync()
      const lines = await ledger.usage({ ...filterOf(query, scope, time), by, limit: MOST_LINES })
      if (lines.length > MOST_LINES) throw invalidInput(['query', 'by'], TOO_MANY)
      const nameOf = (hash: string): string | null => accounts.key(hash)?.name ?? null
      const entries = lines.map((line) => encodeLine(line, by, nameOf))
      if (format === 'csv')
        return bytesReply(200, 'text/csv; charset=utf-8', writeCsv(entries, by), CSV_HEADERS)
      return jsonReply(200, { data: entries, from: isoTime(time.from), to: isoTime(time.to) })
    },
  }),
]

const CSV_HEADERS = [['Content-Disposition', 'attachment; filename="usage.csv"']] as const
const TOO_MANY = `tells more than ${MOST_LINES} lines apart: ask for less time or fewer of them`

/** The hours that a time touches: sums are not kept of less. */
function wholeHours(from: number | null, to: number | null, now: number): { from: number; to: number } {
  const end = Math.ceil((to ?? now + 1) / HOUR_MS) * HOUR_MS
  const begin = from ?? Math.max(0, end - DEFAULT_MS)
  return { from: Math.floor(begin / HOUR_MS) * HOUR_MS, to: end }
}

function encodeLine(
  line: UsageLine,
  by: readonly UsageDimension[],
  nameOf: (hash: string) => string | null,
): UsageEntry {
  const at = line.at === null ? '' : isoTime(line.at)
  return {
    ...(by.includes('day') && { day: at.slice(0, '2026-11-20'.length) }),
    ...(by.includes('hour') && { hour: at }),
    ...(line.keyHash !== null && { key_hash: line.keyHash, key_name: nameOf(line.keyHash) }),
    ...(line.model !== null && { model: line.model }),
    ...(line.provider !== null && { provider: line.provider }),
    calls: line.calls,
    failed: line.failed,
    prompt_tokens: line.promptTokens,
    completion_tokens: line.completionTokens,
    cost: nanosToDollars(line.cost),
    byok_cost: nanosToDollars(line.byok),
  }
}

// ── CSV ─────────────────────────────────────────────────────────────────────

type Column = keyof UsageEntry
const COLUMNS_OF: Readonly<Record<UsageDimension, readonly Column[]>> = {
  day: ['day'],
  hour: ['hour'],
  key: ['key_hash', 'key_name'],
  model: ['model'],
  provider: ['provider'],
}
const FIGURES: readonly Column[] = [
  'calls',
  'failed',
  'prompt_tokens',
  'completion_tokens',
  'cost',
  'byok_cost',
]
/** Nano-dollars. */
const DIGITS = 9

function writeCsv(entries: readonly UsageEntry[], by: readonly UsageDimension[]): string {
  const columns = [...by.flatMap((word) => COLUMNS_OF[word]), ...FIGURES]
  const lines = entries.map((entry) => columns.map((column) => csvField(entry[column])).join(','))
  return [columns.join(','), ...lines, ''].join('\r\n')
}

function csvField(value: string | number | null | undefined): string {
  if (typeof value === 'number') return Number.isInteger(value) ? String(value) : value.toFixed(DIGITS)
  const field = value ?? ''
  // Spreadsheets would run it: names of keys are what callers choose.
  const plain = /^[=+\-@\t\r]/.test(field) ? `'${field}` : field
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain
}
