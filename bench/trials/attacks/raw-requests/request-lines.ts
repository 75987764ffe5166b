/** The request line: RFC 9112 sections 2.3, 3 and 3.2. */
import { BEHIND, BODY, get, LENGTH, message, type RawRequest, READ, REFUSED, rows } from './raw-request.js'

const HOST = 'Host: raw.example'
const TARGET = '/api/v1/items'

const started = (start: string): string => message(start, [HOST])
const starts = (table: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(table).map(([name, start]) => [name, started(start)]))
const versions = (table: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  starts(
    Object.fromEntries(Object.entries(table).map(([name, version]) => [name, `GET ${TARGET} ${version}`])),
  )

export const REQUEST_LINES: readonly RawRequest[] = [
  ...rows(
    'method',
    REFUSED,
    starts({
      empty: ` ${TARGET} HTTP/1.1`,
      'a NUL inside': `G\0T ${TARGET} HTTP/1.1`,
      'a byte of 0x80 and above inside': `G\xc9T ${TARGET} HTTP/1.1`,
      'a tab behind': `GET\t${TARGET} HTTP/1.1`,
      'two blanks behind': `GET  ${TARGET} HTTP/1.1`,
      'a blank in front': ` GET ${TARGET} HTTP/1.1`,
      'a colon inside': `GE:T ${TARGET} HTTP/1.1`,
      'a quote inside': `GE"T ${TARGET} HTTP/1.1`,
      'a brace inside': `GE{T ${TARGET} HTTP/1.1`,
      'a parenthesis inside': `GE(T ${TARGET} HTTP/1.1`,
      'a slash inside': `GE/T ${TARGET} HTTP/1.1`,
    }),
  ),
  ...rows(
    'method',
    { right: 'served', status: 405 },
    starts({
      unknown: `FOO ${TARGET} HTTP/1.1`,
      'small letters': `get ${TARGET} HTTP/1.1`,
      'mixed letters': `Get ${TARGET} HTTP/1.1`,
      'a prefix of one': `GE ${TARGET} HTTP/1.1`,
      'one and more': `GETX ${TARGET} HTTP/1.1`,
      TRACE: `TRACE ${TARGET} HTTP/1.1`,
      PROPFIND: `PROPFIND ${TARGET} HTTP/1.1`,
      'the preface of version 2, half of it': `PRI ${TARGET} HTTP/1.1`,
      'every byte that one may hold': `!#$%&'*+.^_|~09aZ ${TARGET} HTTP/1.1`,
      'a thousand letters': `${'A'.repeat(1_000)} ${TARGET} HTTP/1.1`,
    }),
  ),
  ...rows(
    'method',
    { right: 'either', status: 400 },
    starts({
      'CONNECT with an authority': 'CONNECT raw.example:443 HTTP/1.1',
      'CONNECT with a path': `CONNECT ${TARGET} HTTP/1.1`,
    }),
  ),
  ...rows(
    'version',
    { ...REFUSED, status: 505 },
    versions({
      none: '',
      '2.0': 'HTTP/2.0',
      '1.2': 'HTTP/1.2',
      '3': 'HTTP/3',
      '0.9': 'HTTP/0.9',
      '1.10': 'HTTP/1.10',
      '1.1 with a zero in front': 'HTTP/01.1',
      '1': 'HTTP/1',
      '1.': 'HTTP/1.',
      'a comma': 'HTTP/1,1',
      'small letters': 'http/1.1',
      'mixed letters': 'Http/1.1',
      'another protocol': 'ICY/1.1',
      'a blank behind': 'HTTP/1.1 ',
      'a tab behind': 'HTTP/1.1\t',
      'a blank in front': ' HTTP/1.1',
      'a blank inside': 'HTTP/ 1.1',
      'something behind': 'HTTP/1.1x',
      'another word behind': 'HTTP/1.1 HTTP/1.1',
      'a NUL behind': 'HTTP/1.1\0',
      'letters for digits': 'HTTP/a.b',
      'a byte of 0x80 and above': 'HTTP/1.\xb1',
    }),
  ),
  ...rows(
    'version',
    { ...REFUSED, status: 505 },
    {
      'nothing but a target': `GET ${TARGET}\r\n\r\n`,
      'the preface of version 2': 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
      'no request at all': '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n',
      'a line of garbage': 'hello\r\n\r\n',
      'a JSON text': '{"a":1}\r\n\r\n',
      'an answer': 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n',
    },
  ),
  ...rows(
    'version',
    { right: 'either', status: 200, last: true },
    {
      '1.0': `GET ${TARGET} HTTP/1.0\r\n${HOST}\r\n\r\n`,
      '1.0 without a host': `GET ${TARGET} HTTP/1.0\r\n\r\n`,
      '1.0 that wants to stay': `GET ${TARGET} HTTP/1.0\r\n${HOST}\r\nConnection: keep-alive\r\n\r\n`,
    },
  ),
  ...rows('version', REFUSED, {
    '1.0 with chunks': `POST ${TARGET} HTTP/1.0\r\n${HOST}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${BEHIND}`,
  }),
  ...rows(
    'target',
    REFUSED,
    starts({
      'a word': 'GET items HTTP/1.1',
      'two words': `GET ${TARGET} ${TARGET} HTTP/1.1`,
      'a fragment alone': 'GET #a HTTP/1.1',
      'a query alone': 'GET ?a HTTP/1.1',
      'a backslash': 'GET \\api HTTP/1.1',
      'a NUL inside': `GET ${TARGET}\0 HTTP/1.1`,
      'a tab inside': `GET ${TARGET}\t?a HTTP/1.1`,
      'a bare line feed inside': `GET ${TARGET}\n HTTP/1.1`,
      'a bare carriage return inside': `GET ${TARGET}\r HTTP/1.1`,
      'a vertical tab inside': `GET ${TARGET}\x0b HTTP/1.1`,
      'the asterisk on a GET': 'GET * HTTP/1.1',
      'an authority on a GET': 'GET raw.example:80 HTTP/1.1',
    }),
  ),
  ...rows(
    'target',
    READ,
    starts({
      plain: `GET ${TARGET} HTTP/1.1`,
      'a query': `GET ${TARGET}?limit=1 HTTP/1.1`,
      'an empty query': `GET ${TARGET}? HTTP/1.1`,
      'two question marks': `GET ${TARGET}?a=?b HTTP/1.1`,
      'a query that looks like a request': `GET ${TARGET}?a=%0d%0aPOST%20/api/v1/items HTTP/1.1`,
      'two thousand bytes of query': `GET ${TARGET}?a=${'b'.repeat(2_000)} HTTP/1.1`,
    }),
  ),
  ...rows(
    'target',
    { right: 'either', status: 404 },
    starts({
      'a double slash': `GET /${TARGET} HTTP/1.1`,
      'dots that climb': `GET /api/v1/../../etc/passwd HTTP/1.1`,
      'dots that are encoded': `GET /api/v1/%2e%2e/%2e%2e/etc/passwd HTTP/1.1`,
      'an encoded NUL': `GET /api/v1/it%00ems HTTP/1.1`,
      'an encoded slash': `GET /api%2fv1%2fitems HTTP/1.1`,
      'an encoded line end': `GET /api/v1/a%0d%0aX:%20b HTTP/1.1`,
      'a broken encoding': `GET /api/v1/%zz HTTP/1.1`,
      'a semicolon': `GET ${TARGET};a=b HTTP/1.1`,
      'a fragment': `GET ${TARGET}#a HTTP/1.1`,
      'a byte of 0x80 and above': `GET /api/v1/it\xe9ms HTTP/1.1`,
    }),
  ),
  ...rows(
    'target',
    { right: 'either', status: 200 },
    starts({
      absolute: `GET http://raw.example${TARGET} HTTP/1.1`,
      'absolute with another host': `GET http://other.example${TARGET} HTTP/1.1`,
      'absolute in capitals': `GET HTTP://RAW.EXAMPLE${TARGET} HTTP/1.1`,
      'absolute with a port': `GET http://raw.example:80${TARGET} HTTP/1.1`,
      'the asterisk on OPTIONS': 'OPTIONS * HTTP/1.1',
    }),
  ),
  ...rows(
    'target',
    { ...REFUSED, status: 431 },
    starts({
      'seventeen thousand bytes': `GET ${TARGET}?a=${'b'.repeat(17_000)} HTTP/1.1`,
    }),
  ),
  ...rows('method', { ...READ, head: true }, { HEAD: started(`HEAD ${TARGET} HTTP/1.1`) }),
  ...rows(
    'method',
    { right: 'served', status: 405 },
    {
      'PATCH with a body': message(`PATCH ${TARGET} HTTP/1.1`, [HOST, LENGTH], BODY),
      'an unknown one with a body': message(`FOO ${TARGET} HTTP/1.1`, [HOST, LENGTH], BODY),
    },
  ),
  ...rows('method', READ, { 'GET, all as it should be': get(['Accept: */*', 'User-Agent: raw']) }),
]
