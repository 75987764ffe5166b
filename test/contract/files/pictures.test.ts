/** Pictures in answers: shown, kept as files, and painted by tools and image models (contract/gateway 3.2, contract/tools 3.5). */
import OpenAI from 'openai'
import tap, { test } from 'tap'
import { askMessages, message } from '../../support/clients/messages-calls.js'
import { mockUpstream } from '../../support/providers/mock-upstream.js'
import {
  API_KEY,
  type Asked,
  askChat,
  type Json,
  MANAGEMENT_KEY,
  startGateway,
} from '../../support/servers/gateway-server.js'

const PNG = Buffer.from('\x89PNG\r\n\x1a\nrest', 'latin1')
const painter = await mockUpstream(tap, (peer, { path, body }) => {
  const asked = JSON.parse(body) as Json
  if (path !== '/v1/images/generations') peer.json({ error: { message: path } }, 404)
  else if (asked.prompt.includes('forbidden')) peer.json({ error: { message: 'not that' } }, 400)
  else {
    const data = [{ b64_json: PNG.toString('base64'), revised_prompt: 'A red fox.' }]
    peer.json({ created: 1, data, usage: { input_tokens: 10, output_tokens: 100, total_tokens: 110 } })
  }
})
const server = await startGateway({
  env: { SLUICE_WORKERS: '1' },
  config: {
    routing: { retries: 0 },
    providers: { pictures: { kind: 'openai', base_url: `${painter.origin}/v1`, breaker: false } },
    models: {
      'acme/painter': {
        output_modalities: ['image'],
        prices: { prompt: '0.000001', output_image_token: '0.00001' },
        endpoints: [{ provider: 'pictures', upstream_model: 'gpt-image-1' }],
      },
      'acme/talker': { endpoints: [{ provider: 'pictures' }] },
    },
  },
})
tap.teardown(() => server.stop())

const chat = (model: string, content: string, more: object = {}): Promise<Asked> =>
  askChat(server, { model, messages: [{ role: 'user', content }], ...more })

async function contentOf(id: string): Promise<Buffer> {
  const reply = await server.get(`/files/${id}/content`, MANAGEMENT_KEY)
  return Buffer.from(await reply.arrayBuffer())
}

/** Pictures and annotations of an answer, streamed or not. */
function shownBy(asked: Asked, stream: boolean): { images: Json[]; annotations: Json[] } {
  const said: Json[] = stream
    ? asked.events().flatMap((event: Json) => event.choices?.[0]?.delta ?? [])
    : [asked.json().choices[0].message]
  return {
    images: said.flatMap(({ images = [] }) => images),
    annotations: said.flatMap(({ annotations = [] }) => annotations),
  }
}

const bytesOf = ({ image_url }: Json): Buffer => Buffer.from(image_url.url.split(',')[1], 'base64')

for (const stream of [false, true]) {
  const how = stream ? 'streamed' : 'whole'
  test(`the simulated painter's picture is in the answer and among the files, ${how}`, async (t) => {
    const asked = await chat('sim/painter', 'a fox', { stream, image_config: { size: '64x32' } })
    const { images, annotations } = shownBy(asked, stream)
    t.match(annotations, [{ type: 'file', file: { filename: 'image-1.png', mime_type: 'image/png' } }])
    t.ok(bytesOf(images[0]).equals(await contentOf(annotations[0].file.file_id)))
    const again = shownBy(
      await chat('sim/painter', 'a fox', { stream, image_config: { size: '64x32' } }),
      stream,
    )
    t.same(again.images, images, 'an equal request gets an equal picture')
    t.match((await chat('sim/painter', 'a fox', { image_config: { size: '1x1' } })).status, 400)
  })

  test(`a model that only paints is asked over the images API, ${how}`, async (t) => {
    const options = {
      size: '1024x1024',
      quality: 'high',
      output_format: 'png',
      background: null,
      prompt: 'x',
    }
    const asked = await chat('acme/painter', 'a fox', {
      stream,
      image_config: options,
      modalities: ['image'],
    })
    t.equal(asked.status, 200, asked.text)
    t.match(JSON.parse(painter.requests.at(-1)!.body), {
      model: 'gpt-image-1',
      prompt: 'a fox',
      ...{ size: '1024x1024', quality: 'high', output_format: 'png' },
      user: /^user-/,
    })
    const { images, annotations } = shownBy(asked, stream)
    t.ok(bytesOf(images[0]).equals(PNG))
    t.ok(PNG.equals(await contentOf(annotations[0].file.file_id)))
    const { usage } = stream ? asked.events().at(-2) : asked.json()
    t.equal(usage.cost, 0.00101, '10 tokens of words and 100 of a picture')
    t.match((await chat('acme/painter', 'forbidden', { stream })).status, 400)
  })

  test(`a model has a picture painted, ${how}`, async (t) => {
    const tools = [{ type: 'service:image_generation', parameters: { size: '64x32' } }]
    const script = 'call service:image_generation {"prompt":"a fox"}\nanswer Here it is.'
    const asked = await chat('sim/agent', script, { tools, stream })
    t.equal(asked.status, 200, asked.text)
    const { images, annotations } = shownBy(asked, stream)
    t.equal(images.length, 1)
    t.equal(bytesOf(images[0]).readUInt32BE(16), 64, 'in the size of the parameters')
    t.match(annotations, [{ type: 'file', file: { mime_type: 'image/png' } }])
    t.equal(annotations.length, 1)
    t.ok(bytesOf(images[0]).equals(await contentOf(annotations[0].file.file_id)))
    const other = [{ type: 'service:image_generation', parameters: { model: 'acme/painter' } }]
    const painted = shownBy(await chat('sim/agent', script, { tools: other, stream }), stream)
    t.ok(bytesOf(painted.images[0]).equals(PNG), 'by the model that the parameters name')
    const { usage } = stream ? asked.events().at(-2) : asked.json()
    t.ok(usage.cost > 0.01, 'the price of the picture is that of the painter')
  })
}

test('without a painter the tool is refused by the name of its setting', async (t) => {
  const tools = [{ type: 'service:image_generation' }]
  const asked = await chat('acme/talker', 'a fox', { tools })
  t.equal(asked.status, 400, asked.text)
  t.match(asked.json().error.message, /tools\.image_generation\.model/)
  const named = [{ type: 'service:image_generation', parameters: { model: 'sim/fast' } }]
  t.match(
    (await chat('sim/agent', 'a fox', { tools: named })).json().error.message,
    /names no model that paints/,
  )
})

test('an answer of messages shows no picture and names its file', async (t) => {
  for (const model of ['sim/painter', 'acme/painter']) {
    const asked = await askMessages(server, message({ model }))
    const upload = asked.json().content.at(-1)
    t.equal((await contentOf(upload.file_id)).toString('latin1', 1, 4), 'PNG', model)
    const events = (await askMessages(server, message({ model, stream: true }))).events()
    const blocks = events.flatMap(({ content_block: block = [] }) => block)
    t.match(blocks.at(-1), { type: 'container_upload', file_id: /^file_/ })
    t.notSame(blocks.at(-1).file_id, upload.file_id, 'a file of its own')
  }
})

test('the openai client keeps what it does not know of an answer', async (t) => {
  const openai = new OpenAI({ baseURL: server.apiUrl, apiKey: API_KEY, maxRetries: 0 })
  const messages = [{ role: 'user', content: 'a fox' } as const]
  const answer = (await openai.chat.completions.create({ model: 'sim/painter', messages })) as Json
  t.match(answer.choices[0].message.images, [{ type: 'image_url' }])
})
