/** The control listener as a user of it sees it: a real server, two workers, one operation after the other. */
import { request } from 'node:http'
import { decodeFromCompressedBase64 } from 'hdr-histogram-js'
import { test } from 'tap'
import type { OperationSummary, RunSummary, SeriesStep } from '../../../src/lab/run-summary.js'
import { reportOf } from '../../lab/verdict/synthetic-run.js'
import { httpClient } from '../../support/clients/http-client.js'
import {
  type LabServer,
  startLab,
  withoutLateness,
  withoutUnplanned,
} from '../../support/servers/lab-server.js'
import { ServerProcess } from '../../support/servers/server-process.js'
import { eventually } from '../../support/timing/eventually.js'

const CALLS = 200

async function load(server: LabServer, count: number, path = '/api/v1/items/3'): Promise<void> {
  const client = httpClient(server.url, 4)
  await Promise.all(Array.from({ length: count }, () => client.get(path)))
  client.close()
}

function addsUp({ arrivals, completed, aborted, inFlight }: OperationSummary): boolean {
  return arrivals === completed + aborted + inFlight
}

/** The status of an answer to a request target as it stands there, which no client would send. */
function statusOf(url: string, target: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { path: target }, (answer) => {
      answer.resume()
      resolve(answer.statusCode)
    })
    sent.on('error', reject)
    sent.end()
  })
}

