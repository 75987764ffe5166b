/** contract/decisions 27: `/metrics` covers all workers, can be bound elsewhere or switched off. */

import parsePrometheusTextFormat, { type Family } from 'parse-prometheus-text-format'
import { test } from 'tap'
import { type HttpReply, httpClient } from '../../support/clients/http-client.js'
import { sent } from '../../support/clients/sent-requests.js'
import { clientPerWorker, statsPerWorker, total } from '../../support/clients/worker-connections.js'
import { freePort } from '../../support/servers/listen.js'
import { practiceServer, startPracticeServer } from '../../support/servers/practice-server.js'

const { server, client } = await practiceServer({}, 16)

type Labels = Readonly<Record<string, string>>

function family(reply: HttpReply, name: string): Family {
  const found = parsePrometheusTextFormat(reply.text).find((each) => each.name === name)
  if (found === undefined) throw new Error(`there is no ${name} in\n${reply.text}`)
  return found
}

/** Sums the samples of a counter whose labels include `labels`. */
function sum(reply: HttpReply, name: string, labels: Labels): number {
  return family(reply, name)
    .metrics.filter((sample) =>
      Object.entries(labels).every(([label, text]) => sample.labels?.[label] === text),
    )
    .reduce((n, { value }) => n + Number(value), 0)
}

const SENT = [
  sent('list_items', 200, 'GET /api/v1/items', 31),
  sent('list_items', 422, 'GET /api/v1/items?limit=x', 7),
  sent('create_item', 201, 'POST /api/v1/items', 15, '{"name":"n"}'),
  sent('read_item', 404, 'GET /api/v1/items/0', 12),
  sent('hash', 200, 'POST /api/v1/hash', 9, '{"data":"","rounds":1}'),
  sent('report', 200, 'GET /api/v1/report', 4),
  sent('unmatched', 404, 'GET /nope', 5),
  sent('unmatched', 405, 'PUT /api/v1/items', 6),
]

test('the sums over workers are what was sent, and what stats say', async (t) => {
  const workers = await clientPerWorker(server.baseUrl)
  await Promise.all(
    SENT.flatMap(({ operation: _, status: __, times, ...request }) =>
      Array.from({ length: times }, (___, i) => workers[i % 2]!.send(request)),
    ),
  )
  const reply = await workers[0]!.get('/metrics')
  for (const { operation, status, times } of SENT) {
    t.equal(
      sum(reply, 'sluice_responses_total', { operation, status: String(status) }),
      times,
      `${operation} ${status}`,
    )
  }
  const stats = await statsPerWorker(server.baseUrl)
  for (const operation of ['list_items', 'create_item', 'read_item', 'hash', 'report', 'unmatched']) {
    const sent = SENT.filter((each) => each.operation === operation).reduce((n, { times }) => n + times, 0)
    t.equal(sum(reply, 'sluice_requests_total', { operation }), sent, operation)
    t.equal(
      total(stats, operation, ({ count }) => count),
      sent,
      `${operation} in stats`,
    )
    for (const { worker, operations } of stats) {
      const labels = { operation, worker: String(worker) }
      t.equal(
        sum(reply, 'sluice_requests_total', labels),
        operations[operation]!.count,
        `${operation} of ${worker}`,
      )
      t.equal(
        sum(reply, 'sluice_response_bytes_total', labels),
        operations[operation]!.bytes_out,
        'bytes out',
      )
      t.equal(sum(reply, 'sluice_request_bytes_total', labels), operations[operation]!.bytes_in, 'bytes in')
    }
  }
  for (const worker of workers) worker.close()
})

test('every worker answers for all', async (t) => {
  for (const worker of await clientPerWorker(server.baseUrl)) {
    const reply = await worker.get('/metrics')
    t.equal(reply.status, 200)
    t.strictSame(
      family(reply, 'sluice_worker_uptime_seconds').metrics.map(({ labels }) => labels?.worker),
      ['0', '1'],
    )
    worker.close()
  }
})

