/** The counts before parsing agree with a count of what parsing makes. */
import fc from 'fast-check'
import { test } from 'tap'
import { jsonExcess } from '../../src/http/json-bounds.js'

function noteFor(text: string): string | undefined {
  const issue = jsonExcess(Buffer.from(text + PADDING))
  return issue === null ? undefined : `${issue.loc.join('.')}: ${issue.note}`
}

const repeated = (what: string, times: number): string => Array(times).fill(what).join(',')
const names = (count: number, from = 0): string =>
  Array.from({ length: count }, (_, at) => `"n${from + at}":1`).join(',')
const LONG = `"${'x'.repeat(500)}"`
/** White space counts for nothing and makes a text long enough to be looked at. */
const PADDING = ' '.repeat(64 * 1024)

test('a value may be 200 levels deep, and no deeper', async (t) => {
  const deep = (levels: number, open: string, close: string): string =>
    open.repeat(levels) + LONG + close.repeat(levels)
  t.equal(noteFor(deep(200, '[', ']')), undefined)
  t.match(noteFor(deep(201, '[', ']')), /^body: is nested deeper than 200 levels$/)
  t.equal(noteFor(`{"tools":${deep(199, '[', ']')}}`), undefined)
  t.match(noteFor(`{"a":[],"tools":${deep(200, '[', ']')}}`), /^body\.tools: is nested deeper/)
  t.match(noteFor(deep(201, '{"a":', '}')), /^body\.a: is nested deeper/)
  t.match(noteFor('['.repeat(20_000_000)), /is nested deeper/)
})

for (const item of ['1', '[]', '{}', '""', 'null', LONG, '"\\""', '"[{,:"']) {
  test(`there may be half a million values, and no more: ${item.slice(0, 8)}`, async (t) => {
    const most = item === LONG ? 40_000 : 499_999
    t.equal(noteFor(`[${repeated(item, most)}]`), undefined)
    if (item !== LONG)
      t.match(noteFor(`[${repeated(item, most + 1)}]`), /^body: has more than 500000 values$/)
  })
}

test('the member that holds too much is named, when its name is a short word', async (t) => {
  const much = `[${repeated('{}', 500_000)}]`
  t.match(noteFor(`{"model":"a","provider":{"options":${much}}}`), /^body\.provider: /)
  t.match(noteFor(`{"a\\"b":${much}}`), /^body\.a"b: /)
  t.match(noteFor(`{"${'n'.repeat(65)}":${much}}`), /^body: /)
})

test('one object may have ten thousand members, all of them together a hundred thousand', async (t) => {
  t.equal(noteFor(`{"a":1,"trace":{${names(10_000)}}}`), undefined)
  t.match(
    noteFor(`{"a":1,"trace":{${names(10_001)}}}`),
    /^body\.trace: has an object of more than 10000 members$/,
  )
  t.match(noteFor(`{${names(10_001)}}`), /^body: has an object of more than 10000 members$/)
  const tenth = (at: number): string => `{${names(10_000, at * 10_000)}}`
  const ten = Array.from({ length: 10 }, (_, at) => tenth(at)).join(',')
  t.equal(noteFor(`[${ten}]`), undefined)
  t.match(noteFor(`[${ten},{"more":1}]`), /^body: has more than 100000 members in all$/)
})

/** Every value there is. */
function countValues(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce<number>((sum, each) => sum + countValues(each), 1)
}

test('whatever the value: the scan counts exactly what there is', async (t) => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom(0, 1), (value, more) => {
      const own = `${JSON.stringify(value)}`
      const left = 500_000 - 2 - countValues(value)
      const text = `[${own},${repeated('0', left + more + 1)}]`
      return (jsonExcess(Buffer.from(text)) === null) === (more === 0)
    }),
    { numRuns: 60 },
  )
  t.pass()
})

test('a short text is not looked at: what it may hold costs little', async (t) => {
  t.equal(jsonExcess(Buffer.from('['.repeat(64 * 1024))), null)
  t.ok(jsonExcess(Buffer.from('['.repeat(64 * 1024 + 1))))
})

test('what one text holds does not count for the next', async (t) => {
  for (let text = 0; text < 3; text++) t.equal(noteFor(`"a"${':1'.repeat(6_000)}`), undefined)
})

test('text that is no JSON ends the scan without a word: the parser says what is wrong', async (t) => {
  for (const text of [
    ']'.repeat(1000),
    `"${'x'.repeat(1000)}`,
    `"${'\\'.repeat(1001)}`,
    `${'x'.repeat(999)}"`,
  ])
    t.equal(noteFor(text), undefined)
})
