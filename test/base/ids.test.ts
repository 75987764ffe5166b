import { test } from 'tap'
import { requestId } from '../../src/base/ids.js'

test('request ids are url-safe, hold 96 bits and do not repeat', async (t) => {
  const ids = Array.from({ length: 10_000 }, requestId)
  t.ok(
    ids.every((id) => /^req-[A-Za-z0-9_-]{16}$/.test(id)),
    `${ids[0]}`,
  )
  t.equal(new Set(ids).size, ids.length)
})
