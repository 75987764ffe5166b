/** Bodies that come or go piece by piece. */
import { answered, BIG_BYTES, type Case, filled, get, head, post, postChunked } from './transport-case.js'
import { STREAMED_LIMIT } from './transport-streamed-routes.js'

const echoes: Case[] = ['', '/late', '/pauses'].flatMap((path): Case[] => [
  answered(`a body is read as a stream${path}: small`, post(`/streamed${path}`, 'grün'), 200, {
    body: '5 grün',
    bytesIn: 5,
  }),
  answered(`a body is read as a stream${path}: large`, post(`/streamed${path}`, BIG_BYTES), 200, {
    body: Buffer.concat([Buffer.from(`${BIG_BYTES.byteLength} `), BIG_BYTES]),
    bytesIn: BIG_BYTES.byteLength,
  }),
  answered(`a body is read as a stream${path}: empty`, post(`/streamed${path}`, ''), 200, {
    body: '0 ',
    bytesIn: 0,
  }),
  ...[{ close: true } as const, { strictProxy: true } as const].map(
    (how): Case =>
      answered(
        `a body is read as a stream${path}: in chunks of unknown number${'close' in how ? '' : ', behind a strict proxy'}`,
        postChunked(`/streamed${path}`, filled(5_000)),
        200,
        { ...how, body: `null ${filled(5_000)}`, bytesIn: 5_000 },
      ),
  ),
])

const refusals: Case[] = [
  answered('a stream of exactly the limit is read', post('/streamed', filled(STREAMED_LIMIT)), 200, {
    body: `${STREAMED_LIMIT} ${filled(STREAMED_LIMIT)}`,
  }),
  answered(
    'a stream that declares more than the limit is 413 and closes',
    post('/streamed', filled(STREAMED_LIMIT + 1)),
    413,
    { sees: { fault: 'payload-too-large' }, close: true },
  ),
  ...[{}, { strictProxy: true } as const].map(
    (how): Case =>
      answered(
        `a stream in chunks that gets beyond the limit is 413 and closes${'strictProxy' in how ? ', also behind a strict proxy' : ''}`,
        postChunked('/streamed', filled(STREAMED_LIMIT + 1)),
        413,
        { ...how, close: true },
      ),
  ),
  ...['early', 'early-late'].map(
    (when): Case =>
      answered(
        `an answer before the body is complete closes: ${when}`,
        post(`/streamed/${when}`, BIG_BYTES),
        400,
        { sees: { fault: 'early' }, close: true },
      ),
  ),
  answered(
    'a stream that is not admitted is refused before it is read',
    post('/streamed/refused', 'abc'),
    403,
    { body: 'not you' },
  ),
  answered(
    'a stream that is not admitted after a wait is refused, and a small one keeps the connection',
    post('/streamed/refused-late', 'abc'),
    403,
    { body: 'not you' },
  ),
  answered(
    'a stream that is admitted after a wait is read from its first byte',
    post('/streamed/admitted-late', BIG_BYTES),
    200,
    {
      body: Buffer.concat([Buffer.from(`${BIG_BYTES.byteLength} `), BIG_BYTES]),
      bytesIn: BIG_BYTES.byteLength,
    },
  ),
]

const sized: Case[] = [
  ...['', '/late'].map(
    (path): Case =>
      answered(`a body of known size is sent piece by piece${path}`, get(`/sized${path}`), 200, {
        headers: { 'content-length': String(BIG_BYTES.byteLength), 'transfer-encoding': null },
        body: BIG_BYTES,
        bytesOut: BIG_BYTES.byteLength,
      }),
  ),
  answered('a small body of known size keeps its status', get('/sized/small'), 206, {
    body: 'five!',
    headers: { 'content-length': '5' },
    bytesOut: 5,
  }),
  answered('HEAD of a body of known size knows it and opens nothing', head('/sized'), 200, {
    body: '',
    headers: { 'content-length': String(BIG_BYTES.byteLength) },
    bytesOut: 0,
  }),
]

export const STREAMED_CASES: readonly Case[] = [...echoes, ...refusals, ...sized]
