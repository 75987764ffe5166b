/** What callers of the control listener may send. Every message stands behind the name of its field. */
import { z } from 'zod'
import type { DelayShape } from '../delay-shape.js'
import { FAULT_KINDS } from '../faults/fault-plan.js'
import type { ClientReport } from '../truth.js'

const DAY_S = 86_400

function number(min: number, max: number): z.ZodType<number> {
  const sentence = `must be a number from ${min} to ${max}`
  return z.number(sentence).min(min, sentence).max(max, sentence)
}

function integer(min: number, max: number): z.ZodType<number> {
  const sentence = `must be an integer from ${min} to ${max}`
  return z.int(sentence).min(min, sentence).max(max, sentence)
}

/** Greater than zero. */
function positive(max: number): z.ZodType<number> {
  const sentence = `must be a number above 0, at most ${max}`
  return z.number(sentence).positive(sentence).max(max, sentence)
}

const seed = integer(0, 0xffff_ffff)

const expectation = z
  .strictObject({
    loop: z.enum(['open', 'closed'], 'must be "open" or "closed"'),
    rate: positive(10_000_000).optional(),
    connections: integer(1, 1_000_000).optional(),
    pattern: z.enum(['constant', 'poisson'], 'must be "constant" or "poisson"').optional(),
    timeoutMs: positive(DAY_S * 1000).optional(),
  })
  .refine(({ loop, rate }) => loop === 'closed' || rate !== undefined, {
    path: ['rate'],
    message: 'an open loop has a rate',
  })

const MOST_DELAY_MS = 600_000

const shape: z.ZodType<DelayShape> = z.discriminatedUnion('shape', [
  z.strictObject({ shape: z.literal('random'), seed: seed.nullable().default(null) }),
  z.strictObject({ shape: z.literal('quasi'), seed: seed.default(0) }),
  z.strictObject({ shape: z.literal('constant'), ms: number(0, MOST_DELAY_MS) }),
  z.strictObject({
    shape: z.literal('uniform'),
    fromMs: number(0, MOST_DELAY_MS),
    toMs: number(0, MOST_DELAY_MS),
    seed: seed.nullable().default(null),
  }),
  z.strictObject({
    shape: z.literal('log-normal'),
    medianMs: positive(MOST_DELAY_MS),
    p99Ms: positive(MOST_DELAY_MS),
    seed: seed.nullable().default(null),
  }),
  z.strictObject({
    shape: z.literal('bimodal'),
    fastMs: number(0, MOST_DELAY_MS),
    slowMs: number(0, MOST_DELAY_MS),
    slowShare: number(0, 1),
    seed: seed.nullable().default(null),
  }),
  z.strictObject({
    shape: z.literal('load'),
    baseMs: number(0, MOST_DELAY_MS),
    perCallMs: number(0, 10_000),
  }),
])

export const runRequest = z.strictObject({
  label: z.string('must be text').max(200, 'must have at most 200 characters').default(''),
  expect: expectation.nullable().default(null),
  warmupS: number(0, DAY_S).default(0),
  measureS: positive(DAY_S),
  seed: seed.default(0),
  /** As the settings say when absent. */
  delays: z.enum(['random', 'quasi'], 'must be "random" or "quasi"').optional(),
  /** Counts only calls whose `X-Lab-Run` names it; such runs may overlap. */
  byHeader: z.boolean('must be true or false').default(false),
  /** Overrides `delays` with any of the shapes. */
  delayShape: shape.optional(),
})
export type RunRequest = z.output<typeof runRequest>

export const faultRequest = z.strictObject({
  kind: z.enum(FAULT_KINDS, `must be one of ${FAULT_KINDS.join(', ')}`),
  op: z.string('must be the name of an operation, or *').min(1, 'must not be empty').default('*'),
  worker: integer(0, 255).nullable().default(null),
  afterMs: number(0, DAY_S * 1000).default(0),
  forMs: positive(DAY_S * 1000).optional(),
  everyMs: positive(DAY_S * 1000).optional(),
  prob: number(0, 1).default(1),
  seed: seed.default(0),
  status: integer(400, 599).optional(),
  addMs: positive(MOST_DELAY_MS).optional(),
  bytesPerS: positive(1e9).optional(),
  token: integer(0, 1_000_000).optional(),
  maxHeld: integer(1, 1_000_000).optional(),
})
export type FaultRequest = z.output<typeof faultRequest>

const count = z.int('must be a whole number').min(0, 'must not be negative')
const ms = z.number('must be a number').min(0, 'must not be negative')
const nanoseconds = z.string('must be text').regex(/^[0-9]{1,19}$/, 'must be nanoseconds as decimal text')

export const clientReport: z.ZodType<ClientReport> = z
  .object({
    tool: z.string('must be text').min(1, 'must not be empty').max(100),
    version: z.string('must be text').max(200),
    argv: z.array(z.string().max(10_000)).max(1_000),
    loop: z.enum(['open', 'closed'], 'must be "open" or "closed"'),
    connections: count,
    rate: positive(10_000_000).optional(),
    startNs: nanoseconds.optional(),
    endNs: nanoseconds.optional(),
    durationS: positive(DAY_S),
    sent: count.optional(),
    done: count,
    errors: z.record(z.string(), count),
    // Many tools know classes only.
    statuses: z.record(
      z.string().regex(/^(?:[1-5][0-9]{2}|[1-5]xx)$/, 'must be statuses such as 200, or classes such as 2xx'),
      count,
    ),
    rps: ms,
    mean: ms.optional(),
    percentiles: z.record(z.string().regex(/^p[0-9]{1,2}(\.[0-9]+)?$/, 'must be names such as p99.9'), ms),
    max: ms.optional(),
    quantum: ms,
    censor: positive(DAY_S * 1000).optional(),
    corrected: z.boolean('must be true or false').optional(),
    samples: count.optional(),
    latenessP99: ms.optional(),
    pipelining: integer(1, 10_000).optional(),
    cpuShare: ms,
    cpuCores: positive(10_000),
    wallS: ms,
  })
  .refine(
    ({ startNs, endNs }) => startNs === undefined || endNs === undefined || BigInt(endNs) > BigInt(startNs),
    {
      path: ['endNs'],
      message: 'must lie after startNs',
    },
  )
  .refine(({ sent, done }) => sent === undefined || done <= sent, {
    path: ['done'],
    message: 'is more than was sent',
  }) as unknown as z.ZodType<ClientReport>
