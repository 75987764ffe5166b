/** Transfer-Encoding, alone and beside a length: RFC 9112 sections 6.1 and 6.3. */
import {
  BEHIND,
  CHUNKED,
  CHUNKS,
  CREATED_LAST,
  chunk,
  get,
  LAST_CHUNK,
  LENGTH,
  message,
  post,
  type RawRequest,
  READ,
  REFUSED,
  rows,
} from './raw-request.js'

/** Values that are not `chunked` alone. */
const NOT_CHUNKED: Readonly<Record<string, string>> = {
  gzip: 'gzip',
  identity: 'identity',
  'gzip and chunked': 'gzip, chunked',
  'chunked and gzip': 'chunked, gzip',
  'chunked and identity': 'chunked, identity',
  'identity and chunked': 'identity, chunked',
  'chunked twice': 'chunked, chunked',
  'a list with nothing in it': ', chunked',
  'a list that ends in nothing': 'chunked,',
  'a parameter': 'chunked;q=1',
  'an empty parameter': 'chunked;',
  quoted: '"chunked"',
  prefixed: 'xchunked',
  suffixed: 'chunkedx',
  'cut short': 'chunke',
  underscored: 'chunked_',
  'a long s': 'chun\u00adked',
  'two words': 'chunked chunked',
  'a blank inside': 'chun ked',
  'a tab inside': 'chunked\tx',
  'a byte of 0x80 and above inside': 'chun\xffked',
  'a number': '1',
  star: '*',
  compress: 'compress',
  deflate: 'deflate',
  cow: 'cow',
  trailers: 'trailers',
}

function coded(...codings: string[]): string {
  return post(
    codings.map((coding) => `Transfer-Encoding: ${coding}`),
    CHUNKS,
  )
}

const each = (
  table: Readonly<Record<string, string>>,
  bytes: (value: string) => string,
): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(table).map(([name, value]) => [name, bytes(value)]))

/** The body ends at the first byte for who goes by the length, and behind the hidden request for who goes by chunks. */
const HIDDEN_CHUNK = `${chunk(BEHIND)}${LAST_CHUNK}`
/** The other way round: chunks end at once, and a request follows within the length. */
const HIDDEN_LENGTH = `${LAST_CHUNK}${BEHIND}`

const EITHER_FIELD = (length: string, coding: string): readonly (readonly [string, readonly string[]])[] => [
  ['length first', [length, coding]],
  ['coding first', [coding, length]],
]

const BOTH: Record<string, string> = {}
for (const [order, fields] of EITHER_FIELD(LENGTH, CHUNKED)) BOTH[`chunked, ${order}`] = post(fields, CHUNKS)
for (const [order, fields] of EITHER_FIELD('Content-Length: 0', CHUNKED)) {
  BOTH[`a length of nothing and chunks that hold a request, ${order}`] = post(fields, HIDDEN_CHUNK)
}
for (const [order, fields] of EITHER_FIELD(`Content-Length: ${HIDDEN_LENGTH.length}`, CHUNKED)) {
  BOTH[`no chunks and a length that holds a request, ${order}`] = post(fields, HIDDEN_LENGTH)
}
for (const [what, coding] of Object.entries({
  'an unknown coding': 'cow',
  identity: 'identity',
  'capital letters': 'CHUNKED',
  'a tab in front': '\tchunked',
  'a vertical tab in front': '\x0bchunked',
  'a byte of 0x80 and above in front': '\xffchunked',
  'a list': 'gzip, chunked',
  nothing: '',
  'chunked in quotes': '"chunked"',
})) {
  BOTH[`${what} and a length`] = post(
    [`Content-Length: ${HIDDEN_LENGTH.length}`, `Transfer-Encoding: ${coding}`],
    HIDDEN_LENGTH,
  )
}

export const CODINGS: readonly RawRequest[] = [
  ...rows(
    'coding',
    REFUSED,
    each(NOT_CHUNKED, (value) => coded(value)),
  ),
  ...rows('coding', REFUSED, {
    empty: coded(''),
    'blanks alone': coded('   '),
    'chunked in two fields': coded('chunked', 'chunked'),
    'gzip and chunked in two fields': coded('gzip', 'chunked'),
    'chunked and gzip in two fields': coded('chunked', 'gzip'),
    'chunked and identity in two fields': coded('chunked', 'identity'),
    'chunked and nothing in two fields': coded('chunked', ''),
    'nothing and chunked in two fields': coded('', 'chunked'),
    'two fields with one between': post([CHUNKED, 'X-Between: a', 'transfer-encoding: chunked'], CHUNKS),
    'not chunked on a GET': get(['Transfer-Encoding: gzip'], CHUNKS),
    'not chunked on a DELETE': message(
      'DELETE /api/v1/items/1 HTTP/1.1',
      ['Host: raw.example', 'Transfer-Encoding: identity'],
      BEHIND,
    ),
  }),
  ...rows('coding-and-length', REFUSED, BOTH),
  ...rows('coding', CREATED_LAST, {
    chunked: coded('chunked'),
    'in capitals': coded('CHUNKED'),
    'in mixed letters': coded('ChUnKeD'),
    'the name in capitals': post(['TRANSFER-ENCODING: chunked'], CHUNKS),
    'without a blank': post(['Transfer-Encoding:chunked'], CHUNKS),
    'with blanks around': coded('   chunked  '),
    'with tabs around': coded('\tchunked\t'),
    'beside names that look like it': post(
      [CHUNKED, 'Transfer_Encoding: gzip', 'Transfer-Encodin: gzip', 'X-Transfer-Encoding: gzip'],
      CHUNKS,
    ),
    'beside TE': post([CHUNKED, 'TE: trailers'], CHUNKS),
    'beside Trailer': post([CHUNKED, 'Trailer: X-Sum'], CHUNKS),
    'beside an Accept-Encoding': post([CHUNKED, 'Accept-Encoding: chunked'], CHUNKS),
  }),
  ...rows(
    'coding',
    { ...READ, last: true },
    {
      'chunked on a GET': get([CHUNKED], CHUNKS),
      'chunked and empty on a GET': get([CHUNKED], LAST_CHUNK),
      'chunked on a GET with a hidden request': get([CHUNKED], HIDDEN_CHUNK),
    },
  ),
]
