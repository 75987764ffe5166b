/** Rules that clients have moved into descriptions, in the words of the public helper that does so. */
import { transformJSONSchema } from '@anthropic-ai/sdk/lib/transform-json-schema'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { test } from 'tap'
import { z } from 'zod'
import { sampleJson } from '../../src/simulator/json-sampler/json-sampler.js'
import { SeededRandom } from '../../src/simulator/random.js'

const ajv = new Ajv2020({ strict: false, validateFormats: false })
const SEEDS = Array.from({ length: 50 }, (_, seed) => seed)

function make(schema: unknown, seed: number): unknown {
  const made = sampleJson(schema, new SeededRandom({ low: seed, high: 5 }, 0))
  if ('impossible' in made) throw new Error(made.impossible)
  return made.value
}

test('a value keeps bounds, steps, lengths, counts and patterns that stand in a description', async (t) => {
  const Whole = z.object({
    age: z.number().int().min(200).max(210).describe('In {years}.'),
    share: z.number().gt(0.5).lt(0.6),
    step: z.number().multipleOf(7).min(700).max(800),
    code: z.string().regex(/^[A-Z]{3}-\d{2}$/),
    name: z.string().min(40).max(50),
    tags: z.array(z.string().max(3)).min(5).max(6),
  })
  const asked = z.toJSONSchema(Whole) as Parameters<typeof transformJSONSchema>[0]
  const sent = transformJSONSchema(asked)
  t.match(JSON.stringify(sent), /"In \{years\}\.\\n\\n\{minimum: 200, maximum: 210\}"/)
  const fits = ajv.compile(asked)
  for (const seed of SEEDS) t.ok(fits(make(sent, seed)), JSON.stringify(fits.errors))
})

test('a description that contradicts its schema, or means something else, refuses nothing', async (t) => {
  const ORDINARY = [
    { type: 'integer', maximum: 3, description: 'Odd. {minimum: 5}' },
    { type: 'integer', description: '{minimum: 5, maximum: 1}' },
    { type: 'string', description: '{pattern: "(?=a)"}' },
    { type: 'string', description: '{pattern: "\\x"}' },
    { type: 'string', description: 'As in {name: "x"}' },
    { type: 'string', description: `{minimum: ${'9'.repeat(10_000)}}` },
  ]
  for (const schema of ORDINARY) for (const seed of [1, 2]) t.ok(ajv.validate(schema, make(schema, seed)))
})

test('an integer that may be any integer is one of few digits', async (t) => {
  const schema = z.toJSONSchema(z.number().int())
  t.equal(schema.maximum, Number.MAX_SAFE_INTEGER)
  for (const seed of SEEDS) t.ok(Math.abs(make(schema, seed) as number) <= 100)
})
