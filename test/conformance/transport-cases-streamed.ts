/** Bodies that come or go piece by piece. */
import { BIG_BYTES } from './transport-bytes.js'
import { type Case, filled, get, post } from './transport-case.js'
import { STREAMED_LIMIT } from './transport-streamed-routes.js'

const echoes: Case[] = ['', '/late', '/pauses'].flatMap((path): Case[] => [
  {
    name: `a body is read as a stream${path}: small`,
    request: post(`/streamed${path}`, 'grün'),
    status: 200,
    body: '5 grün',
    bytesIn: 5,
  },
  {
    name: `a body is read as a stream${path}: large`,
    request: post(`/streamed${path}`, BIG_BYTES),
    status: 200,
    body: Buffer.concat([Buffer.from(`${BIG_BYTES.byteLength} `), BIG_BYTES]),
    bytesIn: BIG_BYTES.byteLength,
  },
  {
    name: `a body is read as a stream${path}: empty`,
    request: post(`/streamed${path}`, ''),
    status: 200,
    body: '0 ',
    bytesIn: 0,
  },
  {
    name: `a body is read as a stream${path}: in chunks of unknown number`,
    request: { ...post(`/streamed${path}`, filled(5_000)), chunked: true },
    allowChunked: true,
    status: 200,
    body: `null ${filled(5_000)}`,
    bytesIn: 5_000,
  },
])

const refusals: Case[] = [
  {
    name: 'a stream of exactly the limit is read',
    request: post('/streamed', filled(STREAMED_LIMIT)),
    status: 200,
    body: `${STREAMED_LIMIT} ${filled(STREAMED_LIMIT)}`,
  },
  {
    name: 'a stream that declares more than the limit is 413 and closes',
    request: post('/streamed', filled(STREAMED_LIMIT + 1)),
    status: 413,
    sees: { fault: 'payload-too-large' },
    close: true,
  },
  {
    name: 'a stream in chunks that gets beyond the limit is 413 and closes',
    request: { ...post('/streamed', filled(STREAMED_LIMIT + 1)), chunked: true },
    allowChunked: true,
    status: 413,
    close: true,
  },
  ...['early', 'early-late'].map(
    (when): Case => ({
      name: `an answer before the body is complete closes: ${when}`,
      request: post(`/streamed/${when}`, BIG_BYTES),
      status: 400,
      sees: { fault: 'early' },
      close: true,
    }),
  ),
  {
    name: 'a stream that is not admitted is refused before it is read',
    request: post('/streamed/refused', 'abc'),
    status: 403,
    body: 'not you',
  },
  {
    name: 'a stream that is not admitted after a wait is refused, and a small one keeps the connection',
    request: post('/streamed/refused-late', 'abc'),
    status: 403,
    body: 'not you',
  },
  {
    name: 'a stream that is admitted after a wait is read from its first byte',
    request: post('/streamed/admitted-late', BIG_BYTES),
    status: 200,
    body: Buffer.concat([Buffer.from(`${BIG_BYTES.byteLength} `), BIG_BYTES]),
    bytesIn: BIG_BYTES.byteLength,
  },
]

const sized: Case[] = [
  ...['', '/late'].map(
    (path): Case => ({
      name: `a body of known size is sent piece by piece${path}`,
      request: get(`/sized${path}`),
      status: 200,
      headers: { 'content-length': String(BIG_BYTES.byteLength), 'transfer-encoding': null },
      body: BIG_BYTES,
      bytesOut: BIG_BYTES.byteLength,
    }),
  ),
  {
    name: 'a small body of known size keeps its status',
    request: get('/sized/small'),
    status: 206,
    body: 'five!',
    headers: { 'content-length': '5' },
    bytesOut: 5,
  },
  {
    name: 'HEAD of a body of known size knows it and opens nothing',
    request: { method: 'HEAD', url: '/sized' },
    status: 200,
    body: '',
    headers: { 'content-length': String(BIG_BYTES.byteLength) },
    bytesOut: 0,
  },
]

export const STREAMED_CASES: readonly Case[] = [...echoes, ...refusals, ...sized]
