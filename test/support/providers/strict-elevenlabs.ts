/** A server that takes what ElevenLabs documents for speech to text and text to speech, and nothing else. */
import type { MockRequest, Peer, Script } from './mock-upstream.js'
import {
  formMembers,
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

export const ELEVENLABS_KEY = 'elevenlabs-key-0123456789abcdef'

const QUERY: Readonly<Record<string, Rule>> = { enable_logging: isFlagText }

const LISTEN_FIELDS: Readonly<Record<string, Rule>> = {
  model_id: oneOf('scribe_v1', 'scribe_v2'),
  language_code: (value) => /^[a-z]{2,3}$/.test(String(value)),
  tag_audio_events: isFlagText,
  num_speakers: within(1, 32),
  timestamps_granularity: oneOf('none', 'word', 'character'),
  diarize: isFlagText,
  diarization_threshold: within(0.1, 0.4),
  file_format: oneOf('pcm_s16le_16', 'other'),
  cloud_storage_url: (url) => String(url).startsWith('https://'),
  temperature: within(0, 2),
  seed: within(0, 2_147_483_647),
  use_multi_channel: isFlagText,
  entity_detection: isText,
  keyterms: (term) => isText(term) && String(term).length < 50,
}

const SPEAK_QUERY: Readonly<Record<string, Rule>> = {
  ...QUERY,
  output_format: oneOf('mp3_44100_128', 'mp3_22050_32', 'pcm_16000', 'pcm_24000'),
  optimize_streaming_latency: within(0, 4),
}

const SPEAK_MEMBERS: Readonly<Record<string, Rule>> = {
  text: isText,
  model_id: oneOf('eleven_multilingual_v2', 'eleven_flash_v2_5', 'eleven_v3'),
  language_code: isText,
  voice_settings: (value) => typeof value === 'object' && value !== null,
  seed: within(0, 4_294_967_295),
  previous_text: isText,
  next_text: isText,
  apply_text_normalization: oneOf('auto', 'on', 'off'),
}

const VOICE_SETTINGS: Readonly<Record<string, Rule>> = {
  stability: within(0, 1),
  similarity_boost: within(0, 1),
  style: within(0, 1),
  use_speaker_boost: (value) => typeof value === 'boolean',
  speed: within(0.7, 1.2),
}

export const ELEVENLABS_VOICE = '21m00Tcm4TlvDq8ikWAM'

/** `heard`: what it answers to a recording. */
export function strictElevenLabs(heard: () => object): Script {
  return strictly(
    (peer, request, url) => {
      requireHeader(request, 'xi-api-key', ELEVENLABS_KEY, 401)
      if (request.method !== 'POST') throw new WireRefusal(405, 'method', 'Method Not Allowed')
      if (url.pathname === '/v1/speech-to-text') listen(peer, request, url.searchParams, heard)
      else speak(peer, request, url)
    },
    (peer, { status, code, message }) => {
      if (status === 422) peer.json({ detail: [{ type: code, loc: ['body', 'x'], msg: message }] }, 422)
      else if (status === 401)
        peer.json({ detail: { status: 'invalid_api_key', message: 'Invalid API key' } }, 401)
      else peer.json({ detail: { type: 'validation_error', code, message, status: code } }, status)
    },
  )
}

function listen(peer: Peer, request: MockRequest, query: URLSearchParams, heard: () => object): void {
  requireListed(query, QUERY, 422)
  const { fields, file } = formMembers(request)
  requireListed(fields, LISTEN_FIELDS, 422)
  const has = (name: string): boolean => fields.some(([field]) => field === name)
  if (!has('model_id')) throw new WireRefusal(422, 'missing', 'model_id is missing')
  if (has('cloud_storage_url') === (file !== null))
    throw new WireRefusal(400, 'invalid_parameters', 'exactly one of file and cloud_storage_url')
  for (const [name] of fields)
    if (
      name !== 'keyterms' &&
      name !== 'entity_detection' &&
      fields.filter(([other]) => other === name).length > 1
    )
      throw new WireRefusal(422, 'invalid', `${name} comes twice`)
  peer.json(heard())
}

function speak(peer: Peer, request: MockRequest, url: URL): void {
  const voice = /^\/v1\/text-to-speech\/([^/]+)\/stream$/.exec(url.pathname)?.[1]
  if (voice === undefined) throw new WireRefusal(404, 'not_found', 'Not Found')
  requireListed(url.searchParams, SPEAK_QUERY, 422)
  const members = jsonMembers(request)
  requireListed(Object.entries(members), SPEAK_MEMBERS, 422)
  if (!('text' in members)) throw new WireRefusal(422, 'missing', 'text is missing')
  requireListed(Object.entries(members.voice_settings ?? {}), VOICE_SETTINGS, 422)
  if (voice !== ELEVENLABS_VOICE)
    throw new WireRefusal(404, 'voice_not_found', `A voice with id ${voice} was not found`)
  const isPcm = url.searchParams.get('output_format')?.startsWith('pcm') === true
  peer.head(200, { 'content-type': isPcm ? 'audio/pcm' : 'audio/mpeg', 'transfer-encoding': 'chunked' })
  peer.chunk('one')
  peer.chunk('two')
  peer.endChunks()
}
