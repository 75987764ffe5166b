import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'tap'
import { z } from 'zod'
import { Fault } from '../../src/base/fault.js'
import { isKnown, keepKnown, oncePerKnown, textOfKnown } from '../../src/base/known-json.js'
import type { Endpoint, HttpCall } from '../../src/http/endpoint.js'
import { failFast, fastReaderOf } from '../../src/http/first-violation.js'
import { type InputReader, inputReader } from '../../src/http/input.js'
import { MemberMemory } from '../../src/http/member-memory.js'
import { readOnce } from '../../src/http/read-once.js'

const RUNS = 3_000
const CALLER = {}
const LONG = 'what it does, in many words. '.repeat(20)

/** A list as callers send it: `tag` makes another one of it. */
const listText = (tag = '', length = LONG): string =>
  JSON.stringify([{ type: 'function', function: { name: `f${tag}`, description: length } }])

/** As a server does it: what is not known is parsed, and taken note of. */
function readWith(
  memory: MemberMemory,
  text: string,
  caller: object = CALLER,
): { value: unknown; hit: boolean } {
  const body = Buffer.from(text)
  const known = memory.read(body, caller)
  const value = known ?? (JSON.parse(text) as { readonly tools?: unknown })
  memory.learn(body, caller, (value as { readonly tools?: unknown } | null)?.tools)
  return { value, hit: known !== null }
}

function taught(...texts: readonly string[]): MemberMemory {
  const memory = new MemberMemory('tools')
  for (const list of texts) {
    // Among values that are new each time one is remembered where their number is a power of two.
    for (let round = 0; round < 64 && !isKept(memory, list); round++) readWith(memory, `{"tools":${list}}`)
    assert.ok(isKept(memory, list))
  }
  return memory
}

function isKept(memory: MemberMemory, list: string): boolean {
  return memory.read(Buffer.from(`{"tools":${list}}`), CALLER) !== null
}

// ── Every text is read as it stands ───────────────────────────────────────────

const list = fc.constantFrom(
  listText(),
  listText('2'),
  listText('', `"\\"tools\\":[]" \u{1f600} ${LONG}`),
  '[]',
)
/** Pieces of a body: what is right, and what could be taken for it. */
const piece = fc.oneof(
  { weight: 4, arbitrary: list.map((text) => `"tools":${text}`) },
  list.map((text) => `"tools": ${text}`),
  list.map((text) => `"tools" :${text}`),
  list.map((text) => `"extra":{"tools":${text}}`),
  list.map((text) => `"said":${JSON.stringify(`{"tools":${text}}`)}`),
  list.map((text) => `"odd\\\\":"\\\\","tools":${text.slice(0, -1)},1]`),
  fc.constantFrom(
    '"model":"a"',
    '"tools":"',
    '"',
    '\\',
    ',',
    '}',
    '{',
    ']',
    '"tools":',
    '"__proto__":{"tools":1}',
  ),
  fc.jsonValue().map((value) => `"some":${JSON.stringify(value)}`),
)
const body = fc
  .tuple(fc.array(piece, { minLength: 1, maxLength: 4 }), fc.constantFrom(',', ',', ',', ', ', ''))
  .map(([pieces, comma]) => `{${pieces.join(comma)}}`)

test('whatever comes before, a body is read as the parser reads it, or left to the parser', async (t) => {
  let hits = 0
  fc.assert(
    fc.property(fc.array(body, { minLength: 2, maxLength: 8 }), (bodies) => {
      const memory = taught(listText(), listText('2'))
      for (const text of bodies) {
        const known = memory.read(Buffer.from(text), CALLER)
        if (known === null) continue
        hits++
        assert.equal(JSON.stringify(known), JSON.stringify(JSON.parse(text)))
      }
    }),
    { numRuns: RUNS },
  )
  t.ok(hits > RUNS / 10, `${hits} were known`)
})

test('what only looks like the member is left to the parser', async (t) => {
  const one = listText()
  const texts = [
    `{"tools":${one},"tools":[]}`,
    `{"x":{"tools":${one}},"tools":${one}}`,
    `{"tools":${one}}}`,
    `{"tools":${one}`,
    `{"tools":${one}]`,
    `["tools",{"tools":${one}}]`,
    `{"tools":${one.slice(0, -1)},{}]}`,
    `{"tools":${one}1}`,
    `{"tools" : ${one}}`,
    `{"tools":  ${one}}`,
    `{"said":"\\"tools\\":${one.replaceAll('"', '\\"')}"}`,
  ]
  for (const text of texts) t.equal(taught(one).read(Buffer.from(text), CALLER), null, text.slice(0, 40))
  t.same(taught(one).read(Buffer.from(`{"a":1,"tools": ${one},"b":2}`), CALLER), {
    a: 1,
    tools: JSON.parse(one),
    b: 2,
  })
})