test('the control listener', async (t) => {
  const server = await startLab(t)
  const { ask } = server

  await t.test('tells the clock that processes of the machine share', async (t) => {
    const before = process.hrtime.bigint()
    const { json } = await ask('GET', '/lab/v1/clock')
    const after = process.hrtime.bigint()
    const told = BigInt(json.monoNs)
    t.ok(told > before - 1_000_000n && told < after + 1_000_000n, `${told} between ${before} and ${after}`)
    t.ok(Math.abs(json.wallMs - Date.now()) < 5_000)
  })

  await t.test('has no runs at first', async (t) => {
    const { status, json } = await ask('GET', '/lab/v1/runs')
    t.equal(status, 200)
    t.same(json, { runs: [] })
  })

  let id = ''
  let summary: RunSummary
  await t.test('counts what arrives in a run', async (t) => {
    const expect = { loop: 'closed', connections: 4, pattern: 'constant' }
    const begun = await ask('POST', '/lab/v1/runs', { label: 'first', expect, measureS: 60, seed: 5 })
    t.equal(begun.status, 201)
    t.match(begun.json, { label: 'first', state: 'measuring' })
    t.same(withoutLateness(begun.json.marks), [])
    t.equal(begun.json.armed, !/ did not answer when the run began/.test(begun.json.marks.join('\n')))
    id = begun.json.id
    await load(server, CALLS)
    await load(server, 3, '/api/v1/items/999')
    // A worker that is kept from its core answers a glance late: then its last words stand in for it.
    const live: RunSummary = await eventually(async () => {
      const { json } = await ask('GET', `/lab/v1/runs/${id}`)
      return json.stale === undefined && json
    })
    t.match(live, { id, state: 'measuring', total: { arrivals: CALLS + 3 } })
    summary = await server.stop(id)
    t.match(summary, {
      id,
      label: 'first',
      expect,
      state: 'stopped',
      seed: 5,
      delays: 'random',
    })
    t.same(withoutLateness(summary.marks), [])
    t.same(withoutUnplanned(summary.stalls), [])
    t.match(summary.total, { arrivals: CALLS + 3, completed: CALLS + 3, aborted: 0, inFlight: 0 })
    t.same(summary.operations.read_item!.statuses, { 200: CALLS, 404: 3 })
    t.ok(addsUp(summary.total))
    t.equal(summary.operations.read_item!.service.count, CALLS + 3)
    const { peak, opened } = summary.connections
    // Each worker knows the most it had; both together never had more than their sum.
    t.ok(peak >= 4 && peak <= 7, `${peak} connections`)
    t.equal(opened, 7)
    t.equal(summary.workers.length, 2)
    t.ok(summary.workers.every(({ cpuShare, lag }) => cpuShare > 0 && lag.count > 0))
    t.match(summary.environment, { node: process.version, workers: 2, faults: true })
    t.ok(BigInt(summary.total.firstArrivalNs!) >= BigInt(summary.window.fromNs))
    t.ok(BigInt(summary.total.lastArrivalNs!) <= BigInt(summary.window.toNs))
  })

  await t.test('tells the same again after the end, whatever arrives', async (t) => {
    await load(server, 10)
    t.same((await ask('GET', `/lab/v1/runs/${id}`)).json, summary)
    t.same((await ask('POST', `/lab/v1/runs/${id}/stop`)).json, summary)
  })

  await t.test('cuts the measurement into windows', async (t) => {
    const { json: all } = await ask('GET', `/lab/v1/runs/${id}?window=all`)
    t.equal(all.total.arrivals, CALLS + 3)
    const { json: part } = await ask('GET', `/lab/v1/runs/${id}?window=0..60`)
    t.equal(part.total.arrivals, CALLS + 3)
    const { json: late } = await ask('GET', `/lab/v1/runs/${id}?window=50..60`)
    t.match(late.total, { arrivals: 0, service: { count: 0, max: 0 } })
    t.same(summary.slices, { seconds: 1, count: 60 })
  })

  await t.test('has a series whose counts are those of the window', async (t) => {
    for (const query of ['', '?stepMs=100', '?op=read_item']) {
      const { json } = await ask('GET', `/lab/v1/runs/${id}/series${query}`)
      const steps: SeriesStep[] = json.steps
      const arrivals = steps.reduce((sum, step) => sum + step.arrivals, 0)
      t.equal(arrivals, CALLS + 3, query)
      t.equal(steps[0]!.atMs, 0)
      t.ok(steps.every(({ atMs }, i) => atMs === i * 100))
      const busy = steps.find((step) => step.completions > 0)!
      t.ok(busy.p50 > 0 && busy.p99 >= busy.p50)
    }
    const { json } = await ask('GET', `/lab/v1/runs/${id}/series?op=hash`)
    t.ok(json.steps.every(({ arrivals }: SeriesStep) => arrivals === 0))
  })

  await t.test('gives histograms in three forms', async (t) => {
    const path = `/lab/v1/runs/${id}/histogram`
    const { json } = await ask('GET', `${path}?op=read_item&metric=service&format=json`)
    t.match(json, { unit: 'ms', count: CALLS + 3 })
    t.ok(json.points.length > 5 && json.max === summary.operations.read_item!.service.max)
    const text = await ask('GET', `${path}?format=hgrm`)
    t.match(text.text, /Total count\s+=\s+203\]/)
    const { text: v2 } = await ask('GET', `${path}?format=v2`)
    t.equal(decodeFromCompressedBase64(v2.trim()).totalCount, CALLS + 3)
    for (const metric of ['gap', 'inflight', 'lag', 'wait', 'firstChunk']) {
      t.equal((await ask('GET', `${path}?metric=${metric}`)).status, 200, metric)
    }
  })

  await t.test('judges a client’s report, and keeps the verdict', async (t) => {
    const report = reportOf({
      tool: 'test',
      connections: 4,
      durationS: 1,
      done: CALLS + 3,
      statuses: { 200: CALLS, 404: 3 },
      percentiles: { p50: 1, p99: 5 },
      max: 9,
    })
    const { status, json } = await ask('POST', `/lab/v1/runs/${id}/client`, report)
    t.equal(status, 200)
    t.equal(json.checks.length, 17)
    t.equal(json.checks.at(-1).id, 'V17')
    t.type(json.validity, 'string')
    const { json: again } = await ask('GET', `/lab/v1/runs/${id}`)
    t.equal(again.verdict.verdict, json.verdict)
    t.ok(again.others.cores >= 0 && again.others.seconds > 0, 'it knows what other programs used')
    const { json: list } = await ask('GET', '/lab/v1/runs')
    t.match(list.runs[0], { id, tool: 'test', verdict: json.verdict })
    for (const [change, field] of [
      [{ done: -1 }, 'done'],
      [{ sent: 3 }, 'done'],
      [{ errors: { reset: -1 } }, 'errors.reset'],
      [{ rps: -1 }, 'rps'],
      [{ durationS: -1 }, 'durationS'],
      [{ startNs: '5', endNs: '4' }, 'endNs'],
      [{ percentiles: { p50: -1 } }, 'percentiles.p50'],
      [{ statuses: { ok: 1 } }, 'statuses.ok'],
      [{ statuses: { '6xx': 1 } }, 'statuses.6xx'],
      [{ loop: 'round' }, 'loop'],
    ] as const) {
      const bad = await ask('POST', `/lab/v1/runs/${id}/client`, { ...report, ...change })
      t.same([bad.status, bad.json.error.field], [400, field], JSON.stringify(change))
    }
  })

  await t.test('serves metrics of the workers and of the latest run', async (t) => {
    // A worker that is kept from its core misses a look: all answer the next one.
    const { text, headers } = await eventually(async () => {
      const reply = await ask('GET', '/lab/v1/metrics')
      return reply.text.includes('worker="1"') && reply
    })
    t.match(headers['content-type'], /text\/plain; version=0.0.4/)
    t.match(text, /^sluice_requests_total\{worker="1",operation="read_item"\} \d+$/m)
    t.match(text, new RegExp(`^sluice_lab_arrivals\\{run="${id}"\\} ${CALLS + 3}$`, 'm'))
  })

  await t.test('makes faults, lists them and takes them away', async (t) => {
    const { status, json } = await ask('POST', '/lab/v1/faults', {
      kind: 'error',
      op: 'hash',
      prob: 0.5,
      status: 500,
      afterMs: 60_000,
    })
    t.equal(status, 201)
    t.match(json, { kind: 'error', op: 'hash', prob: 0.5, status: 500, active: false })
    t.match((await ask('GET', '/lab/v1/faults')).json, { enabled: true, faults: [{ id: json.id }] })
    t.same((await ask('DELETE', `/lab/v1/faults/${json.id}`)).json, { removed: [json.id] })
    t.equal((await ask('DELETE', `/lab/v1/faults/${json.id}`)).status, 404)
    await server.fault({ kind: 'slow', addMs: 5 })
    await server.fault({ kind: 'slow', addMs: 6 })
    t.equal((await ask('DELETE', '/lab/v1/faults')).json.removed.length, 2)
    t.same((await ask('GET', '/lab/v1/faults')).json.faults, [])
  })

  await t.test('refuses an overlapping run, and takes one when the first has ended', async (t) => {
    const first = await server.begin({ measureS: 60 })
    const second = await ask('POST', '/lab/v1/runs', { measureS: 1 })
    t.equal(second.status, 409)
    t.match(second.json.error.message, new RegExp(`run ${first} is under way for \\d+ s more`))
    await server.stop(first)
    const third = await server.begin({ measureS: 0.2 })
    await new Promise((resolve) => setTimeout(resolve, 350))
    t.equal((await ask('GET', `/lab/v1/runs/${third}`)).json.state, 'stopped', 'its time is over')
    const fourth = await server.begin({ measureS: 1 })
    const { json } = await ask('GET', '/lab/v1/runs')
    t.same(
      json.runs.map((run: { id: string }) => run.id),
      [fourth, third, first, id],
    )
    await server.stop(fourth)
  })

  const badRuns: readonly (readonly [body: object, message: string | RegExp])[] = [
    [{}, /^measureS: /],
    [{ measureS: -1 }, /^measureS: must be a number above 0/],
    [{ measureS: 1, warmupS: -1 }, /^warmupS: must be a number from 0/],
    [{ measureS: 1, expect: { loop: 'open', rate: -5 } }, /^expect\.rate: must be a number above 0/],
    [{ measureS: 1, expect: { loop: 'open' } }, 'expect.rate: an open loop has a rate'],
    [{ measureS: 1, delays: 'none' }, /^delays: must be "random" or "quasi"/],
    [{ measureS: 1, rate: 5 }, 'rate: there is no such field'],
    [{ measureS: 1, delayShape: { shape: 'constant', ms: -1 } }, /^delayShape\.ms: /],
  ]
  const badFaults: readonly (readonly [body: object, message: string | RegExp])[] = [
    [{ kind: 'fire' }, /^kind: must be one of block, accept-pause, hold/],
    [{ kind: 'hold' }, 'forMs: hold needs one'],
    [{ kind: 'hold', forMs: null }, /^forMs: /],
    [{ kind: 'cut-at-token' }, 'token: cut-at-token needs one'],
    [{ kind: 'hold', forMs: 100, everyMs: 50 }, /^everyMs: must be at least forMs/],
    [{ kind: 'slow', addMs: -1 }, /^addMs: /],
    [{ kind: 'slow', addMs: 1, op: 'nope' }, 'op: there is no operation "nope"'],
    [{ kind: 'block', forMs: 5, op: 'hash' }, /^op: block meets the whole server/],
    [{ kind: 'block', forMs: 60_001 }, /^forMs: a block lasts/],
    [{ kind: 'slow', addMs: 1, prob: 1.5 }, /^prob: must be a number from 0 to 1/],
    [{ kind: 'error', status: 200 }, /^status: /],
  ]
  const refusals: readonly (readonly [string, string, unknown, number, string | RegExp])[] = [
    ['GET', '/lab/v1/runs/nope', undefined, 404, 'there is no run nope'],
    ['GET', '/lab/v1/runs/%ff', undefined, 400, /encoded/],
    ['POST', '/lab/v1/runs/nope/stop', {}, 404, 'there is no run nope'],
    ['POST', '/lab/v1/runs/nope/client', {}, 404, 'there is no run nope'],
    ['GET', '/lab/v1/runs/nope/series', undefined, 404, 'there is no run nope'],
    ['GET', '/lab/v1/nothing', undefined, 404, 'there is nothing at /lab/v1/nothing'],
    ['PUT', '/lab/v1/runs', undefined, 405, 'only GET, POST here'],
    ['POST', '/lab/v1/runs', '{', 400, 'the body is no JSON'],
    ['POST', '/lab/v1/runs', 'x'.repeat(1024 * 1024 + 1), 413, /at most 1048576 bytes/],
    ['GET', '/lab/missing.js', undefined, 404, 'there is nothing here'],
    ...badRuns.map(([body, message]) => ['POST', '/lab/v1/runs', body, 400, message] as const),
    ...badFaults.map(([body, message]) => ['POST', '/lab/v1/faults', body, 400, message] as const),
  ]
  for (const [method, path, body, status, message] of refusals) {
    const what = typeof body === 'string' ? body.slice(0, 20) : JSON.stringify(body)
    await t.test(`answers ${status} to ${method} ${path} ${what}`, async (t) => {
      const reply = await ask(method, path, body)
      t.equal(reply.status, status)
      t.match(reply.json.error, { code: status, message })
    })
  }

  for (const [target, status] of [
    ['//', 404],
    ['//lab/v1/clock', 404],
    ['http://[', 400],
    ['*', 400],
    ['http://127.0.0.1/lab/v1/clock', 200],
  ] as const) {
    await t.test(`answers ${status} to the request target ${target}`, async (t) => {
      t.equal(await statusOf(server.labUrl, target), status)
    })
  }

  const badQueries = {
    [`runs/${id}`]: ['window=x', 'window=3..2', 'window=1..1', 'window=0..61', 'window=-1..5'],
    [`runs/${id}/histogram`]: ['metric=nope', 'format=xml'],
    [`runs/${id}/series`]: ['stepMs=0', 'stepMs=50', 'stepMs=150', 'stepMs=x', 'stepMs=600100'],
  }
  for (const [path, queries] of Object.entries(badQueries)) {
    for (const query of queries) {
      await t.test(`answers 400 to ${path.replace(id, '…')}?${query}`, async (t) => {
        const { status, json } = await ask('GET', `/lab/v1/${path}?${query}`)
        t.same([status, json.error.field], [400, query.split('=')[0]])
      })
    }
  }

  await t.test('serves the live page', async (t) => {
    for (const path of ['/lab', '/lab/']) {
      const { status, headers, text } = await ask('GET', path)
      t.equal(status, 200)
      t.match(headers['content-type'], /^text\/html/)
      t.match(headers['content-security-policy'], /^default-src 'none';.*; frame-ancestors 'none'$/)
      t.match(text, /<html/)
    }
    t.match((await ask('GET', '/lab/live.js')).headers['content-type'], /^text\/javascript/)
    t.equal((await ask('HEAD', '/lab')).text, '')
  })

  await t.test('answers no other origin, and under no name that was made to point here', async (t) => {
    for (const headers of [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { host: 'evil.example:80' },
    ]) {
      t.equal((await ask('POST', '/lab/v1/faults', { kind: 'block', forMs: 1 }, headers)).status, 403)
      t.equal((await ask('GET', '/lab/v1/live', undefined, headers)).status, 403)
    }
    const { host } = new URL(server.labUrl)
    t.equal((await ask('GET', '/lab/v1/runs', undefined, { origin: `http://${host}` })).status, 200)
  })
})

