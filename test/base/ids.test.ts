import fc from 'fast-check'
import { test } from 'tap'
import { newGenerationId, newRequestId, newUuidV7 } from '../../src/base/ids.js'

test('request ids are url-safe, hold 96 bits and do not repeat', async (t) => {
  const ids = Array.from({ length: 10_000 }, newRequestId)
  t.ok(
    ids.every((id) => /^req-[A-Za-z0-9_-]{16}$/.test(id)),
    `${ids[0]}`,
  )
  t.equal(new Set(ids).size, ids.length)
})

const GENERATION = /^gen-[0-9a-hjkmnp-tv-z]{26}$/

test('generation ids have the form of the contract, and do not repeat', async (t) => {
  const ids = Array.from({ length: 10_000 }, () => newGenerationId(1_760_000_000_000))
  for (const id of ids) if (!GENERATION.test(id)) t.fail(id)
  t.equal(new Set(ids).size, ids.length)
})

/** Up to the year 10889: the time takes 48 bits. */
const unixMs = fc.integer({ min: 0, max: 2 ** 48 - 1 })

test('generation ids sort like the times they were made at', async () => {
  fc.assert(
    fc.property(unixMs, unixMs, (one, other) => {
      if (one === other) return true
      return one < other === newGenerationId(one) < newGenerationId(other)
    }),
  )
})

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

test('a UUID is of version 7, tells its time, and does not repeat', async (t) => {
  fc.assert(
    fc.property(unixMs, (at) => {
      const id = newUuidV7(at)
      return UUID.test(id) && Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16) === at
    }),
  )
  const ids = Array.from({ length: 10_000 }, () => newUuidV7(1_760_000_000_000))
  t.equal(new Set(ids).size, ids.length)
})
