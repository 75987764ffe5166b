/**
 * The picture that `sim/painter` draws: coloured tiles, the left half mirrored in the right, which follow from the prompt
 * and the seed. `size` (`512x256`) and `aspect_ratio` (`16:9`) of `image_config` count.
 */
import type { ChatRequest } from '../../gateway/formats/canonical.js'
import { UnsupportedRequest } from '../faults.js'
import { RANDOM_LANE, type RandomSeed, SeededRandom } from '../random.js'
import { encodePng } from './png.js'

const TILES = 16
const COLOURS = 8
const LEAST_SIDE = 16
const MOST_SIDE = 2048
const USUAL_SIDE = 512

/** Throws an `UnsupportedRequest` for a size that is none. */
export function paintingSize({ image_config: options = {} }: ChatRequest): {
  readonly width: number
  readonly height: number
} {
  const { size, aspect_ratio: ratio } = options
  if (typeof size === 'string' && size !== 'auto') {
    const [, width, height] = /^(\d{2,4})x(\d{2,4})$/.exec(size) ?? []
    const sides = [Number(width), Number(height)] as const
    if (sides.every((side) => side >= LEAST_SIDE && side <= MOST_SIDE))
      return { width: sides[0], height: sides[1] }
    throw new UnsupportedRequest(
      `image_config.size must be like 512x512, each from ${LEAST_SIDE} to ${MOST_SIDE}`,
    )
  }
  const [, wide, high] = /^(\d{1,2}):(\d{1,2})$/.exec(String(ratio ?? '')) ?? []
  if (!(Number(wide) > 0 && Number(high) > 0)) return { width: USUAL_SIDE, height: USUAL_SIDE }
  const longest = Math.max(Number(wide), Number(high))
  const side = (part: number): number => Math.max(LEAST_SIDE, Math.round((USUAL_SIDE * part) / longest))
  return { width: side(Number(wide)), height: side(Number(high)) }
}

/** The bytes of a PNG; equal seeds and sizes give equal ones. */
export function paint(seed: RandomSeed, { width, height }: ReturnType<typeof paintingSize>): Promise<Buffer> {
  const random = new SeededRandom(seed, RANDOM_LANE.painting)
  const palette = Uint8Array.from({ length: COLOURS * 3 }, () => random.nextBelow(256))
  const tiles = Uint8Array.from({ length: TILES * (TILES / 2) }, () => random.nextBelow(COLOURS))
  const columnOf = (x: number): number => {
    const column = Math.floor((x * TILES) / width)
    return column < TILES / 2 ? column : TILES - 1 - column
  }
  const rows = Array.from({ length: TILES }, (_, line) =>
    Uint8Array.from({ length: width }, (_, x) => tiles[line * (TILES / 2) + columnOf(x)]!),
  )
  return encodePng({ width, height, palette, row: (y) => rows[Math.floor((y * TILES) / height)]! })
}
