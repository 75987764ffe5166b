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

test('rows are read before anything is waited for: a store lends the bytes of a list until the next one', async (t) => {
  const lent = Buffer.alloc(100)
  const list = (_: number, limit: number): Uint8Array =>
    lent.subarray(0, lent.write(JSON.stringify(Array(limit).fill({ id: 1, name: `of ${limit}`, price: 2 }))))
  const clock = new FakeClock()
  const [report] = reportEndpoints({ list } as unknown as ItemStore, () => 250, clock)
  const handle = report!.handle as unknown as (input: unknown, call: Partial<HttpCall>) => Promise<Reply>
  const replies = [2, 1].map((items) => handle({ query: { items } }, { arrivedAt: 0, aborted: false }))
  clock.advance(250)
  const rows = (await Promise.all(replies)).map(({ body }) => JSON.parse(String(body)).rows)
  t.same(rows, [
    [
      { id: 1, name: 'of 2', price: 2 },
      { id: 1, name: 'of 2', price: 2 },
    ],
    [{ id: 1, name: 'of 1', price: 2 }],
  ])
})
