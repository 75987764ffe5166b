/** A server that takes what Deepgram documents for `/v1/listen` and `/v1/speak`, and nothing else. */
import type { MockRequest, Peer, Script } from './mock-upstream.js'
import {
  isFlagText,
  isText,
  jsonMembers,
  oneOf,
  type Rule,
  requireHeader,
  requireListed,
  strictly,
  WireRefusal,
  within,
} from './strict-service.js'

export const DEEPGRAM_KEY = 'deepgram-key-0123456789abcdef'

const LISTEN_QUERY: Readonly<Record<string, Rule>> = {
  model: oneOf('nova-3', 'nova-2', 'whisper-large'),
  language: (value) => /^[a-z]{2}(-[A-Z]{2})?$|^multi$/.test(String(value)),
  encoding: oneOf('linear16', 'flac', 'mulaw', 'opus', 'speex'),
  sample_rate: within(8_000, 48_000),
  channels: within(1, 20),
  keyterm: isText,
  redact: oneOf('pci', 'pii', 'numbers'),
  utt_split: within(0, 10),
  search: isText,
  ...Object.fromEntries(
    [
      ...['smart_format', 'punctuate', 'diarize', 'detect_language', 'detect_entities', 'multichannel'],
      ...['utterances', 'paragraphs', 'numerals', 'measurements', 'filler_words', 'profanity_filter'],
      ...['dictation', 'mip_opt_out', 'sentiment'],
    ].map((name) => [name, isFlagText]),
  ),
}

const SPEAK_QUERY: Readonly<Record<string, Rule>> = {
  model: (value) => /^aura(-2)?-[a-z]+-[a-z]{2}$/.test(String(value)),
  encoding: oneOf('linear16', 'mp3', 'opus', 'flac', 'aac', 'mulaw', 'alaw'),
  container: oneOf('none', 'wav', 'ogg'),
  sample_rate: within(8_000, 48_000),
  bit_rate: within(4_000, 650_000),
  speed: within(0.7, 1.5),
  mip_opt_out: isFlagText,
}

const MOST_CHARACTERS = 2_000

/** `heard`: what it answers to a recording. */
export function strictDeepgram(heard: () => object): Script {
  return strictly(
    (peer, request, url) => {
      requireHeader(request, 'authorization', `Token ${DEEPGRAM_KEY}`, 401)
      if (request.method !== 'POST') throw new WireRefusal(404, 'Not Found', 'no such path')
      if (url.pathname === '/v1/listen') listen(peer, request, url.searchParams, heard)
      else if (url.pathname === '/v1/speak') speak(peer, request, url.searchParams)
      else throw new WireRefusal(404, 'Not Found', 'no such path')
    },
    (peer, { status, code, message }) => {
      const name =
        status === 401 ? 'INVALID_AUTH' : code === 'unknown' ? 'INVALID_QUERY_PARAMETER' : 'Bad Request'
      peer.json({ err_code: name, err_msg: message, request_id: 'dg-1' }, status)
    },
  )
}

function listen(peer: Peer, request: MockRequest, query: URLSearchParams, heard: () => object): void {
  requireListed(query, LISTEN_QUERY, 400)
  if (query.has('keyterm') && query.get('model') !== 'nova-3')
    throw new WireRefusal(400, 'Bad Request', 'keyterm is only available with Nova-3')
  if (request.headers['content-type'] === 'application/json') {
    requireListed(Object.entries(jsonMembers(request)), { url: (url) => URL.canParse(String(url)) }, 400)
  } else if (!/^(audio|video)\//.test(request.headers['content-type'] ?? '') || request.body === '')
    throw new WireRefusal(400, 'Bad Request', 'failed to process audio: corrupt or unsupported data')
  peer.json(heard())
}

function speak(peer: Peer, request: MockRequest, query: URLSearchParams): void {
  requireListed(query, SPEAK_QUERY, 400)
  const { text, ...rest } = jsonMembers(request)
  requireListed(Object.entries(rest), {}, 400)
  if (!isText(text)) throw new WireRefusal(400, 'Bad Request', 'Input text contained no characters')
  if (String(text).length > MOST_CHARACTERS)
    throw new WireRefusal(413, 'PAYLOAD_TOO_LARGE', 'Input text exceeds maximum character limit of 2000.')
  const isPcm = query.get('encoding') === 'linear16'
  if (isPcm && query.get('container') !== 'none')
    throw new WireRefusal(400, 'Bad Request', 'that is a WAV file')
  const type = isPcm ? `audio/l16;rate=${query.get('sample_rate')};channels=1` : 'audio/mpeg'
  peer.head(200, {
    'content-type': type,
    'transfer-encoding': 'chunked',
    'dg-char-count': String(text).length.toString(),
  })
  peer.chunk('one')
  peer.chunk('two')
  peer.endChunks()
}
