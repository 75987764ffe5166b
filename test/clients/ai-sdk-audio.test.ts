/** The `ai` package with `@ai-sdk/openai`, unmodified, speaking and listening through the gateway. */
import { createOpenAI } from '@ai-sdk/openai'
import { generateSpeech, transcribe } from 'ai'
import tap, { test } from 'tap'
import { API_KEY, MANAGEMENT_KEY, startGateway } from '../support/servers/gateway-server.js'

const server = await startGateway({ env: { SLUICE_WORKERS: '1' } })
tap.teardown(() => server.stop())

const TEXT = 'A sentence for the machine. And another one.'

test('speech is generated and transcribed', async (t) => {
  const speaker = createOpenAI({ apiKey: API_KEY, baseURL: server.apiUrl })
  const { audio } = await generateSpeech({
    model: speaker.speech('sim/speech'),
    text: TEXT,
    voice: 'carla',
    maxRetries: 0,
  })
  t.equal(audio.format, 'mp3')
  const listener = createOpenAI({ apiKey: MANAGEMENT_KEY, baseURL: server.apiUrl })
  const heard = await transcribe({
    model: listener.transcription('sim/transcribe'),
    audio: audio.uint8Array,
    providerOptions: { openai: { responseFormat: 'verbose_json' } },
    maxRetries: 0,
  })
  t.equal(heard.text, TEXT)
  t.equal(heard.segments.length > 0, true)
  t.ok((heard.durationInSeconds ?? 0) > 1)
})
