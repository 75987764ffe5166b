import { test } from 'tap'
import { encodeItem } from '../../../src/store/item-bytes.js'
import { readCreatedAt } from '../../../src/store/lmdb/items/item-layout.js'

test('an item is JSON with its members in the order of the contract', async (t) => {
  const fields = { price: 0.1, description: 'line\nfeed', name: '"😀"' }
  const json = encodeItem(7, fields, 1_700_000_000.25)
  t.equal(
    json,
    '{"name":"\\"😀\\"","description":"line\\nfeed","price":0.1,"id":7,"created_at":1700000000.25}',
  )
})

test('the creation time is read back exactly, whatever the texts say', async (t) => {
  for (const createdAt of [0, 1_700_000_000, 1_700_000_000.123_456_7, 1.5e-7]) {
    const text = '"created_at":1,"id":2}'
    const json = encodeItem(1, { name: text, description: text, price: 3 }, createdAt)
    const block = Buffer.from(`xx${json}yy`)
    t.equal(readCreatedAt(block.subarray(2, block.length - 2)), createdAt)
  }
})