test('without the switch for faults none can be made, and no header makes one', async (t) => {
  const server = await startLab(t, { SLUICE_LAB_FAULTS: 'off', SLUICE_WORKERS: '1' })
  t.match(server.process.stdout, /\(faults: off\)/)
  for (const [method, path] of [
    ['POST', '/lab/v1/faults'],
    ['DELETE', '/lab/v1/faults'],
  ] as const) {
    const { status, json } = await server.ask(
      method,
      path,
      method === 'POST' ? { kind: 'hold', forMs: 100 } : undefined,
    )
    t.equal(status, 403)
    t.match(json.error.message, /start the server with --lab, or with SLUICE_LAB_FAULTS=on/)
  }
  t.same((await server.ask('GET', '/lab/v1/faults')).json, { enabled: false, faults: [] })
  const reply = await fetch(`${server.url}/api/v1/health`, {
    headers: { 'X-Lab-Fault': 'error=503', 'X-Lab-Echo': '1' },
  })
  t.equal(reply.status, 200)
  t.equal(reply.headers.get('x-lab-seq'), null)
})

test('--lab switches on the lab and its faults', async (t) => {
  const server = await startLab(t, { SLUICE_LAB_FAULTS: '', SLUICE_WORKERS: '1' }, ['serve', '--lab'])
  t.match(server.process.stdout, /\(faults: on\)/)
  const id = await server.begin({ delays: 'quasi', seed: 0 })
  const askedAt = performance.now()
  const report = await fetch(`${server.url}/api/v1/report`)
  t.equal(report.status, 200)
  t.match(await report.json(), { delay_ms: 100 }, 'the first quasi-random delay')
  const answeredMs = performance.now() - askedAt
  const { operations, delays } = await server.stop(id)
  t.equal(delays, 'quasi')
  const { delayError, service } = operations.report!
  t.equal(delayError.count, 1)
  const seen = `${delayError.max} ms late, ${service.max} ms in the server, ${answeredMs} ms for its caller`
  t.ok(service.max >= 99 + delayError.max && service.max <= answeredMs, seen)
})

