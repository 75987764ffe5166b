/** What ends a connection and what keeps it: RFC 9112 section 9, RFC 9110 sections 7.6.1, 7.8 and 10.1.1. */
import {
  BODY,
  CHUNKED,
  CHUNKS,
  CREATED,
  CREATED_LAST,
  chunk,
  get,
  LENGTH,
  message,
  post,
  type RawRequest,
  READ,
  REFUSED_BUT_FRAMED,
  rows,
} from './raw-request.js'

const HOST = 'Host: raw.example'

/** Spellings of a wish to close. */
const CLOSES: Readonly<Record<string, readonly string[]>> = {
  'the word': ['Connection: close'],
  'in capitals': ['Connection: CLOSE'],
  'in mixed letters': ['connection: Close'],
  'with blanks around': ['Connection:  close  '],
  'first of a list': ['Connection: close, TE'],
  'last of a list': ['Connection: TE, close'],
  'last of a list without a blank': ['Connection: TE,close'],
  'beside keep-alive': ['Connection: keep-alive, close'],
  'in a list with nothing': ['Connection: , close,'],
  'in the second field': ['Connection: keep-alive', 'Connection: close'],
  'in the first field': ['Connection: close', 'Connection: keep-alive'],
  'with tabs around': ['Connection:\tclose\t'],
}

const LATE = message('GET /api/v1/report?items=1 HTTP/1.1', [HOST, 'Connection: close'])

export const CONNECTIONS: readonly RawRequest[] = [
  ...rows(
    'close',
    { ...READ, last: true },
    Object.fromEntries(Object.entries(CLOSES).map(([name, fields]) => [name, get(fields)])),
  ),
  ...rows('close', CREATED_LAST, {
    'on a POST': post([LENGTH, 'Connection: close']),
    'in a list on a POST': post([LENGTH, 'Connection: TE, close']),
    'on a POST in chunks': post([CHUNKED, 'Connection: close'], CHUNKS),
    'in a list on a POST in chunks': post([CHUNKED, 'Connection: TE, close'], CHUNKS),
    'keep-alive on a POST in chunks': post([CHUNKED, 'Connection: keep-alive'], CHUNKS),
  }),
  ...rows(
    'close',
    { right: 'served', status: 404, last: true },
    {
      'on an unknown path': message('GET /nowhere HTTP/1.1', [HOST, 'Connection: close']),
      'on an unknown item': message('GET /api/v1/items/987654321 HTTP/1.1', [HOST, 'Connection: close']),
    },
  ),
  ...rows(
    'close',
    { right: 'served', status: 405, last: true },
    {
      'on a method that is not there': message('PATCH /api/v1/items HTTP/1.1', [HOST, 'Connection: close']),
    },
  ),
  ...rows(
    'close',
    { ...READ, last: true },
    {
      'on an answer that comes late': LATE,
      'on a file that is kept': message('GET /docs HTTP/1.1', [HOST, 'Connection: close']),
      'in a list on a file that is kept': message('GET /docs HTTP/1.1', [HOST, 'Connection: TE, close']),
    },
  ),
  ...rows(
    'close',
    { ...READ, last: true, head: true },
    {
      'on a HEAD': message('HEAD /api/v1/items HTTP/1.1', [HOST, 'Connection: close']),
      'in a list on a HEAD': message('HEAD /api/v1/items HTTP/1.1', [HOST, 'Connection: TE, close']),
    },
  ),
  ...rows('stays', READ, {
    'keep-alive': get(['Connection: keep-alive']),
    'an unknown word': get(['Connection: x-one']),
    'a word that begins with close': get(['Connection: closed']),
    'a word that ends with close': get(['Connection: disclose']),
    'close in another field': get(['X-Connection: close', 'Proxy-Connection: close']),
    'a Keep-Alive': get(['Keep-Alive: timeout=1, max=1']),
    'a field that names the length': get(['Connection: content-length', 'Content-Length: 0']),
    'a field that names the host': get(['Connection: host']),
  }),
  ...rows('stays', CREATED, {
    'a field that names the length, and a body': post([LENGTH, 'Connection: content-length']),
  }),
  ...rows('expect', READ, {
    'on a GET': get(['Expect: 100-continue']),
    'an unknown one': get(['Expect: the-unexpected']),
  }),
  ...rows('expect', CREATED, {
    'with its body': post([LENGTH, 'Expect: 100-continue']),
    'in capitals': post([LENGTH, 'Expect: 100-CONTINUE']),
  }),
  ...rows('expect', CREATED_LAST, {
    'in chunks': post([CHUNKED, 'Expect: 100-continue'], CHUNKS),
  }),
  ...rows(
    'expect',
    { ...REFUSED_BUT_FRAMED, status: 413 },
    {
      'of too much': post(['Content-Length: 70000', 'Expect: 100-continue'], BODY.padEnd(70_000)),
    },
  ),
  ...rows('upgrade', READ, {
    'to version 2': get([
      'Connection: Upgrade, HTTP2-Settings',
      'Upgrade: h2c',
      'HTTP2-Settings: AAMAAABkAAQAAP__',
    ]),
    'to a socket': get([
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
      'Sec-WebSocket-Version: 13',
    ]),
    'to nothing known': get(['Connection: Upgrade', 'Upgrade: foo/2']),
    'without a Connection': get(['Upgrade: h2c']),
  }),
  ...rows(
    'body-of',
    { ...READ, head: true, last: true },
    {
      'a HEAD in chunks': message(
        'HEAD /api/v1/items HTTP/1.1',
        [HOST, CHUNKED],
        `${chunk('hello')}0\r\n\r\n`,
      ),
    },
  ),
  ...rows(
    'body-of',
    { ...READ, head: true },
    {
      'a HEAD': message('HEAD /api/v1/items HTTP/1.1', [HOST, 'Content-Length: 5'], 'hello'),
    },
  ),
  ...rows(
    'body-of',
    { right: 'served', status: 404 },
    {
      'a DELETE': message('DELETE /api/v1/items/987654321 HTTP/1.1', [HOST, 'Content-Length: 5'], 'hello'),
      'an unknown path': message('POST /nowhere HTTP/1.1', [HOST, 'Content-Length: 5'], 'hello'),
    },
  ),
  ...rows(
    'body-of',
    { right: 'served', status: 404, last: true },
    {
      'a DELETE in chunks': message('DELETE /api/v1/items/987654321 HTTP/1.1', [HOST, CHUNKED], CHUNKS),
      'an unknown path in chunks': message('POST /nowhere HTTP/1.1', [HOST, CHUNKED], CHUNKS),
    },
  ),
]
