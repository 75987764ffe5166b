/** The policy tester, the check of a condition and that of an issuer on the wire (contract/gateway 10.4). */
import { z } from 'zod'
import type { ConditionPart, ConditionPartKind } from '../../federation/condition.js'
import type { DryRunReport } from '../../federation/exchange.js'
import { EXCHANGE_STEPS } from '../../federation/exchange-steps.js'
import type { StepWitness } from '../../federation/exchange-witness.js'
import type { IssuerCheck } from '../../federation/issuer-key-cache.js'
import { dataAnswer } from '../../http/answers.js'
import { boundedString } from '../../http/fields.js'
import { nameSchema } from '../../http/json-schema.js'
import { Condition, closedObject } from './schema.js'

const PART_KINDS = [
  ...(['literal', 'name', 'list', 'map', 'entry', 'and', 'or', 'not', 'choice'] as const),
  ...(['comparison', 'membership', 'arithmetic', 'call', 'macro', 'turn'] as const),
] as const satisfies readonly ConditionPartKind[]

const ConditionTree: z.ZodType<ConditionPart> = nameSchema(
  'FederationConditionPart',
  z.object({
    text: z.string().meta({ description: 'The part as the language writes it.' }),
    kind: z.enum(PART_KINDS),
    type: z.string(),
    value: z.string().nullable().meta({ description: 'As the language writes it.' }),
    error: z.string().nullable().meta({ description: 'Why it has no value.' }),
    shortened: z.boolean().meta({ description: 'Not all of it is shown.' }),
    children: z.lazy(() => z.array(ConditionTree)),
  }),
)

/** Members of a token, a policy or a key. */
const Shown = z
  .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null(), z.array(z.string())]))
  .nullable()

export const PolicyTestIn = nameSchema(
  'FederationPolicyTestIn',
  closedObject({ subject_token: boundedString(1, 65_536).meta({ description: 'Neither kept nor logged.' }) }),
)

const PolicyTest = nameSchema(
  'FederationPolicyTest',
  z.object({
    passed: z.boolean().meta({ description: 'Whether an exchange would give a token now.' }),
    steps: z.array(
      z.object({
        step: z.enum(EXCHANGE_STEPS),
        outcome: z.enum(['passed', 'failed', 'skipped']),
        refusal: z.string().nullable().meta({ description: 'Stable name of the reason.' }),
        reason: z.string().nullable(),
        saw: Shown.meta({ description: 'What the step has looked at.' }),
        wanted: Shown.meta({ description: 'What it wanted to see, where that is a value.' }),
      }),
    ),
    claims: z
      .object({
        iss: z.string(),
        sub: z.string(),
        aud: z.array(z.string()),
        exp: z.number(),
        nbf: z.number().nullable(),
        iat: z.number().nullable(),
        scopes: z
          .array(z.string())
          .nullable()
          .meta({ description: 'Without the list, the words of `scope`.' }),
        token_type: z.string().nullable(),
      })
      .nullable()
      .meta({ description: 'What the policy looks at, as the token says it; null when it cannot be read.' }),
    condition: ConditionTree.nullable().meta({
      description:
        'The condition of the policy with the value of every part; null when it was not evaluated.',
    }),
    would_pass_if: z.array(z.string()).meta({
      description:
        'What of the token would make the condition true, all else as it is; each alone is enough.',
    }),
  }),
)

export const PolicyTestAnswer = dataAnswer(PolicyTest)

export const ConditionCheckIn = nameSchema(
  'FederationConditionCheckIn',
  closedObject({ condition: Condition.meta({ description: 'CEL, as a policy would have it.' }) }),
)

export const ConditionCheckAnswer = dataAnswer(
  nameSchema(
    'FederationConditionCheck',
    z.object({
      ok: z.boolean().meta({ description: 'Whether a policy with it could be saved.' }),
      fault: z
        .object({
          reason: z.string(),
          position: z.int().min(0).meta({ description: 'Characters (code points) before the place.' }),
        })
        .nullable(),
    }),
  ),
)

export function encodePolicyTest({
  passed,
  steps,
  claims,
  condition,
}: DryRunReport): z.infer<typeof PolicyTest> {
  return {
    passed,
    steps: steps.map((step) => ({ ...step, saw: encodeShown(step.saw), wanted: encodeShown(step.wanted) })),
    claims: claims && {
      iss: claims.issuer,
      sub: claims.subject,
      aud: [...claims.audiences],
      exp: claims.expiresAt,
      nbf: claims.notBefore,
      iat: claims.issuedAt,
      scopes: claims.scopes && [...claims.scopes],
      token_type: claims.tokenType,
    },
    condition: condition?.tree ?? null,
    would_pass_if: [...(condition?.wouldPassIf ?? [])],
  }
}

type Shown = z.infer<typeof Shown>

function encodeShown(shown: StepWitness['saw']): Shown {
  return (
    shown &&
    Object.fromEntries(
      Object.entries(shown).map(([name, value]) => [
        name,
        typeof value === 'object' && value !== null ? [...value] : value,
      ]),
    )
  )
}

// ── Issuers ─────────────────────────────────────────────────────────────────

export const IssuerCheckAnswer = dataAnswer(
  nameSchema(
    'FederationIssuerCheck',
    z.object({
      ok: z.boolean().meta({ description: 'Whether its key set was found when that was tried last.' }),
      reason: z.string().nullable().meta({ description: 'Why it was not.' }),
      checked_ago_s: z.number().min(0).meta({ description: 'It is tried every half minute at most.' }),
      jwks_url: z.string().nullable().meta({ description: 'Where the keys were found.' }),
      keys: z
        .array(z.object({ kid: z.string().nullable(), alg: z.enum(['ES256', 'RS256']) }))
        .meta({ description: 'Those that tokens may be signed with; 100 at most.' }),
      total_keys: z.int().min(0).meta({ description: 'How many the set has, of whatever use.' }),
    }),
  ),
)

export function encodeIssuerCheck({ failure, ageMs, set }: IssuerCheck): object {
  return {
    ok: failure === null,
    reason: failure,
    checked_ago_s: Math.round(ageMs) / 1000,
    jwks_url: set?.location ?? null,
    keys: set?.keys.map(({ kid, alg }) => ({ kid, alg })) ?? [],
    total_keys: set?.total ?? 0,
  }
}
