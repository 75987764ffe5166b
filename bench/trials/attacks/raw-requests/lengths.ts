/** Content-Length: RFC 9112 sections 6.2 and 6.3, RFC 9110 section 8.6. */
import {
  BEHIND,
  BODY,
  CREATED,
  get,
  LENGTH,
  message,
  post,
  type RawRequest,
  READ,
  REFUSED,
  REFUSED_BUT_FRAMED,
  rows,
} from './raw-request.js'

const N = BODY.length

/** Values that are no length. */
const NO_LENGTHS: Readonly<Record<string, string>> = {
  empty: '',
  letters: 'abc',
  negative: `-${N}`,
  'with a plus': `+${N}`,
  hexadecimal: `0x${N.toString(16)}`,
  'a fraction': `${N}.0`,
  'an exponent': `${N}e0`,
  octal: `0o${N.toString(8)}`,
  underscored: `${N}_`,
  'a list of equals': `${N}, ${N}`,
  'a list of equals without a blank': `${N},${N}`,
  'a list of two': `${N}, ${N + 1}`,
  'a list with nothing in it': `,${N}`,
  'a list that ends in nothing': `${N},`,
  'inner white space': `${N} ${N}`,
  'an inner tab': `${N}\t0`,
  quoted: `"${N}"`,
  'a suffix': `${N}b`,
  'a semicolon': `${N};`,
  'a parameter': `${N};a=b`,
  'a comment': `${N} (c)`,
  'a byte of 0x80 and above inside': `${N}\xff0`,
  'sixteen digits': String(N).padStart(16, '0'),
  'twenty digits': '18446744073709551616',
  'twenty-five digits': '1'.repeat(25),
  'the greatest of 64 bits': '18446744073709551615',
  'the greatest of 63 bits': '9223372036854775807',
  'a wrap to the right length': String(2n ** 64n + BigInt(N)),
  'a wrap of 32 bits': String(2 ** 32 + N).padStart(16, '0'),
  infinite: 'Infinity',
  'not a number': 'NaN',
  minus: '-0',
}

/** Of two fields, however equal: `Content-Length` is a singleton. */
const PAIRS: readonly (readonly [string, string])[] = [
  [String(N), String(N)],
  [String(N), String(N + 1)],
  [String(N + 1), String(N)],
  [String(N), '0'],
  ['0', String(N)],
  [String(N), 'abc'],
  ['abc', String(N)],
  [String(N), ''],
  ['', String(N)],
  [String(N), `0${N}`],
]

const HIDDEN = BEHIND.length

export const LENGTHS: readonly RawRequest[] = [
  ...rows(
    'length',
    REFUSED,
    Object.fromEntries(
      Object.entries(NO_LENGTHS).map(([name, value]) => [name, post([`Content-Length: ${value}`])]),
    ),
  ),
  ...rows(
    'length-of-a-get',
    REFUSED,
    Object.fromEntries(
      ['empty', 'letters', 'negative', 'a list of equals', 'sixteen digits'].map((name) => [
        name,
        get([`Content-Length: ${NO_LENGTHS[name]}`]),
      ]),
    ),
  ),
  ...rows(
    'two-lengths',
    REFUSED,
    Object.fromEntries(
      PAIRS.map(([one, two]) => [
        `"${one}" and "${two}"`,
        post([`Content-Length: ${one}`, `Content-Length: ${two}`]),
      ]),
    ),
  ),
  ...rows('two-lengths', REFUSED, {
    'in other letters': post([LENGTH, `CONTENT-LENGTH: ${N}`]),
    'with a field between': post([LENGTH, 'X-Between: a', `content-length: ${N}`]),
    'three of them': post([LENGTH, LENGTH, LENGTH]),
    'the shorter hides a request': message(
      'POST /api/v1/items HTTP/1.1',
      ['Host: raw.example', `Content-Length: 0`, `Content-Length: ${HIDDEN}`],
      BEHIND,
    ),
    'the longer comes first': message(
      'POST /api/v1/items HTTP/1.1',
      ['Host: raw.example', `Content-Length: ${HIDDEN}`, `Content-Length: 0`],
      BEHIND,
    ),
    'of a GET': get(['Content-Length: 0', 'Content-Length: 0']),
    'of a DELETE': message('DELETE /api/v1/items/1 HTTP/1.1', [
      'Host: raw.example',
      'Content-Length: 0',
      'Content-Length: 5',
    ]),
  }),
  ...rows('length', CREATED, {
    right: post([LENGTH]),
    'in capitals': post([`CONTENT-LENGTH: ${N}`]),
    'in small letters': post([`content-length: ${N}`]),
    'without a blank': post([`Content-Length:${N}`]),
    'with blanks around': post([`Content-Length:   ${N}  `]),
    'with tabs around': post([`Content-Length:\t${N}\t`]),
    'leading zeros': post([`Content-Length: 000${N}`]),
    'fifteen digits': post([`Content-Length: ${String(N).padStart(15, '0')}`]),
    'the last field': post(['X-One: a', 'X-Two: b', LENGTH]),
    'beside names that begin as it does': post([
      LENGTH,
      'Content-Length2: 9',
      'Content-Lengt: 9',
      'X-Content-Length: 9',
    ]),
    'beside a name with an underscore': post([LENGTH, 'Content_Length: 9']),
  }),
  ...rows('length', READ, {
    'zero on a GET': get(['Content-Length: 0']),
    'a body on a GET': get(['Content-Length: 5'], 'hello'),
    'a body on a GET that looks like a request': get([`Content-Length: ${HIDDEN}`], BEHIND),
  }),
  ...rows(
    'length',
    { right: 'served', status: 422 },
    {
      'none on a POST': post([], ''),
      'zero on a POST': post(['Content-Length: 0'], ''),
      'shorter than the text': post(['Content-Length: 5'], BODY.slice(0, 5)),
    },
  ),
  ...rows(
    'length',
    { ...REFUSED_BUT_FRAMED, status: 413 },
    {
      'over the limit': post([`Content-Length: ${70_000}`], BODY.padEnd(70_000)),
      'over the limit and all of it behind': post([`Content-Length: ${70_000}`], BEHIND.padEnd(70_000)),
      'fifteen nines': post(['Content-Length: 999999999999999']),
    },
  ),
]
