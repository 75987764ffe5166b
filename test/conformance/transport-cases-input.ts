/** Which route is called, and what it is shown. */
import { answered, type Case, filled, get, post } from './transport-case.js'
import { BODY_LIMIT } from './transport-routes.js'

const hex = (text: string | Uint8Array): string => Buffer.from(text).toString('hex')

const routing: Case[] = [
  answered('a fixed path answers', get('/ping'), 200, { body: 'pong', bytesIn: 0, bytesOut: 4 }),
  answered('a fixed segment comes before a parameter', get('/things/special'), 200, { body: 'special' }),
  answered('two parameters keep their order', get('/things/a/parts/b'), 200, {
    sees: { first: 'a', second: 'b' },
  }),
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
    ([url, name]): Case =>
      answered(name!, get(url!), 404, { body: '{}', headers: { 'content-type': 'application/json' } }),
  ),
  answered('the fallback takes every method', post('/nowhere', 'abc'), 404, { body: '{}', bytesIn: 3 }),
  ...['PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'BREW', 'get'].map(
    (method): Case =>
      answered(`the method ${method} goes to the * route of the path`, { method, url: '/seen' }, 405),
  ),
  answered(
    'a named method on a parameter comes before the * route of a fixed segment',
    get('/things/postbox'),
    200,
    { sees: { first: 'postbox' } },
  ),
  answered(
    'the * route of a path with a parameter takes the methods that are left',
    post('/things/7', 'abc'),
    405,
    { bytesIn: 3 },
  ),
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
  ([what, url, first]): Case =>
    answered(`a path parameter is decoded: ${what}`, get(url!), 200, { sees: { first } }),
)

const queries: Case[] = [
  ['none', '/seen', ''],
  ['an empty one', '/seen?', ''],
  ['two fields', '/seen?a=1&b=2', 'a=1&b=2'],
  ['escapes stay', '/seen?a=%20%C3%A9+b', 'a=%20%C3%A9+b'],
  ['a second question mark', '/seen?a?b', 'a?b'],
  ['a slash', '/seen?a/b', 'a/b'],
].map(
  ([what, url, query]): Case =>
    answered(`the query arrives as it was sent: ${what}`, get(url!), 200, { sees: { query } }),
)

const input: Case[] = [
  answered(
    'declared headers arrive whatever their case, the rest stays away',
    get('/seen', 'X-One: first', 'x-TWO:  padded\t', 'X-Undeclared: hidden'),
    200,
    { sees: { headers: ['first', 'padded', '', ''], undeclared: '' } },
  ),
  answered('absent headers are empty', get('/seen'), 200, { sees: { headers: ['', '', '', ''] } }),
  answered('of a repeated header the first line counts', get('/seen', 'X-One: first', 'X-One: second'), 200, {
    sees: { headers: ['first', '', '', ''] },
  }),
  answered('a route that asks for nothing is shown nothing', get('/blind?a=1', 'X-One: first'), 200, {
    sees: { query: '', headers: ['', '', '', ''], address: '', body: '', gone: false, fresh: true },
  }),
  answered('the address is that of the caller', get('/address'), 200, { sees: { address: '127.0.0.1' } }),
  answered('a body arrives as a whole', post('/seen', 'grün'), 200, {
    sees: { body: hex('grün') },
    bytesIn: 5,
  }),
  answered('a body is bytes, not text', post('/echo', Uint8Array.from([0, 255, 13, 10, 128])), 200, {
    body: Uint8Array.from([0, 255, 13, 10, 128]),
    bytesIn: 5,
    bytesOut: 5,
  }),
  answered('an empty body is an empty body', post('/seen', ''), 200, { sees: { body: '' }, bytesIn: 0 }),
  answered('a request without a length has an empty body', { method: 'POST', url: '/seen' }, 200, {
    sees: { body: '' },
    bytesIn: 0,
  }),
  answered('the body of a route that reads none is counted and thrown away', post('/unread', 'abc'), 200, {
    sees: { body: '' },
    bytesIn: 3,
  }),
  answered('a GET may have a body', { method: 'GET', url: '/seen', body: 'abc' }, 200, {
    sees: { body: '' },
    bytesIn: 3,
  }),
  answered('a DELETE may have a body', { method: 'DELETE', url: '/things/7', body: 'abc' }, 204, {
    headers: { 'content-length': null, 'content-type': null, 'transfer-encoding': null },
    body: '',
    bytesIn: 3,
  }),
  answered('a late answer sees the body as well', post('/late-echo', 'kept'), 200, {
    body: 'kept',
    bytesIn: 4,
  }),
]

const limits: Case[] = [
  answered('a body of exactly the limit is read', post('/echo', filled(BODY_LIMIT)), 200, {
    body: filled(BODY_LIMIT),
    bytesIn: BODY_LIMIT,
  }),
  answered('a body over the limit is 413 and closes', post('/echo', filled(BODY_LIMIT + 1)), 413, {
    body: '{"fault":"payload-too-large"}',
    close: true,
  }),
  answered(
    'a body over the limit is 413 where no body is read, too',
    { method: 'GET', url: '/ping', body: filled(BODY_LIMIT + 1) },
    413,
    { close: true },
  ),
  answered(
    'who renders a refusal sees the declared headers',
    post('/refuses', filled(BODY_LIMIT + 1), 'X-One: kept'),
    413,
    { body: '{"fault":"payload-too-large","one":"kept"}', close: true },
  ),
  answered('a refusal before the body keeps the connection', post('/full', 'abc'), 503, {
    body: '{"full":true}',
  }),
  ...[get('/full-late'), post('/full-late', 'abc')].map(
    (request): Case =>
      answered(
        `a ${request.method} that is refused after a wait is not answered by its route, and keeps the connection`,
        request,
        503,
        { body: '{"full":true}' },
      ),
  ),
  answered('a call without a body that is admitted after a wait is answered', get('/admitted-late'), 200, {
    sees: { body: '' },
  }),
  answered(
    'a body that came while the admission was waited for arrives as a whole',
    post('/admitted-late', filled(BODY_LIMIT)),
    200,
    { body: filled(BODY_LIMIT), bytesIn: BODY_LIMIT },
  ),
  answered(
    'a body that nobody reads is counted while the admission is waited for',
    post('/admitted-late/unread', 'abc'),
    200,
    { sees: { body: '' }, bytesIn: 3 },
  ),
  answered(
    'the limit is judged before an admission that waits',
    post('/full-late', filled(BODY_LIMIT + 1)),
    413,
    { close: true },
  ),
  answered('the limit is judged before the admission', post('/full', filled(BODY_LIMIT + 1)), 413, {
    close: true,
  }),
]

export const INPUT_CASES: readonly Case[] = [...routing, ...parameters, ...queries, ...input, ...limits]
