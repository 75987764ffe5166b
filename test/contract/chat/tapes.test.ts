/** Models of tapes, named in the configuration and by their names. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import tap, { test } from 'tap'
import { formatStream, type TapedStream } from '../../../src/tape/tape.js'
import { makeFolder } from '../../support/data/temp-folder.js'
import { startGateway } from '../../support/servers/gateway-server.js'
import { eventually } from '../../support/timing/eventually.js'

const folder = makeFolder()
const stream = (more: Partial<TapedStream> = {}): string =>
  formatStream({
    ...{ v: 1, at: 0, model: 'm', in: 1, out: 5, ttft: 10, gaps: [10, 20], tok: [2, 1, 2], end: 'stop' },
    ...more,
  })
const tapeOf = (name: string, text: string): string => {
  const file = join(folder, `${name}.ndjson`)
  writeFileSync(file, text)
  return file
}
const file = tapeOf('friday', stream())
tapeOf('broken', `${stream()}{"v":2}\n`)
tapeOf('held', stream({ held: true }))
const lengths = Array.from({ length: 12 }, (_, at) => (at * 7) % 23)
const several = lengths.map((more) =>
  stream({ ttft: 0, out: more + 1, gaps: Array(more).fill(0), tok: Array(more + 1).fill(1) }),
)
const endpoints = (tape: object): object => ({ endpoints: [{ provider: 'sim', simulation: { tape } }] })
const server = await startGateway({
  env: { SLUICE_WORKERS: '1' },
  config: {
    models: {
      'sim/tape:monday': endpoints({ file }),
      'sim/tape:several': endpoints({ file: tapeOf('several', several.join('')) }),
      'sim/tape:*': endpoints({ folder }),
    },
  },
})
tap.teardown(() => server.stop())

const MESSAGES = [{ role: 'user', content: 'hello' }]

for (const model of ['sim/tape:monday', 'sim/tape:friday']) {
  for (const path of ['/chat/completions', '/messages']) {
    test(`${model} answers ${path} as long as its tape says, whole and streamed`, async (t) => {
      const whole = await server.post(path, { model, max_tokens: 50, messages: MESSAGES })
      t.equal(whole.status, 200)
      const { usage } = (await whole.json()) as { usage: Record<string, number> }
      t.equal(usage.completion_tokens ?? usage.output_tokens, 5)
      const streamed = await server.post(path, { model, max_tokens: 50, messages: MESSAGES, stream: true })
      t.equal(
        (await streamed.text()).match(/"content":"[^"]|"text_delta"/g)?.length,
        3,
        'an event is an event',
      )
    })
  }
}

test('each stream asked for by its number: the tokens replayed are those on the tape', async (t) => {
  const counted = await Promise.all(
    lengths.map(async (_, at) => {
      const headers = { 'X-Service-Simulate': `tape_stream=${at + 1}` }
      const body = { model: 'sim/tape:several', max_tokens: 100, messages: MESSAGES }
      const response = await server.post('/chat/completions', body, { headers })
      return ((await response.json()) as { usage: { completion_tokens: number } }).usage.completion_tokens
    }),
  )
  t.same(
    counted,
    lengths.map((more) => more + 1),
  )
})

for (const [name, reason] of [
  ['sunday', /ENOENT/],
  ['broken', /line 2: v: must be 1/],
  ['held', /it has no stream that could be replayed/],
] as const) {
  test(`the tape ${name} is a failure of the provider; why stands in the log and not in the answer`, async (t) => {
    const response = await server.post('/chat/completions', {
      model: `sim/tape:${name}`,
      messages: MESSAGES,
    })
    t.equal(response.status, 502)
    const answer = await response.text()
    t.notMatch(answer, reason)
    t.notMatch(answer, folder)
    await eventually(() => reason.test(server.log()))
    t.match(server.log(), join(folder, `${name}.ndjson`))
  })
}
