/** Which route is called, and what it is shown. */
import { type Case, filled, get, post } from './transport-case.js'
import { BODY_LIMIT } from './transport-routes.js'

const hex = (text: string | Uint8Array): string => Buffer.from(text).toString('hex')

const routing: Case[] = [
  { name: 'a fixed path answers', request: get('/ping'), status: 200, body: 'pong', bytesIn: 0, bytesOut: 4 },
  {
    name: 'a fixed segment comes before a parameter',
    request: get('/things/special'),
    status: 200,
    body: 'special',
  },
  {
    name: 'two parameters keep their order',
    request: get('/things/a/parts/b'),
    status: 200,
    sees: { first: 'a', second: 'b' },
  },
  ...[
    ['/things/', 'an empty last segment is no parameter'],
    ['/things/?q', 'an empty last segment in front of a query is no parameter'],
    ['/things//parts/b', 'an empty segment in the middle is no parameter'],
    ['/things/7/', 'a slash after a parameter makes another path'],
    ['/ping/', 'a slash after a fixed path makes another path'],
    ['//ping', 'a doubled slash makes another path'],
    ['/things/7/8', 'a segment too many makes another path'],
    ['/Ping', 'paths are case-sensitive'],
    ['/%70ing', 'fixed segments are not percent-decoded'],
    ['/nowhere', 'a path without a route goes to the fallback'],
    ['/', 'the root goes to the fallback'],
  ].map(
    ([url, name]): Case => ({
      name: name!,
      request: get(url!),
      status: 404,
      body: '{}',
      headers: { 'content-type': 'application/json' },
    }),
  ),
  {
    name: 'the fallback takes every method',
    request: post('/nowhere', 'abc'),
    status: 404,
    body: '{}',
    bytesIn: 3,
  },
  ...['PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'BREW', 'get'].map(
    (method): Case => ({
      name: `the method ${method} goes to the * route of the path`,
      request: { method, url: '/seen' },
      status: 405,
    }),
  ),
  {
    name: 'a named method on a parameter comes before the * route of a fixed segment',
    request: get('/things/postbox'),
    status: 200,
    sees: { first: 'postbox' },
  },
  {
    name: 'the * route of a path with a parameter takes the methods that are left',
    request: post('/things/7', 'abc'),
    status: 405,
    bytesIn: 3,
  },
]

const parameters: Case[] = [
  ['plain text', '/things/abc', 'abc'],
  ['percent-encoded ASCII', '/things/%41%42', 'AB'],
  ['percent-encoded UTF-8', '/things/%C3%A9%e2%98%83', 'é☃'],
  ['an encoded slash', '/things/a%2Fb', 'a/b'],
  ['an encoded percent sign', '/things/100%25', '100%'],
  ['a plus sign as itself', '/things/a+b', 'a+b'],
  ['an encoded space', '/things/a%20b', 'a b'],
  ['broken encoding as it was sent', '/things/%zz', '%zz'],
  ['a cut escape as it was sent', '/things/a%4', 'a%4'],
  ['half a UTF-8 sequence as it was sent', '/things/%C3', '%C3'],
  ['an encoded line end', '/things/a%0d%0ab', 'a\r\nb'],
  ['dots as text', '/things/..', '..'],
].map(
  ([what, url, first]): Case => ({
    name: `a path parameter is decoded: ${what}`,
    request: get(url!),
    status: 200,
    sees: { first },
  }),
)

const queries: Case[] = [
  ['none', '/seen', ''],
  ['an empty one', '/seen?', ''],
  ['two fields', '/seen?a=1&b=2', 'a=1&b=2'],
  ['escapes stay', '/seen?a=%20%C3%A9+b', 'a=%20%C3%A9+b'],
  ['a second question mark', '/seen?a?b', 'a?b'],
  ['a slash', '/seen?a/b', 'a/b'],
].map(
  ([what, url, query]): Case => ({
    name: `the query arrives as it was sent: ${what}`,
    request: get(url!),
    status: 200,
    sees: { query },
  }),
)

