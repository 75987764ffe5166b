/** contract/practice 4, `GET /report`. */
import { test } from 'tap'
import { type HttpClient, httpClient } from '../../support/clients/http-client.js'
import { makeFolder, removeFolder } from '../../support/data/temp-folder.js'
import { practiceServer, startPracticeServer } from '../../support/servers/practice-server.js'

const { server, client } = await practiceServer({}, 200)

interface Report {
  readonly items: number
  readonly delay_ms: number
  readonly generated_at: number
  readonly rows: readonly { readonly id: number; readonly name: string; readonly price: number }[]
  readonly total_price: number
}

async function report(query = '', by: HttpClient = client): Promise<Report> {
  return (await by.get(`/api/v1/report${query}`)).json as Report
}

test('a report on an empty store repeats what was asked and has no rows', async (t) => {
  const { items, rows, total_price } = await report('?items=7')
  t.strictSame({ items, rows, total_price }, { items: 7, rows: [], total_price: 0 })
})

test('the rows are the first items by id, fewer when there are fewer', async (t) => {
  const prices = [0.1, 0.2, 1_000_000, 1 / 3, 5]
  for (const [i, price] of prices.entries()) {
    await client.write('POST', '/api/v1/items', { name: `😀 ${i}`, description: 'not in the report', price })
  }
  await client.send({ method: 'DELETE', path: '/api/v1/items/2' })
  const all = [1, 3, 4, 5].map((id) => ({ id, name: `😀 ${id - 1}`, price: prices[id - 1]! }))
  const asked = [1, 2, 3, 4, 5, 100]
  const reports = await Promise.all(asked.map((n) => report(`?items=${n}`)))
  for (const [i, { items, rows, total_price }] of reports.entries()) {
    const expected = all.slice(0, asked[i])
    t.equal(items, asked[i], 'items repeats what was asked')
    t.strictSame(rows, expected)
    const sum = expected.reduce((total, { price }) => total + price, 0)
    t.ok(Math.abs(total_price - sum) < 1e-6, `${total_price} is the sum ${sum}`)
  }
  t.equal((await report()).items, 10, 'the default')
})

test('the keys are exactly these, in this order', async (t) => {
  const reply = await client.get('/api/v1/report')
  t.equal(reply.status, 200)
  const body = reply.json as Report
  t.strictSame(Object.keys(body), ['items', 'delay_ms', 'generated_at', 'rows', 'total_price'])
  for (const row of body.rows) t.strictSame(Object.keys(row), ['id', 'name', 'price'])
})

test('generated_at is the time of the answer', async (t) => {
  const begun = Date.now() / 1000
  const { generated_at, delay_ms } = await report()
  const ended = Date.now() / 1000
  t.ok(
    generated_at >= begun + (delay_ms - 5) / 1000 && generated_at <= ended + 0.001,
    `${begun} ${generated_at} ${ended}`,
  )
})

const SAMPLES = 600

test('the answer comes after a delay drawn uniformly from 100 to 500 ms', async (t) => {
  const samples = await Promise.all(
    Array.from({ length: SAMPLES }, async () => {
      const begun = performance.now()
      const { headers, json } = await client.get('/api/v1/report?items=1')
      const took = performance.now() - begun
      const timing = /^backend;dur=(\d+(?:\.\d+)?)$/.exec(String(headers['server-timing']))
      return { delay: (json as Report).delay_ms, backend: Number(timing?.[1]), took }
    }),
  )
  const delays = samples.map(({ delay }) => delay).toSorted((a, b) => a - b)
  const early = samples.filter(({ delay, backend }) => backend < delay)
  t.strictSame(early.slice(0, 3), [], `${early.length} of ${SAMPLES} came before their delay had passed`)
  t.strictSame(
    samples.filter(({ backend, took }) => took < backend),
    [],
    'the backend is part of the whole',
  )
  t.ok(delays[0]! >= 100 && delays.at(-1)! <= 500, `from ${delays[0]} to ${delays.at(-1)}`)
  t.ok(new Set(delays).size > SAMPLES * 0.99, 'the draws differ')
  // Kolmogorov-Smirnov against the uniform distribution: beyond 2.5/√n by chance once in 130,000 runs.
  const distance = Math.max(...delays.map((delay, i) => Math.abs((delay - 100) / 400 - (i + 0.5) / SAMPLES)))
  t.ok(distance < 2.5 / Math.sqrt(SAMPLES), `distance ${distance}`)
})

test('the delay holds a timer and no thread: hundreds wait side by side', async (t) => {
  const crowd = httpClient(server.baseUrl, 400)
  const begun = performance.now()
  const replies = await Promise.all(Array.from({ length: 400 }, () => crowd.get('/api/v1/report')))
  const took = performance.now() - begun
  t.ok(replies.every(({ status }) => status === 200))
  t.ok(took < 400 * 100, `${took} ms for 400 reports, which one after the other take two minutes`)
  crowd.close()
})

async function seededDelays(dataDir: string, seed: string): Promise<number[]> {
  const seeded = await startPracticeServer({
    dataDir,
    env: { SLUICE_WORKERS: '1', SLUICE_REPORT_SEED: seed },
  })
  const near = httpClient(seeded.baseUrl, 1)
  const delays: number[] = []
  for (let i = 0; i < 6; i++) delays.push((await report('', near)).delay_ms)
  near.close()
  await seeded.stop()
  return delays
}

test('with a seed one worker repeats its delays after a restart', async (t) => {
  const [dataDir, elsewhere] = [makeFolder(), makeFolder()]
  const repeated = async (): Promise<number[][]> => [
    await seededDelays(dataDir, '42'),
    await seededDelays(dataDir, '42'),
  ]
  const [[first, again], other] = await Promise.all([repeated(), seededDelays(elsewhere, '43')])
  t.strictSame(again, first)
  t.notSame(other, first, 'another seed gives others')
  t.ok([...first!, ...other].every((delay) => delay >= 100 && delay <= 500))
  for (const folder of [dataDir, elsewhere]) removeFolder(folder)
})
