/** What calls of the ledger would have come to under another configuration (`sluice whatif` as an operation). */
import { z } from 'zod'
import { type Clock, unixMs } from '../../base/clock.js'
import { Fault, invalidInput } from '../../base/fault.js'
import type { Catalog } from '../../gateway/catalog/catalog.js'
import { NO_SUPPOSED_LIMITS } from '../../gateway/what-if/limits.js'
import { AMBIGUOUS, REFUSALS, type WhatIfReport } from '../../gateway/what-if/report.js'
import { SupposedLimitsIn, toSupposedLimits } from '../../gateway/what-if/supposed-limits.js'
import { REPLICATES, type WhatIfQuestion } from '../../gateway/what-if/what-if.js'
import { whatIfAnswer } from '../../gateway/what-if/wire.js'
import { gateway } from '../../http/dialects/gateway.js'
import { type Endpoint, endpointGroup } from '../../http/endpoint.js'
import { boundedInteger, boundedString, optional, timeString } from '../../http/fields.js'
import { nameSchema } from '../../http/json-schema.js'
import { jsonReply } from '../../http/reply.js'
import type { LedgerScope, UsageLedger } from '../../store/ledger-store.js'

/** More calls than that are for the command. */
const MOST_CALLS = 20_000
const DAY_MS = 24 * 60 * 60 * 1000
const DEFAULT_HISTORY_DAYS = 7
const LONGEST_CONFIG = 1_000_000
const RETRY_AFTER_S = 5

export interface WhatIfPorts {
  /** The catalogue of this moment. */
  readonly catalog: () => Catalog
  readonly ledger: Pick<UsageLedger, 'list' | 'usage' | 'sync'>
  readonly clock: Pick<Clock, 'unixSeconds'>
  /** How long the ledger keeps rows. */
  readonly ledgerDays: number
  /** A catalogue that is only planned with. */
  readonly readCatalog: (
    text: string,
  ) => Promise<{ readonly catalog: Catalog } | { readonly faults: readonly string[] }>
  /** Null where there are more than `most` calls. Holds the loop for no longer than a few milliseconds at a time. */
  readonly ask: (
    ledger: WhatIfPorts['ledger'],
    question: WhatIfQuestion,
    onProgress: () => void,
    most: number,
  ) => Promise<WhatIfReport | null>
}

const ONE_AT_A_TIME =
  'An organization has one at a time under way in each worker; the next gets 429 with a `Retry-After`.'

const WhatIfIn = nameSchema(
  'WhatIfIn',
  // A slip in a name would answer another question.
  z
    .strictObject({
      since: timeString().meta({
        description: `The calls from then on. With those of the history at most ${MOST_CALLS}; more are for \`sluice whatif\`.`,
      }),
      ...optional({
        until: timeString().meta({ description: 'The calls before that; now when absent.' }),
        config: boundedString(1, LONGEST_CONFIG).meta({
          description:
            'Text of a configuration file, YAML or JSON, as it would stand in the file; credentials that it names need not be there. That of this moment when absent.',
        }),
        limits: SupposedLimitsIn.meta({
          description: 'Limits of keys and credits of organizations; whoever is not named has none.',
        }),
        history_days: boundedInteger(0, 90).meta({
          description: `How long before \`since\` calls tell of endpoints; ${DEFAULT_HISTORY_DAYS} when absent.`,
        }),
        seed: boundedInteger(0, 2 ** 32 - 1).meta({
          description: 'Of the draws, 1 when absent: the same seed gives the same figures.',
        }),
      }),
    })
    .meta({ description: ONE_AT_A_TIME }),
)

const interval = z.object({
  value: z.number(),
  low: z.number(),
  high: z.number(),
  basis: z.enum(['exact', 'estimated']).meta({ description: '`exact`: nothing of it was drawn.' }),
})
const change = z.object({ before: z.number(), after: interval })
const quantiles = <T extends z.ZodType>(figure: T) =>
  z.object({ p50: figure, p95: figure, p99: figure }).nullable()
const times = z.object({ before: quantiles(z.number()), after: quantiles(interval) })
const lines = z.array(z.object({ name: z.string(), before: z.number(), after: interval }))

