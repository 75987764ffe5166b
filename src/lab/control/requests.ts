/** What callers of the control listener may send. Every message stands behind the name of its field. */
import { z } from 'zod'

const DAY_S = 86_400

function numberBetween(min: number, max: number): z.ZodType<number> {
  const sentence = `must be a number from ${min} to ${max}`
  return z.number(sentence).min(min, sentence).max(max, sentence)
}

function integerBetween(min: number, max: number): z.ZodType<number> {
  const sentence = `must be an integer from ${min} to ${max}`
  return z.int(sentence).min(min, sentence).max(max, sentence)
}

/** Greater than zero. */
function positiveUpTo(max: number): z.ZodType<number> {
  const sentence = `must be a number above 0, at most ${max}`
  return z.number(sentence).positive(sentence).max(max, sentence)
}

const seed = integerBetween(0, 0xffff_ffff)

/** What a load tool has been told to do, as far as its user says. */
const loadExpectation = z
  .strictObject({
    loop: z.enum(['open', 'closed'], 'must be "open" or "closed"'),
    /** Arrivals per second; open loops have one. */
    rate: positiveUpTo(10_000_000).optional(),
    connections: integerBetween(1, 1_000_000).optional(),
    pattern: z.enum(['constant', 'poisson'], 'must be "constant" or "poisson"').optional(),
    timeoutMs: positiveUpTo(DAY_S * 1000).optional(),
  })
  .refine(({ loop, rate }) => loop === 'closed' || rate !== undefined, {
    path: ['rate'],
    message: 'an open loop has a rate',
  })
export type LoadExpectation = Readonly<z.output<typeof loadExpectation>>

const MOST_DELAY_MS = 600_000

const delay = numberBetween(0, MOST_DELAY_MS)
const delayAboveZero = positiveUpTo(MOST_DELAY_MS)
const anySeed = seed.nullable().default(null)

const delayShape = z.discriminatedUnion('shape', [
  /** Independent draws, uniform over [100, 500): the public API's own. */
  z.strictObject({ shape: z.literal('random'), seed: anySeed }),
  /** The same distribution without its noise: 100 + 400·frac(seed + i·0.618…). */
  z.strictObject({ shape: z.literal('quasi'), seed: seed.default(0) }),
  z.strictObject({ shape: z.literal('constant'), ms: delay }),
  z.strictObject({ shape: z.literal('uniform'), fromMs: delay, toMs: delay, seed: anySeed }),
  z.strictObject({
    shape: z.literal('log-normal'),
    medianMs: delayAboveZero,
    p99Ms: delayAboveZero,
    seed: anySeed,
  }),
  /** One of two, the slow one with probability `slowShare`. */
  z.strictObject({
    shape: z.literal('bimodal'),
    fastMs: delay,
    slowMs: delay,
    slowShare: numberBetween(0, 1),
    seed: anySeed,
  }),
  /** `baseMs`, and `perCallMs` more for every report that is under way in the worker. */
  z.strictObject({ shape: z.literal('load'), baseMs: delay, perCallMs: numberBetween(0, 10_000) }),
])
export type DelayShape = Readonly<z.output<typeof delayShape>>

export const runRequest = z.strictObject({
  label: z.string('must be text').max(200, 'must have at most 200 characters').default(''),
  expect: loadExpectation.nullable().default(null),
  warmupS: numberBetween(0, DAY_S).default(0),
  measureS: positiveUpTo(DAY_S),
  seed: seed.default(0),
  /** As the settings say when absent. */
  delays: z.enum(['random', 'quasi'], 'must be "random" or "quasi"').optional(),
  /** Counts only calls whose `X-Lab-Run` names it; such runs may overlap. */
  byHeader: z.boolean('must be true or false').default(false),
  /** Overrides `delays` with any of the shapes. */
  delayShape: delayShape.optional(),
})
export type RunRequest = z.output<typeof runRequest>

/** Every kind of fault with the fields that it cannot do without. */
export const FAULT_KINDS = {
  // Of the whole server: no operation can be named.
  block: ['forMs'],
  'accept-pause': ['forMs'],
  // Of single answers.
  hold: ['forMs'],
  slow: ['addMs'],
  error: [],
  reset: [],
  throttle: ['bytesPerS'],
  // Of event streams.
  'stall-at-token': ['addMs', 'token'],
  'cut-at-token': ['token'],
  'error-at-token': ['token'],
  coalesce: [],
  'split-utf8': [],
} as const
const KIND_NAMES = Object.keys(FAULT_KINDS) as (keyof typeof FAULT_KINDS)[]

/** Null when absent; to say null is an error. */
const upToADay = positiveUpTo(DAY_S * 1000)
  .optional()
  .transform((duration) => duration ?? null)

