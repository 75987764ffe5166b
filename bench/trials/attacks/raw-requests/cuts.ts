/** Requests that come in two packets, cut at every byte where something ends or begins. */
import {
  BODY,
  CHUNKED,
  CHUNKS,
  CREATED,
  CREATED_LAST,
  chunk,
  get,
  LAST_CHUNK,
  LENGTH,
  post,
  type RawRequest,
  READ,
  REFUSED,
} from './raw-request.js'

type Rest = Omit<RawRequest, 'name' | 'bytes' | 'cuts'>

/** One row for each cut. */
function cutAt(group: string, rest: Rest, bytes: string, offsets: Iterable<number>): RawRequest[] {
  return [...new Set(offsets)].map((at) => ({ name: `${group}/at ${at}`, bytes, cuts: [at], ...rest }))
}

/** Offsets in front of and behind each of these texts, and in the middle of it. */
function* around(bytes: string, ...texts: readonly string[]): Generator<number> {
  for (const text of texts) {
    const at = bytes.indexOf(text)
    yield at
    yield at + 1
    yield at + Math.ceil(text.length / 2)
    yield at + text.length
  }
}

const READING = get(['Connection: keep-alive'])
const LINE = READING.indexOf('\r\n') + 2
const SIZED = post([LENGTH])
const SIZED_HEAD = SIZED.indexOf('\r\n\r\n') + 4
const IN_CHUNKS = post([CHUNKED], `${chunk(BODY.slice(0, 9))}${chunk(BODY.slice(9))}${LAST_CHUNK}`)
const CHUNKS_HEAD = IN_CHUNKS.indexOf('\r\n\r\n') + 4
const BOTH = post([LENGTH, CHUNKED], CHUNKS)
const TWO = post([LENGTH, LENGTH])

const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, i) => from + i)

export const CUTS: readonly RawRequest[] = [
  ...cutAt('cut-get', READ, READING, [
    ...range(1, LINE + 1),
    ...[...around(READING.slice(LINE), 'Host', ':', '\r\n')].map((at) => at + LINE),
    ...range(READING.length - 3, READING.length),
  ]),
  ...cutAt('cut-length', CREATED, SIZED, [
    ...around(SIZED, 'Content-Length', ': ', String(BODY.length)),
    ...range(SIZED_HEAD - 2, SIZED_HEAD + 2),
    SIZED.length - 1,
  ]),
  ...cutAt('cut-chunks', CREATED_LAST, IN_CHUNKS, [
    ...around(IN_CHUNKS, 'Transfer-Encoding', 'chunked'),
    ...range(CHUNKS_HEAD - 2, IN_CHUNKS.length),
  ]),
  ...cutAt(
    'cut-length-and-coding',
    REFUSED,
    BOTH,
    around(BOTH, 'Content-Length', 'Transfer-Encoding', 'chunked', '\r\n\r\n'),
  ),
  ...cutAt('cut-two-lengths', REFUSED, TWO, around(TWO, 'Content-Length', '\r\n\r\n')),
]
