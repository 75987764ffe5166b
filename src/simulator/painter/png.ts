/** Writes PNG pictures of up to 256 colours (W3C PNG, sections 5 and 11). */
import { promisify } from 'node:util'
import { crc32, deflate } from 'node:zlib'

const compress = promisify(deflate)

const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')
const BIT_DEPTH = 8
const INDEXED = 3

interface IndexedPicture {
  readonly width: number
  readonly height: number
  /** Red, green and blue by turns. */
  readonly palette: Uint8Array
  /** One byte for each pixel of a row. */
  row(y: number): Uint8Array
}

export async function encodePng({ width, height, palette, row }: IndexedPicture): Promise<Buffer> {
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head[8] = BIT_DEPTH
  head[9] = INDEXED
  // Each row stands behind the number of its filter; 0 is none.
  const pixels = Buffer.alloc(height * (width + 1))
  for (let y = 0; y < height; y++) pixels.set(row(y), y * (width + 1) + 1)
  const data = await compress(pixels)
  const chunks = [
    chunk('IHDR', head),
    chunk('PLTE', palette),
    chunk('IDAT', data),
    chunk('IEND', Buffer.alloc(0)),
  ]
  return Buffer.concat([SIGNATURE, ...chunks])
}

function chunk(type: string, data: Uint8Array): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const whole = Buffer.alloc(named.length + 8)
  whole.writeUInt32BE(data.length, 0)
  whole.set(named, 4)
  whole.writeUInt32BE(crc32(named), named.length + 4)
  return whole
}