test('bytes that are no UTF-8 are left to the one who tells so', async (t) => {
  const broken = Buffer.from(`{"a":"?","tools":${listText()}}`)
  broken[6] = 0xff
  t.equal(taught(listText()).read(broken, CALLER), null)
})

// ── What is kept ───────────────────────────────────────────────────────────────

test('a list is known from the third body on that has it, as one frozen value', async (t) => {
  const memory = new MemberMemory('tools')
  const text = `{"model":"a","tools":${listText()}}`
  const seen = [0, 1, 2, 3].map(() => readWith(memory, text))
  t.same(
    seen.map(({ hit }) => hit),
    [false, false, true, true],
  )
  const [, , third, fourth] = seen.map(({ value }) => (value as { readonly tools: object[] }).tools)
  t.equal(third, fourth)
  t.ok(isKnown(third!))
  t.throws(() => third!.push({}), TypeError)
  t.throws(() => Object.assign((third![0] as { function: object }).function, { name: 'g' }), TypeError)
})

test('what one caller has sent is not looked for in the bodies of another', async (t) => {
  const memory = taught(listText())
  t.equal(memory.read(Buffer.from(`{"tools":${listText()}}`), {}), null)
  t.ok(isKept(memory, listText()))
})

test('of one caller the four lists are kept that came last', async (t) => {
  const memory = taught(listText('1'), listText('2'), listText('3'), listText('4'))
  t.ok(isKept(memory, listText('1')))
  for (let round = 0; round < 64 && !isKept(memory, listText('5')); round++)
    readWith(memory, `{"tools":${listText('5')}}`)
  t.ok(isKept(memory, listText('1')), 'used a moment ago')
  t.notOk(isKept(memory, listText('2')), 'the one used longest ago')
})

test('of all callers two megabytes are kept', async (t) => {
  const memory = new MemberMemory('tools')
  const large = listText('', 'x'.repeat(100_000))
  const callers = Array.from({ length: 30 }, () => ({}))
  for (const caller of callers)
    for (let round = 0; round < 2; round++) readWith(memory, `{"tools":${large}}`, caller)
  const kept = callers.map((caller) => memory.read(Buffer.from(`{"tools":${large}}`), caller) !== null)
  t.same(
    kept,
    callers.map((_, at) => at >= 10),
  )
})

test('short and very long lists, other values and lists that are new each time are not kept', async (t) => {
  for (const value of ['[]', '[1]', '{}', '1', 'null', listText('', 'x'.repeat(131_072))]) {
    const memory = new MemberMemory('tools')
    for (let round = 0; round < 5; round++)
      t.notOk(readWith(memory, `{"tools":${value}}`).hit, value.slice(0, 9))
  }
  const memory = new MemberMemory('tools')
  for (let at = 0; at < 100; at++) t.notOk(readWith(memory, `{"tools":${listText(String(at))}}`).hit)
})

test('a list is kept once, also where only `learn` is asked', async (t) => {
  const memory = new MemberMemory('tools')
  const [one, two] = [listText('1'), listText('2')]
  const learn = (text: string): void =>
    memory.learn(Buffer.from(`{"tools":${text}}`), CALLER, JSON.parse(text))
  for (let call = 0; call < 2; call++) learn(two)
  t.ok(isKept(memory, two))
  for (let call = 0; call < 64; call++) learn(one)
  t.ok(isKept(memory, one))
  t.ok(isKept(memory, two), 'five copies of the other would have put it out')
})

test('a list of very many values is not kept: to freeze it would hold the loop', async (t) => {
  for (const [value, most] of [
    ['{}', 4_000],
    ['1', 8_000],
  ] as const) {
    const listOf = (count: number): string => `[${Array(count).fill(value).join(',')}]`
    const memory = new MemberMemory('tools')
    for (const text of [listOf(most), listOf(most + 500)]) {
      for (let call = 0; call < 2; call++) readWith(memory, `{"tools":${text}}`)
      t.equal(isKept(memory, text), text.length === listOf(most).length, `${text.length} bytes of ${value}`)
    }
  }
})

