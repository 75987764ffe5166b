/** The framing guard: contract/decisions 21, RFC 9112 sections 3.2, 6.1 and 6.3. */
import { chunked } from '../support/clients/raw-http.js'
import { answered, type Case, filled, get, post } from './transport-case.js'
import { BODY_LIMIT } from './transport-routes.js'

const refused = { status: 400, body: '{"fault":"bad-request"}', close: true } as const
const lengthRequired = { status: 411, body: '{"fault":"length-required"}', close: true } as const

const lengths: Case[] = [
  ...['abc', '', '-1', '+5', '0x5', '5.0', '1e1', '5, 5', '5,5', '5 5', '1'.repeat(16), '1'.repeat(25)].map(
    (value): Case => ({
      name: `Content-Length "${value}" is refused`,
      request: post('/echo', 'hello', [['Content-Length', value]]),
      ...refused,
    }),
  ),
  {
    name: 'a DELETE with a broken length is refused',
    request: { method: 'DELETE', url: '/things/7', headers: [['Content-Length', 'abc']] },
    ...refused,
  },
  {
    name: 'a GET with a broken length is refused',
    request: { method: 'GET', url: '/ping', headers: [['Content-Length', 'abc']] },
    ...refused,
  },
  ...[
    ['5', '5'],
    ['5', '6'],
    ['5', 'abc'],
  ].map(
    ([one, two]): Case => ({
      name: `Content-Length ${one} and ${two} is refused`,
      request: post('/echo', 'hello', [
        ['Content-Length', one!],
        ['Content-Length', two!],
      ]),
      ...refused,
    }),
  ),
  answered(
    'leading zeros do not change a length',
    post('/echo', 'hello', [['Content-Length', '0000005']]),
    200,
    { body: 'hello' },
  ),
]

const singletons: Case[] = [
  ...['Authorization', 'Content-Type', 'authorization'].map(
    (name): Case => ({
      name: `a repeated ${name} is refused`,
      request: get('/ping', [
        [name, 'a'],
        [name.toLowerCase(), 'a'],
      ]),
      ...refused,
    }),
  ),
  {
    name: 'a repeated Host is refused',
    request: {
      ...get('/ping', [
        ['Host', 'a'],
        ['host', 'a'],
      ]),
      host: null,
    },
    ...refused,
  },
  {
    name: 'a repeated Host is refused in front of a body',
    request: {
      ...post('/echo', 'hello', [
        ['Host', 'a'],
        ['Host', 'b'],
      ]),
      host: null,
    },
    ...refused,
  },
  ...['a b', 'a/b', 'user@a', 'a?b', 'a#b', 'a\\b', '<a>', 'a"'].map(
    (value): Case => ({
      name: `the Host ${value} is refused`,
      request: { ...get('/ping', [['Host', value]]), host: null },
      ...refused,
    }),
  ),
  ...['a', 'a.example:8080', '127.0.0.1', '[::1]:80', 'A-b_c~d', ''].map(
    (value): Case =>
      answered(`the Host "${value}" is accepted`, { ...get('/ping', [['Host', value]]), host: null }, 200),
  ),
  {
    name: 'a request without Host is refused',
    request: { ...get('/ping', [['Accept', '*/*']]), host: null },
    ...refused,
  },
  answered(
    'other headers may repeat',
    get('/ping', [
      ['Accept', 'a'],
      ['Accept', 'b'],
    ]),
    200,
  ),
]

const codings: Case[] = [
  ...['chunked', 'Chunked', 'gzip, chunked', 'identity'].map(
    (coding): Case => ({
      name: `Transfer-Encoding ${coding} is refused where no strict proxy is declared`,
      request: {
        method: 'POST',
        url: '/echo',
        headers: [['Transfer-Encoding', coding]],
        body: chunked('hello'),
      },
      ...lengthRequired,
    }),
  ),
  {
    name: 'a GET with Transfer-Encoding is refused',
    request: {
      method: 'GET',
      url: '/ping',
      headers: [['Transfer-Encoding', 'chunked']],
      body: chunked('hello'),
    },
    ...lengthRequired,
  },
  answered(
    'chunks arrive joined behind a strict proxy',
    { ...post('/echo', 'hello world'), chunked: true },
    200,
    { allowChunked: true, body: 'hello world', bytesIn: 11 },
  ),
  answered('a length is still fine behind a strict proxy', post('/echo', 'hello'), 200, {
    allowChunked: true,
    body: 'hello',
  }),
  answered('an empty chunked body is an empty body', { ...post('/seen', ''), chunked: true }, 200, {
    allowChunked: true,
    sees: { body: '' },
  }),
  answered(
    'chunks of exactly the limit are read',
    { ...post('/echo', filled(BODY_LIMIT)), chunked: true },
    200,
    { allowChunked: true, body: filled(BODY_LIMIT) },
  ),
  answered(
    'chunks over the limit are 413 and close',
    { ...post('/echo', filled(BODY_LIMIT + 1)), chunked: true },
    413,
    { allowChunked: true, close: true },
  ),
  ...[
    ['gzip, chunked', 'a second coding'],
    ['identity', 'an unknown coding'],
  ].map(
    ([coding, what]): Case => ({
      name: `${what} is refused behind a strict proxy, too`,
      request: {
        method: 'POST',
        url: '/echo',
        headers: [['Transfer-Encoding', coding!]],
        body: chunked('hello'),
      },
      allowChunked: true,
      ...refused,
    }),
  ),
  {
    name: 'a repeated Transfer-Encoding is refused behind a strict proxy, too',
    request: {
      method: 'POST',
      url: '/echo',
      headers: [
        ['Transfer-Encoding', 'chunked'],
        ['Transfer-Encoding', 'chunked'],
      ],
      body: chunked('hello'),
    },
    allowChunked: true,
    ...refused,
  },
  ...[true, undefined].flatMap((allowChunked) =>
    [
      [
        ['Transfer-Encoding', 'chunked'],
        ['Content-Length', '5'],
      ],
      [
        ['Content-Length', '5'],
        ['Transfer-Encoding', 'chunked'],
      ],
    ].map(
      (headers, i): Case => ({
        name: `Transfer-Encoding ${i === 0 ? 'before' : 'after'} Content-Length is refused${allowChunked ? ' behind a strict proxy, too' : ''}`,
        request: {
          method: 'POST',
          url: '/echo',
          headers: headers as unknown as [string, string][],
          body: chunked('hello'),
        },
        ...(allowChunked ? { allowChunked } : {}),
        ...refused,
      }),
    ),
  ),
]

export const FRAMING_CASES: readonly Case[] = [...lengths, ...singletons, ...codings]
