/** A worker that is killed in the middle of a loop: what ran is written down, what was open costs what was set aside. */
import tap, { test } from 'tap'
import { childrenOf, isAlive } from '../../../bench/harness/machine/proc.js'
import { type Json, startGateway } from '../../support/servers/gateway-server.js'
import { eventually } from '../../support/timing/eventually.js'

const TOOLS = { datetime: { price: 0.001 }, mcp: { price: 0.25 } }
// The death of a worker is logged as the error that it is.
const env = { SLUICE_WORKERS: '1', SLUICE_LOG_LEVEL: 'silent' }
const server = await startGateway({ env, config: { tools: TOOLS } })
tap.teardown(() => server.stop())

const REQUEST = {
  model: 'sim/agent',
  stream: true,
  max_tokens: 200,
  messages: [{ role: 'user', content: 'call service:datetime {}\ncall sim__hang {}' }],
  tools: [{ type: 'service:datetime' }, { type: 'service:mcp', parameters: { server_label: 'sim' } }],
}

const nanos = (dollars: number): number => Math.round(dollars * 1e9)

/** Reads a stream until it tells that a tool runs, and goes on listening. */
async function hear(response: Response, told: string): Promise<void> {
  const reader = response.body!.getReader()
  const decoder = new TextDecoder()
  for (let text = ''; !text.includes(told); ) {
    const { value, done } = await reader.read()
    if (done) throw new Error(`the stream has ended: ${text}`)
    text += decoder.decode(value, { stream: true })
  }
}

test('a worker that is killed while a tool runs loses no row, and the tool costs what was set aside', async (t) => {
  const response = await server.post('/chat/completions', REQUEST)
  const id = response.headers.get('x-generation-id')
  await hear(response, ': service tool mcp')
  const [worker] = childrenOf(server.pid)
  process.kill(worker!, 'SIGKILL')
  await eventually(() => !isAlive(worker!))
  const { rows, total_cost: total }: Json = await eventually(async () => {
    const found = await server.get(`/generation?id=${id}`).catch(() => null)
    return found?.status === 200 && ((await found.json()) as Json).data
  })
  t.strictSame(
    rows.map(({ kind, name }: Json) => `${kind} ${name}`),
    ['turn sim/agent', 'tool datetime', 'turn sim/agent', 'tool mcp'],
  )
  t.strictSame([rows[1].charged, rows[3].charged], [0.001, 0.25])
  const charged = rows.reduce((sum: number, row: Json) => sum + nanos(row.charged), 0)
  t.equal(nanos(total), charged)
  const { data } = (await (await server.get('/key')).json()) as Json
  t.equal(nanos(data.usage), charged, 'what the key has used')
})