test('the text is Prometheus text: typed, explained, no series twice', async (t) => {
  const reply = await client.get('/metrics')
  t.equal(reply.headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8')
  t.match(reply.text, /\n$/, 'the last line ends')
  const lines = reply.text.trimEnd().split('\n')
  for (const line of lines) {
    t.match(
      line,
      /^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+\{([a-z_]+="[^"\\\n]*",?)*\} (\+Inf|NaN|-?[0-9.e+-]+))$/,
      line,
    )
  }
  const series = lines
    .filter((line) => !line.startsWith('#'))
    .map((line) => line.slice(0, line.lastIndexOf(' ')))
  t.equal(new Set(series).size, series.length)
  const families = parsePrometheusTextFormat(reply.text)
  t.ok(families.length >= 15, `${families.length} families`)
  for (const { name, help, type } of families) {
    t.match(name, /^sluice_[a-z_]+$/)
    t.ok(help.length > 5, `${name} is explained`)
    t.ok(['COUNTER', 'GAUGE', 'HISTOGRAM'].includes(type), `${name} is a ${type}`)
    t.equal(name.endsWith('_total'), type === 'COUNTER', `${name}: counters, and only they, end in _total`)
  }
  t.equal(new Set(families.map(({ name }) => name)).size, families.length, 'each family once')
})

interface Distribution {
  readonly operation: string
  /** Upper bound in seconds and cumulative count, as they come. */
  readonly buckets: (readonly [bound: string, count: number])[]
  count: number
  sum: number
}

/** The service times by worker and operation. The parser throws all histograms of a family together. */
function distributions(text: string): Distribution[] {
  const found = new Map<string, Distribution>()
  const line =
    /^sluice_service_time_seconds_(bucket|sum|count)\{worker="(\d+)",operation="(\w+)"(?:,le="([^"]+)")?\} (.+)$/gm
  for (const [, kind, worker, operation, bound, value] of text.matchAll(line)) {
    const key = `${worker} ${operation}`
    const one = found.get(key) ?? { operation: operation!, buckets: [], count: -1, sum: -1 }
    found.set(key, one)
    if (kind === 'bucket') one.buckets.push([bound!, Number(value)])
    else one[kind as 'sum' | 'count'] = Number(value)
  }
  return [...found.values()]
}

test('the service time is a histogram in seconds: cumulative, and as many as were answered', async (t) => {
  const reply = await client.get('/metrics')
  const all = distributions(reply.text)
  t.ok(all.length >= 22, `${all.length} distributions`)
  for (const { operation, buckets, count, sum: seconds } of all) {
    const bounds = buckets.map(([bound]) => Number(bound.replace('+Inf', 'Infinity')))
    const counts = buckets.map(([, n]) => n)
    t.strictSame(
      bounds,
      bounds.toSorted((a, b) => a - b),
      `bounds of ${operation} ascend`,
    )
    t.strictSame(
      counts,
      counts.toSorted((a, b) => a - b),
      `${operation} is cumulative`,
    )
    t.strictSame([bounds.at(-1), counts.at(-1)], [Number.POSITIVE_INFINITY, count], `${operation} counts all`)
    if (operation === 'report' && count > 0) {
      t.ok(seconds / count > 0.09 && seconds / count < 5, `a report takes ${seconds / count} seconds`)
      t.equal(buckets.find(([bound]) => bound === '0.05')?.[1], 0, 'no report below 50 ms')
    }
  }
  for (const operation of ['list_items', 'create_item', 'hash', 'report', 'unmatched']) {
    const timed = all.filter((each) => each.operation === operation).reduce((n, { count }) => n + count, 0)
    t.equal(timed, sum(reply, 'sluice_responses_total', { operation }), operation)
  }
})

test('another method on /metrics is refused', async (t) => {
  const reply = await client.send({ method: 'POST', path: '/metrics' })
  t.equal(reply.status, 405)
  t.equal(reply.headers.allow, 'GET, HEAD')
})

test('switched off, /metrics is an unknown path', async (t) => {
  const silent = await startPracticeServer({ env: { SLUICE_METRICS: 'off' } })
  const near = httpClient(silent.baseUrl, 1)
  const reply = await near.get('/metrics')
  t.strictSame(
    { status: reply.status, json: reply.json },
    {
      status: 404,
      json: {
        error: {
          code: 404,
          message:
            'Resource not found: the metrics are off or at an address of their own: the setting SLUICE_METRICS',
        },
      },
    },
  )
  const { paths } = (await near.get('/api/v1/openapi.json')).json as { paths: object }
  t.notOk('/metrics' in paths, 'and undocumented')
  near.close()
  await silent.stop()
})

test('bound elsewhere, /metrics is served there for all workers, and not beside the API', async (t) => {
  for (const [host, url] of [
    ['127.0.0.1', 'http://127.0.0.1'],
    ['localhost', 'http://localhost'],
  ] as const) {
    const port = await freePort()
    const apart = await startPracticeServer({ env: { SLUICE_METRICS: `${host}:${port}` } })
    const [near, there] = [httpClient(apart.baseUrl, 8), httpClient(`${url}:${port}`, 1)]
    t.equal((await near.get('/metrics')).status, 404, 'not beside the API')
    await Promise.all(Array.from({ length: 50 }, () => near.get('/api/v1/items')))
    const reply = await there.get('/metrics')
    t.equal(reply.headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8')
    t.equal(sum(reply, 'sluice_requests_total', { operation: 'list_items' }), 50)
    t.equal(family(reply, 'sluice_pool_threads').metrics.length, 2)
    for (const path of ['/', '/api/v1/health', '/metrics/x'])
      t.equal((await there.get(path)).status, 404, path)
    t.equal((await there.send({ method: 'HEAD', path: '/metrics' })).status, 200)
    t.equal((await there.get('/metrics?x=1')).status, 200, 'a query is ignored')
    near.close()
    there.close()
    await apart.stop()
  }
})
