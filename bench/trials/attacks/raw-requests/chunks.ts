/** The grammar of chunks: RFC 9112 section 7.1. */
import {
  BEHIND,
  BODY,
  CHUNKED,
  CHUNKS,
  CREATED_LAST,
  chunk,
  LAST_CHUNK,
  post,
  type RawRequest,
  REFUSED,
  REFUSED_BUT_FRAMED,
  rows,
} from './raw-request.js'

const SIZE = BODY.length.toString(16)

const inChunks = (body: string): string => post([CHUNKED], body)
const bodies = (table: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(table).map(([name, body]) => [name, inChunks(body)]))

/** The right body under a size line of this kind. */
const sized = (line: string, end = '\r\n'): string => `${line}${end}${BODY}\r\n${LAST_CHUNK}`

function pieces(...sizes: number[]): string {
  let at = 0
  const parts = sizes.map((size) => {
    const piece = BODY.slice(at, at + size)
    at += size
    return chunk(piece)
  })
  return `${parts.join('')}${at < BODY.length ? chunk(BODY.slice(at)) : ''}${LAST_CHUNK}`
}

export const CHUNK_GRAMMAR: readonly RawRequest[] = [
  ...rows(
    'chunks',
    CREATED_LAST,
    bodies({
      'one chunk': CHUNKS,
      'two chunks': pieces(10),
      'a chunk for every byte': pieces(...Array<number>(BODY.length).fill(1)),
      'a size in capitals': sized(SIZE.toUpperCase()),
      'a size with leading zeros': sized(`000${SIZE}`),
      'a last chunk of several zeros': `${chunk(BODY)}000\r\n\r\n`,
    }),
  ),
  ...rows(
    'chunks',
    { right: 'served', status: 422, last: true },
    bodies({
      'no body at all': LAST_CHUNK,
      'a text that is no JSON': `${chunk('abc')}${LAST_CHUNK}`,
    }),
  ),
  ...rows(
    'chunks',
    { ...REFUSED_BUT_FRAMED, status: 413 },
    bodies({
      'one chunk over the limit': `${chunk('x'.repeat(70_000))}${LAST_CHUNK}`,
      'many chunks over the limit': `${chunk('x'.repeat(1_000)).repeat(70)}${LAST_CHUNK}`,
      'a huge chunk that has only begun': `fffffff\r\n${'x'.repeat(70_000)}`,
    }),
  ),
  ...rows(
    'chunk-extension',
    CREATED_LAST,
    bodies({
      'a name': sized(`${SIZE};a`),
      'a name and a value': sized(`${SIZE};a=b`),
      'a quoted value': sized(`${SIZE};a="b c"`),
      'several of them': sized(`${SIZE};a=b;c=d`),
      'white space around it': sized(`${SIZE} ; a = b`),
      'on the last chunk': `${chunk(BODY)}0;a=b\r\n\r\n`,
      'a single letter on the last chunk': `${chunk(BODY)}0;a\r\n\r\n`,
      'quoted, with a line end that is none': sized(`${SIZE};a="\\r\\n"`),
    }),
  ),
  ...rows(
    'chunk-extension',
    REFUSED,
    bodies({
      'a bare line feed inside': `${SIZE};a\n${BODY}\r\n${LAST_CHUNK}`,
      'a bare carriage return inside': `${SIZE};a\rb\r\n${BODY}\r\n${LAST_CHUNK}`,
      'a NUL inside': sized(`${SIZE};a\0b`),
      'a hidden request inside': `${SIZE};${BEHIND}\r\n${BODY}\r\n${LAST_CHUNK}`,
      'twenty thousand bytes': sized(`${SIZE};${'a'.repeat(20_000)}`),
    }),
  ),
  ...rows(
    'chunk-trailer',
    CREATED_LAST,
    bodies({
      'one field': `${chunk(BODY)}0\r\nX-Sum: 1\r\n\r\n`,
      'two fields': `${chunk(BODY)}0\r\nX-Sum: 1\r\nX-More: 2\r\n\r\n`,
      'an empty value': `${chunk(BODY)}0\r\nX-Sum:\r\n\r\n`,
    }),
  ),
  ...rows(
    'chunk-trailer',
    REFUSED,
    bodies({
      'no field': `${chunk(BODY)}0\r\nnonsense\r\n\r\n`,
      'a bare line feed': `${chunk(BODY)}0\r\nX-Sum: 1\n\r\n`,
      'white space in front of a colon': `${chunk(BODY)}0\r\nX-Sum : 1\r\n\r\n`,
      'a request line': `${chunk(BODY)}0\r\n${BEHIND}`,
    }),
  ),
  ...rows(
    'chunk-size',
    REFUSED,
    bodies({
      empty: `\r\n${BODY}\r\n${LAST_CHUNK}`,
      'empty, and a request follows': `\r\n\r\n${BEHIND}`,
      'empty behind a chunk': `${chunk(BODY)}\r\n${LAST_CHUNK}`,
      'a letter behind f': `g\r\n${'x'.repeat(16)}\r\n${LAST_CHUNK}`,
      'hexadecimal with a prefix': sized(`0x${SIZE}`),
      'a plus': sized(`+${SIZE}`),
      'a minus': sized(`-${SIZE}`),
      'a minus one': `-1\r\n${BODY}\r\n${LAST_CHUNK}`,
      'a blank in front': sized(` ${SIZE}`),
      'a blank behind': sized(`${SIZE} `),
      'a tab behind': sized(`${SIZE}\t`),
      'a tab in front': sized(`\t${SIZE}`),
      'a blank inside': sized('1 c'),
      'an underscore inside': sized('1_c'),
      'a comma': sized(`${SIZE},${SIZE}`),
      'a dot': sized(`${SIZE}.0`),
      'an h behind': sized(`${SIZE}h`),
      quoted: sized(`"${SIZE}"`),
      'nothing but a semicolon': sized(';'),
      'a semicolon in front': sized(`;${SIZE}`),
      'a NUL behind': sized(`${SIZE}\0`),
      'a byte of 0x80 and above in front': sized(`\xff${SIZE}`),
      'a byte of 0x80 and above behind': sized(`${SIZE}\xff`),
      'a bare line feed': sized(SIZE, '\n'),
      'a bare carriage return': sized(SIZE, '\r'),
      'two carriage returns': sized(SIZE, '\r\r\n'),
      'line feed and carriage return': sized(SIZE, '\n\r'),
      'sixteen digits': sized(`f${'0'.repeat(15)}`),
      'a wrap of 64 bits': sized(`1${SIZE.padStart(16, '0')}`),
      'a wrap of 32 bits': sized(`1${SIZE.padStart(8, '0')}`),
      'a hundred zeros in front of too much': sized(`${'0'.repeat(100)}ffffffff${SIZE}`),
      'a colon': sized(`${SIZE}:`),
      'an at sign': sized(`${SIZE}@`),
      'a question mark, which follows nine': sized('?'),
      'an equals sign': sized('='),
      'a backquote': sized('`'),
    }),
  ),
  ...rows(
    'chunk-end',
    REFUSED,
    bodies({
      'two other bytes': `${SIZE}\r\n${BODY}XX${LAST_CHUNK}`,
      'nothing at all': `${SIZE}\r\n${BODY}${LAST_CHUNK}`,
      'a line feed alone': `${SIZE}\r\n${BODY}\n${LAST_CHUNK}`,
      'a carriage return alone': `${SIZE}\r\n${BODY}\r${LAST_CHUNK}`,
      'two blanks': `${SIZE}\r\n${BODY}  ${LAST_CHUNK}`,
      'a chunk that is longer than it says': `5\r\n${BODY}\r\n${LAST_CHUNK}`,
      'a chunk that is longer by a byte': `${(BODY.length - 1).toString(16)}\r\n${BODY}\r\n${LAST_CHUNK}`,
      'a chunk that is shorter by a byte': `${(BODY.length + 1).toString(16)}\r\n${BODY}\r\n${LAST_CHUNK}`,
      'a last chunk with other bytes behind': `${chunk(BODY)}0\r\nXX`,
      'a last chunk with a line feed behind': `${chunk(BODY)}0\r\n\n`,
      'a last chunk of line feeds': `${chunk(BODY)}0\n\n`,
      'a last chunk with a request right behind': `${chunk(BODY)}0\r\n${BEHIND}`,
      'no chunks but JSON': BODY,
      'no chunks but a request': BEHIND,
    }),
  ),
]
