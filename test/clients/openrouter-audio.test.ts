/** Speech, transcription and workload identity with `@openrouter/sdk`, which checks every answer against its schemas. */
import { openAsBlob, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { OpenRouter } from '@openrouter/sdk'
import type { ChatResult } from '@openrouter/sdk/models'
import * as errors from '@openrouter/sdk/models/errors'
import tap, { type Test, test } from 'tap'
import { tempFolder } from '../support/data/temp-folder.js'
import { FederationServer, GRANT_TYPE, JWT_TYPE } from '../support/servers/federation-server.js'
import { API_KEY, MANAGEMENT_KEY } from '../support/servers/gateway-server.js'

const bench = await FederationServer.start(tap)
const { apiUrl } = bench.server

/** Retries would hide the first answer, and wait for an hour. */
function clientOf(apiKey: string): OpenRouter {
  return new OpenRouter({ serverURL: apiUrl, apiKey, retryConfig: { strategy: 'none' } })
}

const client = clientOf(API_KEY)
const manager = clientOf(MANAGEMENT_KEY)
const TEXT = 'The quick brown fox. It jumps.'

async function spoken(responseFormat: 'mp3' | 'pcm'): Promise<Buffer> {
  const speechRequest = { model: 'sim/speech', voice: 'nova', input: TEXT, responseFormat }
  const pieces: Uint8Array[] = []
  for await (const piece of await client.tts.createSpeech({ speechRequest })) pieces.push(piece)
  return Buffer.concat(pieces)
}

for (const format of ['mp3', 'pcm'] as const) {
  test(`speech as ${format} is transcribed from JSON`, async (t) => {
    const inputAudio = { data: (await spoken(format)).toString('base64'), format }
    const heard = await manager.stt.createTranscription({
      sttRequest: { model: 'sim/transcribe', inputAudio },
    })
    t.equal(heard.text, TEXT)
    t.ok((heard.usage?.cost ?? 0) > 0)
  })
}

async function fileOf(t: Test): Promise<Blob> {
  const path = join(tempFolder(t), 'speech.mp3')
  writeFileSync(path, await spoken('mp3'))
  return openAsBlob(path)
}

test('a file is transcribed from a form, with words and segments', async (t) => {
  const heard = await manager.stt.createTranscriptionMultipart({
    requestBody: {
      file: await fileOf(t),
      model: 'sim/transcribe',
      responseFormat: 'verbose_json',
      timestampGranularities: ['word', 'segment'],
    },
  })
  t.equal(heard.text, TEXT)
  t.equal(heard.segments?.length, 2)
  t.equal(heard.words?.length, 6)
})

test('what may not be transcribed or spoken has its error class', async (t) => {
  const requestBody = { file: await fileOf(t), model: 'sim/transcribe' }
  await t.rejects(client.stt.createTranscriptionMultipart({ requestBody }), errors.ForbiddenResponseError)
  const speechRequest = { model: 'sim/speech', voice: 'nobody', input: 'x' }
  await t.rejects(client.tts.createSpeech({ speechRequest }), errors.BadRequestResponseError)
})

test('a call is found by the id of its answer', async (t) => {
  const messages = [{ role: 'user' as const, content: 'Hi.' }]
  const chatRequest = { model: 'sim/instant', messages, stream: false as const }
  const { id } = (await client.chat.send({ chatRequest })) as ChatResult
  const { data } = await client.generations.getGeneration({ id })
  t.match(data, { id, model: 'sim/instant', totalCost: Number })
})

test('a token is exchanged, its key is published, and it works', async (t) => {
  const { policy } = await bench.trusting()
  const token = await client.oAuth.createOauthToken({
    tokenExchangeRequest: {
      grantType: GRANT_TYPE,
      subjectToken: bench.token(),
      subjectTokenType: JWT_TYPE,
      federationPolicyId: policy.id,
    },
  })
  t.match(token, { tokenType: 'Bearer', scope: 'inference' })
  const { keys } = await client.oAuth.listOauthJwks()
  t.match(keys[0], { kty: 'EC', alg: 'ES256' })
  const models = await clientOf(token.accessToken).models.count()
  t.ok(models.data.count > 0)
})