test('two generators at once are told apart by the header that names their run', async (t) => {
  const server = await startLab(t)
  const everything = await server.begin()
  const [one, other] = [await server.begin({ byHeader: true }), await server.begin({ byHeader: true })]
  const send = async (run: string, count: number): Promise<void> => {
    const headers = { 'X-Lab-Run': run }
    for (let i = 0; i < count; i++)
      await (await fetch(`${server.url}/api/v1/items/1`, { headers })).arrayBuffer()
  }
  await Promise.all([send(one, 7), send(other, 11), send('nobody', 5)])
  t.match((await server.stop(one)).total, { arrivals: 7, completed: 7, inFlight: 0, statuses: { 200: 7 } })
  t.match((await server.stop(other)).total, { arrivals: 11, completed: 11, inFlight: 0 })
  t.match((await server.stop(everything)).total, { arrivals: 23, completed: 23, inFlight: 0 })
  const { json } = await server.ask('GET', `/lab/v1/runs/${other}/series`)
  t.equal(
    json.steps.reduce((sum: number, step: SeriesStep) => sum + step.arrivals, 0),
    11,
  )
})

test('an address that is taken ends the start with a sentence', async (t) => {
  const first = await startLab(t, { SLUICE_WORKERS: '1' })
  const { host } = new URL(first.labUrl)
  const second = ServerProcess.start(t, { env: { PORT: '0', SLUICE_WORKERS: '1', SLUICE_LAB: host } })
  t.equal((await second.exited()).code, 1)
  t.match(second.stderr, `sluice: cannot serve the lab on ${host}: listen EADDRINUSE`)
})
