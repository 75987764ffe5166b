/** The framing guard: contract/decisions 21 and 47, RFC 9112 sections 3.2, 6.1 and 6.3. */
import { chunked } from '../support/clients/raw-http.js'
import { IS_NEWER_BUILD } from '../support/servers/native-edge.js'
import { answered, type CarriedRequest, type Case, filled, get, post, postChunked } from './transport-case.js'
import { BODY_LIMIT } from './transport-routes.js'

const BEHIND_PROXY = { strictProxy: true } as const

/** Where uWS reads the length itself after the handler, and puts its own page first. */
const OWN_PAGE = { ownPage: 'counted' } as const
const UNCOUNTED = { ownPage: 'uncounted' } as const
/** The newer build refuses a repeated Host itself. */
const REPEATED_HOST = IS_NEWER_BUILD ? UNCOUNTED : {}

function refused(name: string, request: CarriedRequest, more: Partial<Case> = {}): Case {
  return answered(`${name} is refused`, request, 400, {
    body: '{"fault":"bad-request"}',
    close: true,
    ...more,
  })
}

function withoutHost(...headers: string[]): CarriedRequest {
  return { ...get('/ping', ...headers), host: null }
}

/** A body in chunks under headers that say something else, or too much. */
function chunksUnder(...headers: string[]): CarriedRequest {
  return post('/echo', chunked('hello'), ...headers)
}

function withLength(length: string, more: Partial<Case> = {}): Case {
  return refused(`Content-Length "${length}"`, post('/echo', 'hello', `Content-Length: ${length}`), more)
}

const BROKEN_LENGTH = 'Content-Length: abc'

const lengths: Case[] = [
  ...['', '1'.repeat(16)].map((length) => withLength(length)),
  ...['abc', '-1', '+5', '0x5', '5.0', '1e1', '5, 5', '5,5', '5 5', '1'.repeat(25)].map((length) =>
    withLength(length, OWN_PAGE),
  ),
  ...['5', '6', 'abc'].map((length) =>
    refused(
      `Content-Length 5 and ${length}`,
      post('/echo', 'hello', 'Content-Length: 5', `Content-Length: ${length}`),
    ),
  ),
  refused(
    'a DELETE with a broken length',
    { ...get('/things/7', BROKEN_LENGTH), method: 'DELETE' },
    OWN_PAGE,
  ),
  refused('a GET with a broken length', get('/ping', BROKEN_LENGTH), OWN_PAGE),
  answered('leading zeros do not change a length', post('/echo', 'hello', 'Content-Length: 0000005'), 200, {
    body: 'hello',
  }),
]

const singletons: Case[] = [
  ...['Authorization', 'Content-Type', 'X-Api-Key', 'authorization'].map((name) =>
    refused(`a repeated ${name}`, get('/ping', `${name}: a`, `${name.toLowerCase()}: a`)),
  ),
  refused('a repeated Host', withoutHost('Host: a', 'host: a'), REPEATED_HOST),
  refused(
    'a repeated Host in front of a body',
    { ...post('/echo', 'hello', 'Host: a', 'Host: b'), host: null },
    REPEATED_HOST,
  ),
  ...['a b', 'a/b', 'user@a', 'a?b', 'a#b', 'a\\b', '<a>', 'a"'].map((value) =>
    refused(`the Host ${value}`, withoutHost(`Host: ${value}`)),
  ),
  ...['a', 'a.example:8080', '127.0.0.1', '[::1]:80', 'A-b_c~d', ''].map((value) =>
    answered(`the Host "${value}" is accepted`, withoutHost(`Host: ${value}`), 200),
  ),
  refused('a request without Host', withoutHost('Accept: */*'), UNCOUNTED),
  answered('other headers may repeat', get('/ping', 'Accept: a', 'Accept: b'), 200),
]

/** A body in chunks, which is the last thing of its connection unless a strict proxy has parsed it. */
const inChunks = (
  name: string,
  request: CarriedRequest,
  status: number,
  more: Partial<Case> = {},
): Case[] => [
  answered(`${name}, and the connection ends`, request, status, { ...more, close: true }),
  answered(`${name}, behind a strict proxy`, request, status, { ...more, ...BEHIND_PROXY }),
]

const codings: Case[] = [
  ...inChunks('chunks arrive joined', postChunked('/echo', 'hello world'), 200, {
    body: 'hello world',
    bytesIn: 11,
  }),
  ...inChunks('the name of the coding has no case', chunksUnder('Transfer-Encoding: CHUNKED'), 200, {
    body: 'hello',
  }),
  ...inChunks(
    'a GET with a body in chunks is served',
    { ...get('/ping', 'Transfer-Encoding: chunked'), body: chunked('hello') },
    200,
  ),
  ...inChunks('an empty chunked body is an empty body', postChunked('/seen', ''), 200, {
    sees: { body: '' },
  }),
  ...inChunks('chunks of exactly the limit are read', postChunked('/echo', filled(BODY_LIMIT)), 200, {
    body: filled(BODY_LIMIT),
  }),
  answered('chunks over the limit are 413 and close', postChunked('/echo', filled(BODY_LIMIT + 1)), 413, {
    close: true,
  }),
  answered('a length is still fine behind a strict proxy', post('/echo', 'hello'), 200, {
    ...BEHIND_PROXY,
    body: 'hello',
  }),
  answered(
    'chunks over the limit behind a strict proxy are 413 and close',
    postChunked('/echo', filled(BODY_LIMIT + 1)),
    413,
    {
      ...BEHIND_PROXY,
      close: true,
    },
  ),
  ...[{}, BEHIND_PROXY].flatMap((more) => {
    const where = 'strictProxy' in more ? ' behind a strict proxy' : ''
    const chunked = 'Transfer-Encoding: chunked'
    return [
      ...['gzip, chunked', 'identity', 'chunked, gzip', ''].map((coding) =>
        refused(`Transfer-Encoding "${coding}"${where}`, chunksUnder(`Transfer-Encoding: ${coding}`), more),
      ),
      refused(`a repeated Transfer-Encoding${where}`, chunksUnder(chunked, chunked), more),
    ]
  }),
  ...[{}, BEHIND_PROXY].flatMap((more) => {
    const where = 'strictProxy' in more ? ' behind a strict proxy' : ''
    const [coding, length] = ['Transfer-Encoding: chunked', 'Content-Length: 5'] as const
    return [
      refused(`Transfer-Encoding before Content-Length${where}`, chunksUnder(coding, length), {
        ...more,
        ...UNCOUNTED,
      }),
      refused(`Transfer-Encoding after Content-Length${where}`, chunksUnder(length, coding), {
        ...more,
        ...UNCOUNTED,
      }),
    ]
  }),
]

export const FRAMING_CASES: readonly Case[] = [...lengths, ...singletons, ...codings]