// ── In an endpoint ─────────────────────────────────────────────────────────────

const entry = z.object({ type: z.literal('function'), function: z.object({ name: z.string() }) })
const schema = failFast(
  z.object({ tools: readOnce(z.array(entry)).optional(), model: z.string().optional() }),
)
const endpoint = { params: {}, query: {}, body: schema } as unknown as Endpoint

/** What a reader makes of a body: its value, or all that it tells of it. */
function outcome(reader: InputReader, text: string): { told: string; frozen: boolean } {
  const call = { body: Buffer.from(text), header: () => 'application/json', admission: CALLER }
  try {
    const { body } = reader.read(call as unknown as HttpCall) as unknown as { body: { tools?: object } }
    return { told: JSON.stringify(body), frozen: body.tools !== undefined && Object.isFrozen(body.tools) }
  } catch (error) {
    assert.ok(error instanceof Fault)
    return { told: JSON.stringify(error.issues), frozen: false }
  }
}

const wrongLists = fc.constantFrom(
  listText('', LONG).replace('"name"', '"nam"'),
  `[1,${listText().slice(1)}`,
  `[${'['.repeat(300)}"${LONG}"${']'.repeat(300)}]`,
  listText().replace('"function"', '"funktion"'),
)
const member = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.oneof({ weight: 3, arbitrary: list }, wrongLists).map((text) => `"tools":${text}`),
  },
  fc.oneof(list, wrongLists).map((text) => `"inner":{"tools":${text}}`),
  list.map((text) => `"\\u0074ools":${text}`),
  list.map((text) => `"a\\"tools":${text}`),
  fc.constantFrom(
    '"model":"a"',
    '"model":1',
    '"__proto__":{"tools":[]}',
    '"tools":null',
    '"tools":[],',
    `"model":"${'x'.repeat(70_000)}"`,
    '\ufeff',
    ' ',
  ),
)
const sentBody = fc
  .tuple(fc.array(member, { minLength: 1, maxLength: 3 }), fc.constantFrom('', '', '', '\ufeff', 'x', '}'))
  .map(([members, end]) => `{${members.join(',')}}${end}`)

test('an endpoint that remembers tells of every body what one tells that does not', async (t) => {
  let frozen = 0
  fc.assert(
    fc.property(fc.array(sentBody, { minLength: 4, maxLength: 12 }), (bodies) => {
      const remembering = inputReader({ ...endpoint, remembers: 'tools' })
      const plain = inputReader(endpoint)
      for (const text of bodies.flatMap((each) => [each, each, each])) {
        const known = outcome(remembering, text)
        assert.equal(known.told, outcome(plain, text).told)
        if (known.frozen) frozen++
      }
    }),
    { numRuns: 300 },
  )
  t.ok(frozen > 100, `${frozen} were known`)
})

// ── Known values ──────────────────────────────────────────────────────────────────

test('work is done once for a known value, and each time for another', async (t) => {
  let done = 0
  const work = oncePerKnown((value: object) => {
    done++
    return Object.keys(value).length
  })
  const value = { a: 1 }
  t.same([work(value), work(value), done], [1, 1, 2])
  keepKnown(value)
  t.same([work(value), work(value), work(value), done], [1, 1, 1, 3])
  t.equal(textOfKnown(value), '{"a":1}')
})

test('a value as deep as a parser takes it is frozen', async (t) => {
  const deep = JSON.parse(`${'['.repeat(5_000)}${']'.repeat(5_000)}`) as object
  t.ok(isKnown(keepKnown(deep)))
})

test('a known value is checked once; what a schema leaves of it is known as well', async (t) => {
  let read = 0
  const counted = z.custom<string>(() => ++read > 0)
  const entry = z.object({ name: counted })
  const schema = failFast(z.looseObject({ tools: readOnce(z.array(entry)), others: z.array(entry) }))
  const reader = fastReaderOf(schema)!
  const tools = keepKnown([{ name: 'a', extra: 1 }])
  const others = [{ name: 'b' }]
  const values = [1, 2, 3].map(() => reader.read({ tools, others }) as { readonly tools: object })
  t.same(values[0], { tools: [{ name: 'a' }], others })
  t.equal(values[1]!.tools, values[2]!.tools)
  t.ok(isKnown(values[2]!.tools))
  t.equal(read, 1 + 3)
})