export const faultRequest = z.strictObject({
  kind: z.enum(KIND_NAMES, `must be one of ${KIND_NAMES.join(', ')}`),
  op: z.string('must be the name of an operation, or *').min(1, 'must not be empty').default('*'),
  /** Null for all workers. */
  worker: integerBetween(0, 255).nullable().default(null),
  afterMs: numberBetween(0, DAY_S * 1000).default(0),
  /** How long it lasts; null until it is deleted. */
  forMs: upToADay,
  /** From begin to begin; null happens once. */
  everyMs: upToADay,
  /** Share of the calls it meets. */
  prob: numberBetween(0, 1).default(1),
  seed: seed.default(0),
  /** Of `error`. */
  status: integerBetween(400, 599).default(503),
  /** Of `slow`, and of the stream faults that take time. */
  addMs: positiveUpTo(MOST_DELAY_MS).default(0),
  /** Of `throttle`. */
  bytesPerS: positiveUpTo(1e9).default(0),
  /** Of stream faults: after so many tokens. */
  token: integerBetween(0, 1_000_000).default(0),
  /** Of `hold`: answers that are withheld at a time; beyond them calls get 503. */
  maxHeld: integerBetween(1, 1_000_000).default(10_000),
})
type FaultRequest = z.output<typeof faultRequest>

/** A fault as the workers get it. Times are milliseconds on the clock that all processes share. */
export type FaultPlan = Readonly<Omit<FaultRequest, 'afterMs'>> & {
  readonly id: string
  readonly startMs: number
}

const count = z.int('must be a whole number').min(0, 'must not be negative')
const ms = z.number('must be a number').min(0, 'must not be negative')
const nanoseconds = z.string('must be text').regex(/^[0-9]{1,19}$/, 'must be nanoseconds as decimal text')

/** What a load tool reports, brought into one form by its parser. */
export const loadToolReport = z
  .object({
    tool: z.string('must be text').min(1, 'must not be empty').max(100),
    version: z.string('must be text').max(200),
    argv: z.array(z.string().max(10_000)).max(1_000).readonly(),
    loop: z.enum(['open', 'closed'], 'must be "open" or "closed"'),
    connections: count,
    rate: positiveUpTo(10_000_000).optional(),
    startNs: nanoseconds.optional(),
    endNs: nanoseconds.optional(),
    durationS: positiveUpTo(DAY_S),
    sent: count.optional(),
    done: count,
    /** Requests without an answer, by reason. */
    errors: z.record(z.string(), count),
    /** Many tools know classes only. */
    statuses: z.record(
      z.string().regex(/^(?:[1-5][0-9]{2}|[1-5]xx)$/, 'must be statuses such as 200, or classes such as 2xx'),
      count,
    ),
    rps: ms,
    mean: ms.optional(),
    /** As `DistributionSummary.percentiles`, those the tool gives. */
    percentiles: z.record(z.string().regex(/^p[0-9]{1,2}(\.[0-9]+)?$/, 'must be names such as p99.9'), ms),
    max: ms.optional(),
    /** Least step of the tool's latencies. */
    quantum: ms,
    /** Latencies from here on are no samples (the tool's timeout). */
    censor: positiveUpTo(DAY_S * 1000).optional(),
    /** The tool says that it corrects for coordinated omission. */
    corrected: z.boolean('must be true or false').optional(),
    /** Samples in the tool's histogram, where it says so. */
    samples: count.optional(),
    /** p99 of sent − due, where the tool measures it. */
    latenessP99: ms.optional(),
    pipelining: integerBetween(1, 10_000).optional(),
    cpuShare: ms,
    cpuCores: positiveUpTo(10_000),
    /** CPU seconds of all its processes, where `cpuShare` leaves out what it spins away while it waits. */
    cpuS: ms.optional(),
    wallS: ms,
  })
  .refine(
    ({ startNs, endNs }) => startNs === undefined || endNs === undefined || BigInt(endNs) > BigInt(startNs),
    { path: ['endNs'], message: 'must lie after startNs' },
  )
  .refine(({ sent, done }) => sent === undefined || done <= sent, {
    path: ['done'],
    message: 'is more than was sent',
  })
export type LoadToolReport = Readonly<z.output<typeof loadToolReport>>

// ── What is wrong with them ─────────────────────────────────────────────────

/** Something the caller of the control listener has to hear: a status and a sentence, and the field it is about. */
export class LabRequestError extends Error {
  readonly status: number
  readonly field: string | undefined

  constructor(status: number, message: string, field?: string) {
    super(message)
    this.status = status
    this.field = field
  }

  /** What is wrong with one field. */
  static ofField(field: string, sentence: string, status = 400): LabRequestError {
    return new LabRequestError(status, `${field}: ${sentence}`, field)
  }
}

/** Reads a value with a schema. Throws a 400 that names the first field that is wrong. */
export function validateInput<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value)
  if (result.success) return result.data
  const [issue] = result.error.issues
  const unknown = issue?.code === 'unrecognized_keys' ? issue.keys : []
  const field = [...(issue?.path ?? []), ...unknown.slice(0, 1)].map(String).join('.')
  const what = unknown.length > 0 ? 'there is no such field' : (issue?.message ?? 'is not valid')
  throw field === '' ? new LabRequestError(400, what, field) : LabRequestError.ofField(field, what)
}
