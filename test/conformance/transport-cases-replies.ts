/** How replies look on the wire: rules 4, 5 and 9 of the native edge. */
import { answered, BIG_BYTES, type Case, get, head } from './transport-case.js'
import { BIG_TEXT } from './transport-routes.js'

export const REPLY_CASES: readonly Case[] = [
  answered('HEAD answers as GET without a body, with its length', head('/ping'), 200, {
    headers: { 'content-length': '4', 'content-type': 'text/plain' },
    body: '',
    bytesOut: 0,
  }),
  answered('HEAD answers late as well', head('/late'), 200, { headers: { 'content-length': '4' }, body: '' }),
  answered('HEAD counts a large body without sending it', head('/big-bytes'), 200, {
    headers: { 'content-length': String(BIG_BYTES.byteLength) },
    body: '',
  }),
  answered('HEAD of a stream neither starts it nor knows its length', head('/stream/open'), 200, {
    headers: { 'content-length': null, 'content-type': 'text/event-stream' },
    body: '',
  }),
  answered('HEAD follows parameters', head('/things/7'), 200, { body: '' }),
  answered('HEAD where there is no GET goes to the * route', head('/nowhere'), 404, { body: '' }),
  answered('204 has neither body nor length', { method: 'DELETE', url: '/things/7' }, 204, {
    headers: { 'content-length': null, 'content-type': null, 'transfer-encoding': null },
    body: '',
    bytesOut: 0,
  }),
  answered('a late 204 has neither body nor length', get('/late-204'), 204, {
    headers: { 'content-length': null },
    body: '',
  }),
  answered('an empty body has the length 0', get('/empty-text'), 200, {
    headers: { 'content-length': '0' },
    body: '',
  }),
  answered('no body on a status that may have one has the length 0', get('/nothing'), 200, {
    headers: { 'content-length': '0' },
    body: '',
  }),
  answered('the status is the one of the reply', get('/created'), 201, { body: 'made' }),
  answered('the length counts bytes, not characters', get('/umlaut'), 200, {
    headers: { 'content-length': '9' },
    body: 'grün ☃',
    bytesOut: 9,
  }),
  answered('an answer may come late', get('/late'), 200, {
    body: 'late',
    headers: { 'content-type': 'text/plain' },
  }),
  answered('a large text arrives whole', get('/big-text'), 200, {
    body: BIG_TEXT,
    bytesOut: Buffer.byteLength(BIG_TEXT),
  }),
  answered('large bytes arrive whole', get('/big-bytes'), 200, {
    body: BIG_BYTES,
    bytesOut: BIG_BYTES.byteLength,
  }),
  answered('large bytes arrive whole when they come late', get('/late-big-bytes'), 200, { body: BIG_BYTES }),
  answered('a stream arrives in order and nothing after its end', get('/stream'), 200, {
    body: 'one two three',
    headers: { 'content-length': null, 'content-type': 'text/event-stream' },
    bytesOut: 13,
  }),
  answered('a stream may end in the turn it starts in', get('/stream/at-once'), 200, { body: 'all' }),
  answered('a stream may be empty', get('/stream/empty'), 200, { body: '' }),
]
