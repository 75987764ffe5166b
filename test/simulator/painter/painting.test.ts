import { crc32, inflateSync } from 'node:zlib'
import fc from 'fast-check'
import { test } from 'tap'
import type { ChatRequest } from '../../../src/gateway/formats/canonical.js'
import type { ProviderCall } from '../../../src/gateway/providers/port/provider.js'
import { draftPicture } from '../../../src/simulator/generated-file.js'
import { paint, paintingSize } from '../../../src/simulator/painter/painting.js'

const SEED = { low: 1, high: 2 }

/** Reads a picture as the standard says, by other means than the ones that wrote it. */
function readPng(png: Buffer) {
  if (png.toString('latin1', 0, 8) !== '\x89PNG\r\n\x1a\n') throw new Error('no signature')
  const chunks = new Map<string, Buffer>()
  for (let at = 8; at < png.length; ) {
    const length = png.readUInt32BE(at)
    const type = png.toString('latin1', at + 4, at + 8)
    const data = png.subarray(at + 8, at + 8 + length)
    if (png.readUInt32BE(at + 8 + length) !== crc32(png.subarray(at + 4, at + 8 + length)))
      throw new Error(`a wrong check sum of ${type}`)
    chunks.set(type, data)
    at += 12 + length
  }
  if ([...chunks.keys()].join() !== 'IHDR,PLTE,IDAT,IEND') throw new Error([...chunks.keys()].join())
  const head = chunks.get('IHDR')!
  const [width, height] = [head.readUInt32BE(0), head.readUInt32BE(4)]
  if (head.subarray(8).join() !== '8,3,0,0,0') throw new Error('not indexed by bytes')
  const pixels = inflateSync(chunks.get('IDAT')!)
  if (pixels.length !== height * (width + 1)) throw new Error('rows are missing')
  const colours = chunks.get('PLTE')!.length / 3
  const rows = Array.from({ length: height }, (_, y) =>
    pixels.subarray(y * (width + 1), (y + 1) * (width + 1)),
  )
  if (rows.some((row) => row[0] !== 0 || row.some((pixel) => pixel >= colours)))
    throw new Error('a pixel without a colour')
  return { width, height, rows: rows.map((row) => row.subarray(1)) }
}

test('a picture of any size is a PNG that is the same on both sides', async (t) => {
  const side = fc.integer({ min: 16, max: 300 })
  await fc.assert(
    fc.asyncProperty(side, side, fc.integer(), fc.integer(), async (width, height, low, high) => {
      const picture = readPng(await paint({ low, high }, { width, height }))
      t.match(picture, { width, height })
      const middle = picture.rows[height >> 1]!
      if (width % 16 === 0) t.ok(Buffer.from(middle).equals(Buffer.from(middle).reverse()))
    }),
    { numRuns: 50 },
  )
})

test('equal seeds paint equal pictures, others others', async (t) => {
  const size = { width: 64, height: 64 }
  const one = await paint(SEED, size)
  t.ok(one.equals(await paint({ ...SEED }, size)))
  t.notOk(one.equals(await paint({ low: 2, high: 2 }, size)))
})

test('the size follows from the options', async (t) => {
  const sizeOf = (image_config: object) =>
    paintingSize({ messages: [], image_config } as unknown as ChatRequest)
  t.same(sizeOf({}), { width: 512, height: 512 })
  t.same(sizeOf({ size: 'auto' }), { width: 512, height: 512 })
  t.same(sizeOf({ size: '64x2048' }), { width: 64, height: 2048 })
  t.same(sizeOf({ aspect_ratio: '16:9' }), { width: 512, height: 288 })
  t.same(sizeOf({ aspect_ratio: '0:9' }), { width: 512, height: 512 })
  for (const size of ['8x64', '64x4096', '64', 'large', '64x'])
    t.throws(() => sizeOf({ size }), /image_config\.size/)
})

test('pictures are painted one after another, and not for callers that have left meanwhile', async (t) => {
  const call = { request: { messages: [] } } as unknown as ProviderCall
  let hasLeft = false
  const first = draftPicture(call, SEED, null)(() => false)
  const second = draftPicture(call, SEED, null)(() => hasLeft)
  const third = draftPicture(call, SEED, null)(() => false)
  hasLeft = true
  t.match(await first, { images: [{ type: 'image_url' }] })
  t.equal(await second, null)
  t.same(await third, await first)
})