const input: Case[] = [
  {
    name: 'declared headers arrive whatever their case, the rest stays away',
    request: get('/seen', [
      ['X-One', 'first'],
      ['x-TWO', ' padded\t'],
      ['X-Undeclared', 'hidden'],
    ]),
    status: 200,
    sees: { headers: ['first', 'padded', '', ''], undeclared: '' },
  },
  {
    name: 'absent headers are empty',
    request: get('/seen'),
    status: 200,
    sees: { headers: ['', '', '', ''] },
  },
  {
    name: 'of a repeated header the first line counts',
    request: get('/seen', [
      ['X-One', 'first'],
      ['X-One', 'second'],
    ]),
    status: 200,
    sees: { headers: ['first', '', '', ''] },
  },
  {
    name: 'a route that asks for nothing is shown nothing',
    request: get('/blind?a=1', [['X-One', 'first']]),
    status: 200,
    sees: { query: '', headers: ['', '', '', ''], address: '', body: '', gone: false, fresh: true },
  },
  {
    name: 'the address is that of the caller',
    request: get('/address'),
    status: 200,
    sees: { address: '127.0.0.1' },
  },
  {
    name: 'a body arrives as a whole',
    request: post('/seen', 'grün'),
    status: 200,
    sees: { body: hex('grün') },
    bytesIn: 5,
  },
  {
    name: 'a body is bytes, not text',
    request: post('/echo', Uint8Array.from([0, 255, 13, 10, 128])),
    status: 200,
    body: Uint8Array.from([0, 255, 13, 10, 128]),
    bytesIn: 5,
    bytesOut: 5,
  },
  {
    name: 'an empty body is an empty body',
    request: post('/seen', ''),
    status: 200,
    sees: { body: '' },
    bytesIn: 0,
  },
  {
    name: 'a request without a length has an empty body',
    request: { method: 'POST', url: '/seen' },
    status: 200,
    sees: { body: '' },
    bytesIn: 0,
  },
  {
    name: 'the body of a route that reads none is counted and thrown away',
    request: post('/unread', 'abc'),
    status: 200,
    sees: { body: '' },
    bytesIn: 3,
  },
  {
    name: 'a GET may have a body',
    request: { method: 'GET', url: '/seen', body: 'abc' },
    status: 200,
    sees: { body: '' },
    bytesIn: 3,
  },
  {
    name: 'a DELETE may have a body',
    request: { method: 'DELETE', url: '/things/7', body: 'abc' },
    status: 204,
    headers: { 'content-length': null, 'content-type': null, 'transfer-encoding': null },
    body: '',
    bytesIn: 3,
  },
  {
    name: 'a late answer sees the body as well',
    request: post('/late-echo', 'kept'),
    status: 200,
    body: 'kept',
    bytesIn: 4,
  },
]

const limits: Case[] = [
  {
    name: 'a body of exactly the limit is read',
    request: post('/echo', filled(BODY_LIMIT)),
    status: 200,
    body: filled(BODY_LIMIT),
    bytesIn: BODY_LIMIT,
  },
  {
    name: 'a body over the limit is 413 and closes',
    request: post('/echo', filled(BODY_LIMIT + 1)),
    status: 413,
    body: '{"fault":"payload-too-large"}',
    close: true,
  },
  {
    name: 'a body over the limit is 413 where no body is read, too',
    request: { method: 'GET', url: '/ping', body: filled(BODY_LIMIT + 1) },
    status: 413,
    close: true,
  },
  {
    name: 'who renders a refusal sees the declared headers',
    request: post('/refuses', filled(BODY_LIMIT + 1), [['X-One', 'kept']]),
    status: 413,
    body: '{"fault":"payload-too-large","one":"kept"}',
    close: true,
  },
  {
    name: 'a refusal before the body keeps the connection',
    request: post('/full', 'abc'),
    status: 503,
    body: '{"full":true}',
  },
  ...[get('/full-late'), post('/full-late', 'abc')].map(
    (request): Case => ({
      name: `a ${request.method} that is refused after a wait is not answered by its route, and keeps the connection`,
      request,
      status: 503,
      body: '{"full":true}',
    }),
  ),
  {
    name: 'a call without a body that is admitted after a wait is answered',
    request: get('/admitted-late'),
    status: 200,
    sees: { body: '' },
  },
  {
    name: 'a body that came while the admission was waited for arrives as a whole',
    request: post('/admitted-late', filled(BODY_LIMIT)),
    status: 200,
    body: filled(BODY_LIMIT),
    bytesIn: BODY_LIMIT,
  },
  {
    name: 'a body that nobody reads is counted while the admission is waited for',
    request: post('/admitted-late/unread', 'abc'),
    status: 200,
    sees: { body: '' },
    bytesIn: 3,
  },
  {
    name: 'the limit is judged before an admission that waits',
    request: post('/full-late', filled(BODY_LIMIT + 1)),
    status: 413,
    close: true,
  },
  {
    name: 'the limit is judged before the admission',
    request: post('/full', filled(BODY_LIMIT + 1)),
    status: 413,
    close: true,
  },
]

export const INPUT_CASES: readonly Case[] = [...routing, ...parameters, ...queries, ...input, ...limits]
