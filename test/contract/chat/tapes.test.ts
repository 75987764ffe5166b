/** Models of tapes, named in the configuration and by their names. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import tap, { test } from 'tap'
import { formatStream } from '../../../src/tape/tape.js'
import { makeFolder } from '../../support/data/temp-folder.js'
import { startGateway } from '../../support/servers/gateway-server.js'

const folder = makeFolder()
const file = join(folder, 'friday.ndjson')
writeFileSync(
  file,
  formatStream({
    ...{ v: 1, at: 0, model: 'm', in: 1, out: 5, ttft: 10, gaps: [10, 20], tok: [2, 1, 2], end: 'stop' },
  }),
)
const endpoints = (tape: object): object => ({ endpoints: [{ provider: 'sim', simulation: { tape } }] })
const server = await startGateway({
  env: { SLUICE_WORKERS: '1' },
  config: { models: { 'sim/tape:monday': endpoints({ file }), 'sim/tape:*': endpoints({ folder }) } },
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

test('a tape that is not there is a failure of the provider', async (t) => {
  const response = await server.post('/chat/completions', { model: 'sim/tape:sunday', messages: MESSAGES })
  t.equal(response.status, 502)
})
