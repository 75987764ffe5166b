/** Tools that a request defers are found by a regular expression and by words (contract/tools 3.9). */
import { test } from 'tap'
import type { JsonObject } from '../../../src/gateway/formats/json-values.js'
import type { ToolFunction, ToolOutcome } from '../../../src/gateway/tools/port/tool.js'
import { rankByWords } from '../../../src/gateway/tools/tool-search/by-words.js'
import { createToolSearchTool } from '../../../src/gateway/tools/tool-search/tool-search.js'
import { prepared, toolRun } from '../../support/tools/tool-call.js'

const fn = (name: string, description = '', args: JsonObject = {}): ToolFunction => ({
  name,
  description,
  parameters: { type: 'object', properties: args },
})

const DEFERRED = [
  fn('get_weather', 'Tells the weather of a place', {
    city: { type: 'string', description: 'Name of a town' },
  }),
  fn('getForecast', 'Tells the weather of the next days', { days: { type: 'integer' } }),
  fn('send_mail', 'Sends a letter', { recipient: { type: 'string', description: 'Whom it is for' } }),
]

async function search(
  query: unknown,
  parameters: JsonObject = {},
  deferred: readonly ToolFunction[] = DEFERRED,
): Promise<ToolOutcome> {
  const tool = await prepared(createToolSearchTool(), parameters)
  const call = { id: 'c', function: 'tool_search', arguments: { query } }
  return tool.run(call, toolRun({ deferred }))
}

const namesIn = ({ content }: ToolOutcome): readonly string[] =>
  (content as { tool_references: { type: string; tool_name: string }[] }).tool_references.map(
    ({ type, tool_name }) => {
      if (type !== 'tool_reference') throw new Error(type)
      return tool_name
    },
  )

test('a regular expression is looked for in names, descriptions and arguments, without case', async (t) => {
  for (const [query, found] of [
    ['WEATHER', ['get_weather', 'getForecast']],
    ['^send_', ['send_mail']],
    ['town|recipient', ['get_weather', 'send_mail']],
    ['whom', ['send_mail']],
    ['get.*', ['get_weather', 'getForecast']],
    ['nothing', []],
    ['.{0,9}mail', ['send_mail']],
  ] as const)
    t.strictSame(namesIn(await search(query)), found, query)
})

test('words find what has most to do with them', async (t) => {
  const bm25 = { variant: 'bm25' }
  t.strictSame(namesIn(await search('forecast for the next days', bm25))[0], 'getForecast')
  t.strictSame(namesIn(await search('mail a letter', bm25)), ['send_mail', 'get_weather'])
  t.strictSame(namesIn(await search('[nothing(', bm25)), [])
  t.strictSame(rankByWords('rare', ['common words', 'rare', 'rare and many more words than that']), [1, 2])
  t.strictSame(rankByWords('a', []), [])
})

test('no more is told than was asked for', async (t) => {
  const many = Array.from({ length: 30 }, (_, at) => fn(`tool_${at}`))
  t.equal(namesIn(await search('tool', {}, many)).length, 5)
  t.equal(namesIn(await search('tool', { max_results: 20 }, many)).length, 20)
  t.equal(namesIn(await search('tool', { variant: 'bm25', max_results: 2 }, many)).length, 2)
})

test('a pattern that is none, or costs too much, is a result that says so', async (t) => {
  for (const [query, error] of [
    [7, /query must be a text/],
    ['', /query must be a text/],
    ['(', /no regular expression/],
    ['(a)\\1', /neither backreferences/],
    ['(?=a)', /neither backreferences/],
    ['x'.repeat(201), /at most 200 characters/],
    ['.{0,1000}z', /must not repeat/],
    ['a{150}b{150}', /must not repeat/],
    ['(?:[a-z]{20}){20}(?:[a-z]{20}){20}(?:[a-z]{20}){20}', /too complex/],
  ] as const) {
    const outcome = await search(query)
    t.equal(outcome.isError, true)
    t.match((outcome.content as { error: string }).error, error, String(query).slice(0, 40))
  }
})

const LOREM = 'lorem ipsum dolor '.repeat(110)

test('others have their turn while many tools are searched, and a call that was left ends', async (t) => {
  const many = Array.from({ length: 40_000 }, (_, at) => fn(`tool_${at}`, LOREM))
  const slow = '(?:.{0,90}){2}[xyz][xyz]'
  let turns = 0
  const count = setInterval(() => turns++, 0)
  const outcome = await search(slow, {}, many)
  clearInterval(count)
  t.match(outcome.content, { error: /takes too long/ })
  t.ok(turns > 5, `${turns} turns`)
  const tool = await prepared(createToolSearchTool())
  const call = { id: 'c', function: 'tool_search', arguments: { query: slow } }
  const left = tool.run(call, toolRun({ deferred: many, signal: AbortSignal.abort() }))
  t.equal((await left).isError, true)
})
