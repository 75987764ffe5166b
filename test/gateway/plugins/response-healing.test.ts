/** Broken JSON of an answer is mended where the request wants JSON, and what cannot be mended is told. */
import fc from 'fast-check'
import { test } from 'tap'
import type { ChatRequest, RoutedRequest } from '../../../src/gateway/formats/canonical.js'
import type { AnswerChange, FinalAnswer } from '../../../src/gateway/plugins/port/plugin.js'
import { closingTail } from '../../../src/gateway/plugins/response-healing/close-tail.js'
import { createResponseHealing } from '../../../src/gateway/plugins/response-healing/response-healing.js'
import { repairJson } from '../../../workers/documents/repair-json.js'
import { pluginRun, preparedPlugin } from '../../support/tools/plugin-call.js'

const OBJECT: Partial<ChatRequest> = { response_format: { type: 'json_object' } }

function withSchema(schema: Readonly<Record<string, unknown>>): Partial<ChatRequest> {
  return { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema } } }
}

async function heal(
  text: string,
  answer: Partial<FinalAnswer> = {},
  wants: Partial<ChatRequest> | object = OBJECT,
): Promise<AnswerChange> {
  const request = { model: 'm', messages: [], ...wants } as RoutedRequest
  const { after } = preparedPlugin(
    createResponseHealing(async (broken) => repairJson(broken)),
    request,
  )
  if (after === undefined) return {}
  const said = { request, text, words: text, finish: 'stop', isStreamed: false }
  const final: FinalAnswer = { ...said, retry: async () => '', ...answer }
  return (await after(final, pluginRun())) as AnswerChange
}

/** Whether the pipeline says that it was healed; null where it says nothing. */
function healed({ pipeline }: AnswerChange): unknown {
  return pipeline === undefined ? null : pipeline.data?.healed
}

test('broken JSON is mended', async (t) => {
  const cases: readonly (readonly [broken: string, whole: unknown])[] = [
    ['```json\n{"a": 1}\n```', { a: 1 }],
    ['Here you are: {"a": 1} — anything else?', { a: 1 }],
    ["{'a': 'b',}", { a: 'b' }],
    ['{a: 1, b: [1, 2,]}', { a: 1, b: [1, 2] }],
    ['{"a": {"b": 1}, "c": [1, 2', { a: { b: 1 }, c: [1, 2] }],
    ['As in [1]: {"a": True}', { a: true }],
    ['{"a": "hel', { a: 'hel' }],
  ]
  for (const [broken, whole] of cases) {
    const change = await heal(broken)
    t.strictSame(JSON.parse(change.text ?? 'null'), whole, broken)
    t.equal(healed(change), true, broken)
  }
})

test('what is mended has to be what the request wants', async (t) => {
  const schema = {
    type: 'object',
    properties: { a: { type: 'integer' } },
    required: ['a'],
    additionalProperties: false,
  }
  t.strictSame((await heal('{a: 1}', {}, withSchema(schema))).text, '{"a": 1}')
  for (const broken of ['{a: "x"}', '{b: 1}', '{a: 1, b: 2}', '[1,']) {
    const change = await heal(broken, {}, withSchema(schema))
    t.equal(change.text, undefined, broken)
    t.equal(healed(change), false, broken)
  }
  t.strictSame((await heal('[1, 2', {}, withSchema({ type: 'array' }))).text, '[1, 2]')
  t.equal(healed(await heal('[1, 2')), false, 'json_object is an object')
  const native = { output_config: { format: { type: 'json_schema', schema } } }
  t.equal(
    (await heal('{"a": 1', { finish: 'max_tokens' }, native)).text,
    '{"a": 1}',
    'in the messages format too',
  )
})

test('an answer that has only called something is no broken JSON', async (t) => {
  t.strictSame(await heal('', { finish: 'length' }), {})
})

test('words that are no JSON are left, and told', async (t) => {
  const change = await heal('I would rather not.')
  t.equal(change.text, undefined)
  t.strictSame(change.pipeline!.data, { healed: false })
  t.match(change.pipeline!.summary, /it is no JSON/)
})

test('nothing is touched where no JSON is wanted, or where the answer has not ended', async (t) => {
  t.strictSame(await heal('{"a": 1', {}, {}), {})
  t.strictSame(await heal('{"a": 1', {}, { response_format: { type: 'text' } }), {})
  for (const finish of ['tool_calls', 'content_filter', 'error', 'tool_use', 'refusal', 'pause_turn'])
    t.strictSame(await heal('{"a": 1', { finish }), {}, finish)
})

test('a stream that is cut short gets its end, and keeps what it said', async (t) => {
  for (const [sent, append] of [
    ['{"a": 1', '}'],
    ['{"a": "hel', '"}'],
    ['{"a": [1, {"b": tr', 'ue}]}'],
    ['{"a": 1.', '0}'],
    ['{"a": "\\"', '"}'],
    ['{"a": 1}\n{', null],
    ['{"a":', null],
    ['{"a": 1,', null],
    ['{"a": "\\u12', null],
    ['```json\n{"a": 1}\n```', null],
  ] as const) {
    const change = await heal(sent, { isStreamed: true, finish: 'length' })
    t.equal(change.append, append ?? undefined, sent)
    t.equal(change.text, undefined)
    t.equal(healed(change), append !== null, sent)
  }
})

test('answers that would take too long are left', async (t) => {
  const long = `{a: "${'x'.repeat(200_000)}"}`
  t.equal(healed(await heal(long)), false)
  const cut = `{"a": "${'x'.repeat(200_000)}`
  t.equal((await heal(cut)).text, `${cut}"}`, 'one that is only cut short takes no time')
})

// ── Properties ──────────────────────────────────────────────────────────────

test('valid JSON is never changed', async () => {
  await fc.assert(
    fc.asyncProperty(fc.json(), fc.boolean(), async (json, isStreamed) => {
      const change = await heal(json, { isStreamed })
      return Object.keys(change).length === 0
    }),
  )
})

test('what a stream was cut to and what it gets are JSON together', async () => {
  await fc.assert(
    fc.property(fc.json(), fc.nat(), (json, at) => {
      const cut = json.slice(0, at % (json.length + 1))
      const tail = closingTail(cut)
      return tail === null || JSON.parse(cut + tail) !== undefined
    }),
    { numRuns: 2_000 },
  )
})

test('the mender throws for no text', async () => {
  await fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.json().map((json) => json.replace(/["},]/, '')),
      ),
      (text) => repairJson(text).every((json) => JSON.parse(json) !== undefined),
    ),
  )
})
