/**
 * What the shipped proxies do with raw requests otherwise than the table says. Each of them decides by itself where a
 * message ends and passes it on in a framing of its own, so what one takes that it should refuse hides no request from
 * the server: that is judged besides. The guide repeats the sentences (docs/guide/behind-a-proxy.md).
 */
import type { Limit } from './limits.js'

const HERE = 'none needed: it passes on what it has read'

const NGINX: readonly Limit[] = [
  {
    of: ['nginx'],
    requests: [
      'length/sixteen digits',
      'length-of-a-get/sixteen digits',
      'chunk-extension/',
      'chunk-trailer/',
      'chunk-size/',
      'chunk-end/',
    ],
    does: { answers: [0, 201], runs: true, stays: true },
    says: 'nginx takes sixteen digits for a length, and malformed chunks: blanks, bare line feeds, a missing line end, any bytes in an extension or a trailer.',
    remedy: 'none needed: the body goes on with a length of its own',
  },
  {
    of: ['nginx'],
    requests: ['length/with tabs around', 'coding/with tabs around'],
    does: { answers: [400, 501] },
    says: 'nginx refuses tabs around a length or a coding, which are allowed.',
    remedy: 'blanks',
  },
  {
    of: ['nginx'],
    requests: ['field-name/'],
    does: { answers: [200, 422], stays: true },
    says: 'nginx leaves out fields whose names are no tokens, and lines without a colon, and serves the rest.',
    remedy: 'HAProxy refuses them',
  },
  {
    of: ['nginx'],
    requests: ['field-value/'],
    does: { answers: [0, 200, 400, 502, 504], stays: true },
    says: 'nginx passes control bytes in field values on. The newer build refuses them; the older one does not answer, so that nginx says 502 or 504.',
    remedy: 'HAProxy refuses them',
  },
  {
    of: ['nginx'],
    requests: [
      'line-ends/',
      'method/two blanks behind',
      'version/none',
      'version/a blank behind',
      'version/a blank in front',
      'version/nothing but a target',
      'target/a bare line feed inside',
    ],
    does: { answers: [0, 200, 201], runs: true, stays: true },
    says: 'nginx takes a bare line feed for a line end, several blanks for one, and a line without a version for HTTP/0.9.',
    remedy: HERE,
  },
  {
    of: ['nginx'],
    requests: ['field/two hundred fields', 'field/forty thousand bytes of fields'],
    does: { answers: [431], stays: true },
    says: 'nginx takes more fields than the server, whose 431 it passes back; the connection of the caller stays.',
    remedy: HERE,
  },
  {
    of: ['nginx'],
    requests: ['method/small letters', 'method/mixed letters', 'method/every byte that one may hold'],
    does: { answers: [400] },
    says: 'nginx refuses methods of other bytes than capital letters, `_` and `-`.',
    remedy: '–',
  },
]

const HAPROXY: readonly Limit[] = [
  {
    of: ['haproxy'],
    requests: [
      'length/a list of equals',
      'length/a list of equals without a blank',
      'length-of-a-get/a list of equals',
      'two-lengths/"31" and "31"',
      'two-lengths/"31" and "031"',
      'two-lengths/in other letters',
      'two-lengths/with a field between',
      'two-lengths/three of them',
      'two-lengths/of a GET',
      'cut-two-lengths/',
      'host/two equal ones',
      'host/two with a field between',
    ],
    does: { answers: [200, 201, 408], runs: true, stays: true },
    says: 'HAProxy makes one of several equal lengths, as RFC 9110 section 8.6 allows, and of equal hosts.',
    remedy: HERE,
  },
  {
    of: ['haproxy'],
    requests: [
      'coding-and-length/chunked, length first',
      'coding-and-length/chunked, coding first',
      'cut-length-and-coding/',
    ],
    does: { answers: [201], runs: true },
    says: 'HAProxy drops a length beside `chunked` and closes behind it, as RFC 9112 section 6.3 allows.',
    remedy: HERE,
  },
  {
    of: ['haproxy'],
    requests: [
      'length/sixteen digits',
      'length-of-a-get/sixteen digits',
      'coding/a list that ends in nothing',
      'coding/chunked and nothing in two fields',
      'coding/nothing and chunked in two fields',
    ],
    does: { answers: [400], stays: true },
    says: 'HAProxy passes sixteen digits and an empty coding on, which the server refuses; the connection of the caller stays.',
    remedy: HERE,
  },
  {
    of: ['haproxy'],
    requests: ['chunk-trailer/'],
    does: { answers: [505], runs: true },
    says: 'HAProxy passes trailers on, which the native server does not know: 505, and with `SLUICE_ALLOW_CHUNKED=on` the request has been run nevertheless.',
    remedy: 'nginx',
  },
  {
    of: ['haproxy'],
    requests: ['chunk-extension/', 'chunk-size/', 'chunk-end/'],
    does: { answers: [0, 201, 408], runs: true, stays: true },
    says: 'HAProxy takes malformed chunks: blanks behind a size, bare line feeds, a missing line end, any bytes in an extension.',
    remedy: 'none needed: they go on as chunks of its own',
  },
  {
    of: ['haproxy'],
    requests: [
      'folded/',
      'line-ends/',
      'method/a tab behind',
      'method/two blanks behind',
      'version/a blank in front',
    ],
    does: { answers: [200, 201], runs: true, stays: true },
    says: 'HAProxy unfolds folded fields, as RFC 9112 section 5.2 allows, and takes a bare line feed for a line end, several blanks or a tab for one blank.',
    remedy: HERE,
  },
  {
    of: ['haproxy'],
    requests: [
      'field/a name of a thousand bytes',
      'method/the preface of version 2, half of it',
      'version/the preface of version 2',
    ],
    does: { answers: [0, 400] },
    says: 'HAProxy refuses field names of a thousand bytes, and speaks HTTP/2 with a caller who begins so.',
    remedy: '–',
  },
]

export const PROXY_LIMITS: readonly Limit[] = [...NGINX, ...HAPROXY]
