/** What the live page listens to. */
import { get } from 'node:http'
import { test } from 'tap'
import type { LiveEvent } from '../../../src/lab/live-event.js'
import type { SeriesStep } from '../../../src/lab/run-summary.js'
import { httpClient } from '../../support/clients/http-client.js'
import { startLab, withoutUnplanned } from '../../support/servers/lab-server.js'
import { eventually } from '../../support/timing/eventually.js'

class Listener {
  readonly events: LiveEvent[] = []
  #rest = ''
  readonly #request

  constructor(url: string) {
    this.#request = get(`${url}/lab/v1/live`, (response) => {
      response.setEncoding('utf8').on('data', (text: string) => this.#take(text))
    })
    this.#request.on('error', () => {})
  }

  get last(): LiveEvent | undefined {
    return this.events.at(-1)
  }

  get steps(): readonly SeriesStep[] {
    return this.events.flatMap(({ steps }) => steps)
  }

  /** Of all steps so far. */
  get arrivals(): number {
    return this.steps.reduce((sum, { arrivals }) => sum + arrivals, 0)
  }

  close(): void {
    this.#request.destroy()
  }

  #take(text: string): void {
    const frames = (this.#rest + text).split('\n\n')
    this.#rest = frames.pop()!
    for (const frame of frames) this.events.push(JSON.parse(frame.replace(/^data: /, '')))
  }
}

test('the live feed tells the run as it happens', async (t) => {
  const server = await startLab(t)
  const early = new Listener(server.labUrl)
  t.teardown(() => early.close())
  await eventually(() => early.events.length > 0)
  t.same(early.last, { run: null, steps: [], percentiles: {}, verdict: null, validity: null })

  const id = await server.begin({ label: 'live', measureS: 30, expect: { loop: 'closed', connections: 4 } })
  // It is to be told of for longer than one update may be late.
  await server.fault({ kind: 'hold', forMs: 300, afterMs: 3_000 })
  const client = httpClient(server.url, 4)
  for (let i = 0; i < 30; i++)
    await Promise.all(Array.from({ length: 4 }, () => client.get('/api/v1/items/1')))
  await eventually(() => early.last!.run?.totals.arrivals === 120)
  const holds = () => withoutUnplanned(early.last!.run!.stalls)
  await eventually(() => holds().some(({ toMs }) => toMs !== null))
  t.match(early.last!.run, {
    id,
    label: 'live',
    state: 'measuring',
    totals: { arrivals: 120, completed: 120, aborted: 0, inFlight: 0, errors: 0 },
    connections: { now: 4, opened: 4 },
    warmupMs: 0,
    measureMs: 30_000,
  })
  t.ok(early.events.some(({ run }) => run?.faults.includes('hold, everything, for 300 ms')))
  const [stall] = holds()
  t.ok(stall!.fromMs >= 3_000 && Math.abs(stall!.toMs! - stall!.fromMs - 300) < 0.1)
  t.ok(early.last!.percentiles.read_item!.length > 5)

  const late = new Listener(server.labUrl)
  t.teardown(() => late.close())
  await eventually(() => late.events.length >= 2)
  client.close()
  await server.stop(id)
  for (const listener of [early, late]) {
    // The last steps of a worker that is kept from its core come with a later event.
    await eventually(() => listener.last!.run!.state === 'stopped' && listener.arrivals >= 120)
    t.equal(listener.arrivals, 120)
    t.ok(
      listener.steps.every(({ atMs }, i) => atMs === i * 100),
      'every step once and in order',
    )
  }
  const next = await server.begin({ measureS: 30 })
  await eventually(() => early.last!.run!.id === next && early.last!.steps.length > 0)
  const fresh = early.events.filter(({ run }) => run?.id === next).flatMap(({ steps }) => steps)
  t.equal(fresh[0]!.atMs, 0, 'a new run begins at its begin')
})