const WhatIfOut = nameSchema(
  'WhatIf',
  z.object({
    data: z.object({
      since: z.string(),
      until: z.string(),
      history_since: z.string(),
      config_version: z.string(),
      replicates: z.int().meta({ description: 'How often estimated calls were played.' }),
      seed: z.int(),
      notes: z.array(z.string()).meta({ description: 'What makes the figures say less than they seem to.' }),
      calls: z
        .object({ all: z.int(), exact: z.int(), estimated: z.int(), unknown: z.int() })
        .meta({ description: 'Unknown ones are in no other figure.' }),
      refused: z.object(Object.fromEntries(REFUSALS.map((kind) => [kind, interval]))),
      failed: change.meta({ description: 'Calls without an answer.' }),
      cost: change
        .extend({ unknown: z.number().meta({ description: 'Of unknown calls, as it was.' }) })
        .meta({ description: 'Dollars; `low` to `high` holds with 95 % certainty.' }),
      first_event_ms: times,
      total_ms: times,
      by: z.object({ model: lines, provider: lines, key: lines }),
    }),
  }),
)

const operation = endpointGroup({ tag: 'Models and routing', dialect: gateway, access: 'management' })

export function whatIfEndpoints(ports: WhatIfPorts): Endpoint[] {
  /** Organizations for which one is reckoned; '' is the operator. */
  const underWay = new Set<string>()
  return [
    operation('what_if', 'POST /api/v1/routing/what-if', {
      summary: 'Tell what past calls would have come to under another configuration, without calling any',
      keepsRecords: true,
      body: WhatIfIn,
      examples: { prices: { since: '2026-11-27T00:00:00Z' } },
      replies: { 200: { description: 'Money, times and refusals, before and after', schema: WhatIfOut } },
      faults: ['rate-limited', 'unavailable'],
      handle: async ({ body, caller }) => {
        const scope = { organizationId: caller.operator ? null : caller.organizationId, only: null }
        const question = await questionOf(body, scope, ports)
        const whose = scope.organizationId ?? ''
        if (underWay.has(whose)) {
          const note = 'One of this kind is under way'
          throw new Fault('rate-limited', { retryAfter: RETRY_AFTER_S, note })
        }
        underWay.add(whose)
        try {
          await ports.ledger.sync()
          const report = await ports.ask(ports.ledger, question, () => {}, MOST_CALLS)
          if (report === null) throw invalidInput(['body', 'since'], TOO_MANY)
          const [entry] = report.limits.ambiguous
          if (entry !== undefined) throw invalidInput(['body', 'limits', ...entry.split('.')], AMBIGUOUS)
          return jsonReply(200, {
            data: whatIfAnswer(report, { ...question, ledgerDays: ports.ledgerDays }),
          })
        } finally {
          underWay.delete(whose)
        }
      },
    }),
  ]
}

const TOO_MANY = `there are more than ${MOST_CALLS} calls since then, with those before that tell of endpoints: ask for less time, or use \`sluice whatif\``

async function questionOf(
  {
    since,
    until,
    config,
    limits,
    history_days: days = DEFAULT_HISTORY_DAYS,
    seed = 1,
  }: z.output<typeof WhatIfIn>,
  scope: LedgerScope,
  { catalog, readCatalog, clock }: WhatIfPorts,
): Promise<WhatIfQuestion> {
  const read = config === undefined ? { catalog: catalog() } : await readCatalog(config)
  if ('faults' in read) throw invalidInput(['body', 'config'], read.faults.slice(0, MOST_FAULTS).join('; '))
  const from = Date.parse(since)
  const to = until === undefined ? unixMs(clock) : Date.parse(until)
  if (from >= to) throw invalidInput(['body', 'since'], 'must be before until')
  return {
    ...{ catalog: read.catalog, scope, since: from, until: to, replicates: REPLICATES, seed },
    historySince: Math.max(0, from - days * DAY_MS),
    limits: limits === undefined ? NO_SUPPOSED_LIMITS : toSupposedLimits(limits),
  }
}

const MOST_FAULTS = 10
