import { z } from 'zod'
import { MESSAGES_STOP_REASONS } from '../gateway/formats/messages.js'
import { isThere } from '../tape/tape-file.js'
import { compileDistribution, constantSampler, distributionSchema } from './distribution.js'

const after = z.int().min(0).max(1_000_000)
const milliseconds = z.number().min(0).max(3_600_000)

/**
 * What goes wrong, and its parameters. `after` counts the tokens that still go out; `limit_ms` is the time after
 * which the silence counts as a timeout of the provider.
 */
const faultSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('rate-limited'), retry_after: z.int().min(1).max(86_400).optional() }),
  z.strictObject({ kind: z.literal('error') }),
  z.strictObject({ kind: z.literal('flap') }),
  z.strictObject({ kind: z.literal('overloaded'), share: z.number().min(0).max(1).default(0.5) }),
  z.strictObject({ kind: z.literal('refused') }),
  z.strictObject({ kind: z.literal('reset') }),
  z.strictObject({ kind: z.literal('silence'), limit_ms: milliseconds.default(2000) }),
  z.strictObject({
    kind: z.literal('slow-first-token'),
    delay_ms: milliseconds.default(20_000),
    limit_ms: milliseconds.optional(),
  }),
  z.strictObject({ kind: z.literal('cut'), after: after.default(5) }),
  z.strictObject({ kind: z.literal('stall'), after: after.default(5), limit_ms: milliseconds.default(2000) }),
  z.strictObject({ kind: z.literal('malformed'), after: after.default(5) }),
  z.strictObject({ kind: z.literal('no-terminator') }),
  z.strictObject({ kind: z.literal('context-length') }),
  z.strictObject({ kind: z.literal('content-filter'), after: after.default(8) }),
])

export const FAULT_KINDS: ReadonlySet<string> = new Set(
  faultSchema.options.flatMap((option) => [...option.shape.kind.values]),
)

export type SimulatedFault = z.infer<typeof faultSchema>

const path = z.string().min(1).max(4096)
const seconds = z.number().min(0).max(1e9)

/**
 * A tape, or a part of one: where it is, which of its streams count, how their times are stretched, and how often it is
 * taken among others. Whether the file or the folder is there is the matter of `behaviourOfThisMachine`.
 */
const tapePartSchema = z
  .strictObject({
    file: path.optional(),
    folder: path.optional(),
    model: z.string().max(256).optional(),
    scale: z.number().positive().max(1000).default(1),
    cut: z
      .tuple([seconds, seconds])
      .refine(([from, to]) => from < to, 'the second bound is not above the first')
      .optional(),
    share: z.number().positive().max(1e6).default(1),
  })
  .refine(
    ({ file, folder }) => (file === undefined) !== (folder === undefined),
    'needs either file or folder',
  )

export type TapePart = z.output<typeof tapePartSchema>

/**
 * How a simulated endpoint behaves: the `simulation` member of an endpoint in the configuration. Without any member
 * it answers at once and as long as the request asks.
 *
 * `tokens` is the length of the answer: a distribution, or `request` for the request's own limit. A model with
 * `reasoning_tokens` reasons always, or only when asked to (`reasons`). `seed` replaces the provider's.
 *
 * `stop_reason` and `thinking` are of the messages format alone: the reason an answer ends with, whatever it says, and
 * whether its thinking can be read. With `makes_file` the answer comes with a file of what the user sent last, with `paints` with a picture.
 * With `tape` the paces, lengths and failures of recorded streams are replayed, one of them for each answer.
 * With `agent` the model does what lines of the user's message tell it to (see agent-script.ts), with `judge` it says
 * which rules a text breaks (see judge-script.ts).
 */
export const behaviourSchema = z.strictObject({
  first_token_ms: distributionSchema.optional(),
  gap_ms: distributionSchema.optional(),
  tokens: z.union([z.literal('request'), distributionSchema]).optional(),
  reasoning_tokens: distributionSchema.optional(),
  reasons: z.enum(['always', 'asked']).optional(),
  fault: faultSchema.optional(),
  seed: z.int().optional(),
  stop_reason: z.enum(MESSAGES_STOP_REASONS).optional(),
  thinking: z.enum(['plain', 'redacted']).optional(),
  makes_file: z.boolean().optional(),
  paints: z.boolean().optional(),
  agent: z.boolean().optional(),
  judge: z.boolean().optional(),
  tape: z.union([tapePartSchema, z.array(tapePartSchema).min(1).max(16)]).optional(),
})

export type Behaviour = z.infer<typeof behaviourSchema>

/**
 * The same, for configurations of whoever is at this machine: tapes have to be there. What is in them is seen later.
 * Callers from elsewhere must not learn which files there are, so that theirs go by `behaviourSchema`.
 */
export const behaviourOfThisMachine = behaviourSchema.superRefine(({ tape }, context) => {
  const isList = Array.isArray(tape)
  for (const [at, part] of (isList ? tape : tape === undefined ? [] : [tape]).entries()) {
    for (const kind of ['file', 'folder'] as const) {
      const name = part[kind]
      if (name === undefined || isThere(name, kind)) continue
      const path = isList ? ['tape', at, kind] : ['tape', kind]
      context.addIssue({ code: 'custom', path, message: `names no ${kind}` })
    }
  }
})

/** A behaviour made ready for calls. */
export type CompiledBehaviour = Readonly<ReturnType<typeof compileBehaviour>>

const NO_DELAY = constantSampler(0)

/** `tapeStream`: the number of the stream that a request asks for, of a tape; null for any. */
export function compileBehaviour(behaviour: Behaviour, tapeStream: number | null = null) {
  const { first_token_ms, gap_ms, tokens, reasoning_tokens, fault, seed, stop_reason } = behaviour
  return {
    firstTokenMs: first_token_ms === undefined ? NO_DELAY : compileDistribution(first_token_ms),
    gapMs: gap_ms === undefined ? NO_DELAY : compileDistribution(gap_ms),
    /** Null takes the length from the request. */
    tokens: tokens === undefined || tokens === 'request' ? null : compileDistribution(tokens),
    /** Null for a model that cannot reason. */
    reasoningTokens: reasoning_tokens === undefined ? null : compileDistribution(reasoning_tokens),
    reasonsAlways: behaviour.reasons !== 'asked',
    fault: fault ?? null,
    /** Null takes the seed of the provider. */
    seed: seed ?? null,
    /** Of an answer in the messages format; null for the one that fits what it says. */
    stopReason: stop_reason ?? null,
    /** Whether an answer in the messages format keeps its thinking unreadable. */
    redacts: behaviour.thinking === 'redacted',
    /** Whether a file of what the user sent last comes with the answer. */
    makesFile: behaviour.makes_file === true,
    /** Whether a picture comes with the answer. */
    paints: behaviour.paints === true,
    /** Whether lines of the user's message say what it calls. */
    isAgent: behaviour.agent === true,
    /** Whether it says which rules a text breaks. */
    isJudge: behaviour.judge === true,
    tapeStream,
  }
}
