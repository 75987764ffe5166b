/** The built server in front of services of speech and transcription, and calls of it. */
import type { Test } from 'tap'
import { API_KEY, type GatewayServer, type Json, MANAGEMENT_KEY, startGateway } from './gateway-server.js'

export const TONE = `ID3${'sound'.repeat(20)}`
const METADATA = { 'X-Service-Metadata': 'enabled' }

/** Prices of an endpoint whose costs are easy to reckon. */
export const PRICES = { audio_second: '0.0001', input_character: '0.00001' }

interface AudioGateway {
  readonly server: GatewayServer
  /** A transcription in JSON, of a few bytes of MP3 unless told. */
  transcribe(more?: object): Promise<AudioReply>
  /** The same as a form with a file. */
  transcribeForm(fields?: Readonly<Record<string, string>>): Promise<AudioReply>
  speak(more?: object): Promise<Response>
}

interface AudioReply {
  readonly status: number
  readonly headers: Headers
  readonly said: Json
}

interface AudioGatewayOptions {
  /** The model that the calls name unless told. */
  readonly model: string
  readonly voice?: string
  readonly config: Readonly<Record<string, unknown>>
  readonly env?: Readonly<Record<string, string>>
}

/** Starts one; it ends with the test. */
export async function startAudioGateway(t: Test, options: AudioGatewayOptions): Promise<AudioGateway> {
  const { model, voice, config, env } = options
  const server = await startGateway({
    env: { SLUICE_WORKERS: '1', SLUICE_ALLOW_LOOPBACK_FILES: 'on', ...env },
    config: { routing: { retries: 0 }, ...config },
  })
  t.teardown(() => server.stop())
  const post = async (body: unknown): Promise<AudioReply> => {
    const reply = await server.post('/audio/transcriptions', body, { key: MANAGEMENT_KEY, headers: METADATA })
    return { status: reply.status, headers: reply.headers, said: await reply.json() }
  }
  return {
    server,
    transcribe: (more = {}) =>
      post({
        model,
        input_audio: { data: Buffer.from(TONE).toString('base64'), format: 'mp3' },
        ...more,
      }),
    transcribeForm: (fields = {}) => {
      const form = new FormData()
      form.append('file', new Blob([TONE]), 'a.mp3')
      for (const [name, value] of Object.entries({ model, ...fields })) form.append(name, value)
      return post(form)
    },
    speak: (more = {}) => {
      const body = { model: `${model}-voice`, input: 'hello', voice, ...more }
      return server.post('/audio/speech', body, { key: API_KEY, headers: METADATA })
    },
  }
}
