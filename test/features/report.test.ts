import { test } from 'tap'
import { uniformDelays } from '../../src/features/report/delays.js'
import { reportEndpoints } from '../../src/features/report/endpoints.js'
import type { HttpCall, Reply } from '../../src/http/endpoint.js'
import type { ItemStore } from '../../src/store/store.js'
import { FakeClock } from '../support/timing/fake-clock.js'

const ITEMS = { list: () => Buffer.from('[{"id":1,"name":"a","price":2}]') } as unknown as ItemStore

test('whoever asks is told of every delay: of which call, what was intended, what it became', async (t) => {
  const clock = new FakeClock()
  const told: unknown[] = []
  const [report] = reportEndpoints(
    ITEMS,
    () => 250,
    clock,
    (...delay) => told.push(delay),
  )
  const handle = report!.handle as unknown as (input: unknown, call: Partial<HttpCall>) => Promise<Reply>
  const stays = handle({ query: { items: 1 } }, { arrivedAt: 17, aborted: false })
  const leaves = handle({ query: { items: 1 } }, { arrivedAt: 18, aborted: true })
  t.same(told, [])
  clock.advance(249)
  t.same(told, [])
  clock.advance(1)
  const { status, body } = await stays
  t.equal((await leaves).status, 204, 'nobody reads it')
  t.equal(status, 200)
  t.equal(JSON.parse(String(body)).delay_ms, 250)
  t.same(told, [
    [17, 250, 250],
    [18, 250, 250],
  ])
})

test('without anybody who asks the report is the same', async (t) => {
  const clock = new FakeClock()
  const [report] = reportEndpoints(ITEMS, uniformDelays(1), clock)
  const handle = report!.handle as unknown as (input: unknown, call: Partial<HttpCall>) => Promise<Reply>
  const reply = handle({ query: { items: 1 } }, { arrivedAt: 0, aborted: false })
  clock.advance(500)
  t.equal((await reply).status, 200)
})
