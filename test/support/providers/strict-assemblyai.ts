/** A server that takes what AssemblyAI documents for uploads and transcripts, and nothing else. */
import type { MockRequest, Peer, Script } from './mock-upstream.js'
import {
  isFlag,
  isText,
  isTextList,
  jsonMembers,
  type Rule,
  requireHeader,
  requireListed,
  strictly,
  WireRefusal,
  within,
} from './strict-service.js'

export const ASSEMBLYAI_KEY = 'assemblyai-key-0123456789abcdef'

const MODELS = ['universal-2', 'universal-3-5-pro', 'assemblyai-stt-3-7']

const ORDER: Readonly<Record<string, Rule>> = {
  audio_url: (url) => /^https?:\/\//.test(String(url)),
  speech_models: (models) =>
    isTextList(models) && (models as string[]).every((each) => MODELS.includes(each)),
  language_code: (value) => /^[a-z]{2}(_[a-z]{2})?$/.test(String(value)),
  keyterms_prompt: isTextList,
  temperature: within(0, 1),
  prompt: isText,
  speakers_expected: within(1, 10),
  ...Object.fromEntries(
    [
      ...['language_detection', 'speaker_labels', 'entity_detection', 'punctuate', 'format_text'],
      ...['disfluencies', 'filter_profanity', 'multichannel', 'auto_highlights', 'sentiment_analysis'],
    ].map((name) => [name, isFlag]),
  ),
}

interface StrictAssemblyAi {
  readonly script: Script
  /** Recordings that were put there, as text. */
  readonly uploads: string[]
  /** What it says to the first questions for each transcript; nothing at first. */
  readonly statuses: string[]
  /** Paths of the transcripts that were ordered. */
  readonly transcripts: string[]
  /** Those of them that never come to an end. */
  readonly endless: Set<string>
}

const idOf = (number: number): string => `8f2c7a1e-0b44-4c9e-9d55-${String(number).padStart(12, '0')}`

/** `heard`: what it answers when it is done. */
export function strictAssemblyAi(heard: () => object): StrictAssemblyAi {
  const uploads: string[] = []
  const statuses: string[] = []
  const transcripts: string[] = []
  const endless = new Set<string>()
  let asked = 0
  const answer = (peer: Peer, request: MockRequest, url: URL): void => {
    requireHeader(request, 'authorization', ASSEMBLYAI_KEY, 401)
    const route = `${request.method} ${url.pathname}`
    if (url.search !== '') throw new WireRefusal(400, 'query', 'there is no query')
    if (route === 'POST /v2/upload') {
      requireHeader(request, 'content-type', 'application/octet-stream')
      if (request.body === '') throw new WireRefusal(422, 'upload', 'the upload is empty')
      uploads.push(request.body)
      peer.json({ upload_url: `https://cdn.assemblyai.com/upload/${uploads.length}` })
    } else if (route === 'POST /v2/transcript') {
      const order = jsonMembers(request)
      requireListed(Object.entries(order), ORDER, 400)
      if (!('audio_url' in order)) throw new WireRefusal(400, 'audio_url', 'audio_url is required')
      if (!('speech_models' in order))
        throw new WireRefusal(400, 'speech_models', 'speech_models is required')
      if ('language_code' in order && order.language_detection === true)
        throw new WireRefusal(400, 'language', 'language_code cannot go with language_detection')
      asked = 0
      const id = idOf(transcripts.length)
      transcripts.push(`/v2/transcript/${id}`)
      peer.json({ id, status: 'queued', audio_url: order.audio_url, text: null, error: null })
    } else if (request.method === 'GET' && transcripts.includes(url.pathname)) {
      const id = idOf(transcripts.indexOf(url.pathname))
      const status = endless.has(url.pathname) ? 'processing' : statuses[asked++]
      if (status !== undefined) peer.json({ id, status, text: null })
      else peer.json({ id, status: 'completed', ...heard() })
    } else throw new WireRefusal(404, 'route', 'Not found')
  }
  const script = strictly(answer, (peer, { status, message }) => peer.json({ error: message }, status))
  return { script, uploads, statuses, transcripts, endless }
}
