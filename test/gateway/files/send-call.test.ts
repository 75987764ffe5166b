/** What an attempt does with files: read when it is sent, held as long as it lasts; pictures of the answer are kept. */
import { type Test, test } from 'tap'
import { Fault } from '../../../src/base/fault.js'
import type { ModelEndpoint } from '../../../src/gateway/catalog/catalog.js'
import { withNamedFiles } from '../../../src/gateway/files/named-files.js'
import { type FilePorts, sendCall } from '../../../src/gateway/files/send-call.js'
import type { ChatEvent, ChatRequest, Completion } from '../../../src/gateway/formats/canonical.js'
import { chatFormat } from '../../../src/gateway/metering/format.js'
import { MediaRoom } from '../../../src/gateway/providers/http/media-room.js'
import type { ProviderCall, ProviderFailure } from '../../../src/gateway/providers/port/provider.js'
import type { CreatedFile, ToolFiles } from '../../../src/gateway/tools/port/tool.js'
import { NO_FILES } from '../../support/data/no-files.js'
import {
  CALLER,
  catalogOf,
  completion,
  ScriptedProvider,
  text,
} from '../../support/providers/scripted-provider.js'
import { eventually } from '../../support/timing/eventually.js'

const FILE: CreatedFile = { id: 'file_1', filename: 'a.txt', mimeType: 'text/plain', sizeBytes: 5 }
const NAMES: ChatRequest = {
  model: 'acme/one',
  messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: 'file_1' } }] }],
}
const WORDS: ChatRequest = { model: 'acme/one', messages: [{ role: 'user', content: 'hi' }] }
const PICTURE = { type: 'image_url', image_url: { url: 'data:image/png;base64,iVBORw0KGgo=' } }

class Ear {
  readonly events: ChatEvent[] = []
  failure: ProviderFailure | null = null
  answer: Completion | 'ended' | null = null
  onEvent(event: ChatEvent): void {
    this.events.push(event)
  }
  onFlush(): void {}
  onEnd(answer?: Completion): void {
    this.answer = answer ?? 'ended'
  }
  onFailure(failure: ProviderFailure): void {
    this.failure = failure
  }
}

interface Setting {
  readonly mode?: 'stream' | 'complete'
  readonly files?: Partial<ToolFiles>
  readonly room?: MediaRoom
  readonly paints?: boolean
}

/** Sends a request as an attempt does. */
function send(
  request: ChatRequest,
  { mode = 'complete', files = {}, room = new MediaRoom(), paints }: Setting = {},
) {
  const provider = new ScriptedProvider()
  const model = catalogOf({ 'acme/one': [{ slug: 'first' }] }, () => provider).model('acme/one')!
  const outputModalities = paints === true ? ['text', 'image'] : ['text']
  const endpoint = { ...model.endpoints[0]!, model: { ...model, outputModalities } } as ModelEndpoint
  const own: ToolFiles = { ...NO_FILES, find: () => FILE, ...files }
  const ports: FilePorts = { filesOf: () => own, room, maxBytes: 100 }
  const call = {
    request: withNamedFiles(request, () => own, 100),
    ...{ endpoint, caller: CALLER, droppedFields: [] as string[], deadlineAt: Number.POSITIVE_INFINITY },
  } as unknown as ProviderCall
  const ear = new Ear()
  const handle = sendCall(chatFormat, mode, call, endpoint, ear, ports)
  return { provider, ear, handle, call }
}

test('a call that names nothing is begun at once', (t) => {
  const { provider } = send(WORDS)
  t.equal(provider.calls.length, 1)
  t.equal(provider.last.call.request.messages, WORDS.messages)
  t.end()
})

test('a file is read when the call is sent, and its room is given back with the end', async (t) => {
  const room = new MediaRoom(20)
  const read = async () => ({ file: FILE, bytes: Buffer.from('hello') })
  for (const mode of ['stream', 'complete'] as const) {
    const { provider, ear } = send(NAMES, { mode, room, files: { read } })
    t.equal(provider.calls.length, 0)
    await eventually(() => provider.calls.length === 1 || null)
    t.match(provider.last.call.request.messages[0]!.content, [{ text: 'File "a.txt":\n\nhello' }])
    t.equal(provider.last.call.request.files, undefined)
    const second = send(NAMES, { room, files: { read } })
    await eventually(() => second.ear.failure)
    t.match(second.ear.failure!.fault, { kind: 'unavailable', retryAfter: 1 }, 'the share is a quarter')
    if (mode === 'stream') provider.last.stream!.onEnd()
    else provider.last.complete!.onEnd(completion('hi'))
    t.ok(ear.answer)
  }
  const { handle, provider } = send(NAMES, { room, files: { read } })
  handle.cancel()
  await eventually(() => room.begin(CALLER.organizationId).take(5) || null)
  t.equal(provider.calls.length, 0, 'a caller that has left sends nothing')
})

test('a file that has gone since the request was let in is not found', async (t) => {
  const { provider, ear } = send(NAMES, { files: { read: async () => null } })
  await eventually(() => ear.failure)
  t.match(ear.failure!, { class: 'not-sent', fault: { kind: 'item-not-found' } })
  t.match(ear.failure!.fault.note, 'messages.0.content.0.file.file_id names no file of this workspace')
  t.equal(provider.calls.length, 0)
})

function answering(t: Test, files: Partial<ToolFiles>, mode: 'stream' | 'complete') {
  const sent = send(WORDS, { mode, files, paints: true })
  const { provider } = sent
  t.equal(provider.calls.length, 1)
  const whole = completion('hi')
  const message = { ...whole.choices[0]!.message, images: [PICTURE, PICTURE] }
  const end = (): void => {
    if (mode === 'complete') {
      provider.last.complete!.onEnd({ ...whole, choices: [{ ...whole.choices[0]!, message }] })
      return
    }
    const { stream } = provider.last
    stream!.onEvent(text('hi'))
    stream!.onEvent({ type: 'delta', choice: 0, delta: { images: [PICTURE, PICTURE] } })
    stream!.onEvent({ type: 'finish', choice: 0, reason: 'stop', native: 'stop' })
    stream!.onEnd()
  }
  return { ...sent, end }
}

for (const mode of ['stream', 'complete'] as const) {
  test(`pictures of an answer are kept, ${mode}`, async (t) => {
    const created: string[] = []
    const create = async (filename: string, bytes: Uint8Array): Promise<CreatedFile> => {
      created.push(`${filename} ${bytes.length}`)
      return { id: `file_${created.length}`, filename, mimeType: 'image/png', sizeBytes: bytes.length }
    }
    const { ear, end } = answering(t, { create }, mode)
    end()
    await eventually(() => ear.answer)
    t.same(created, ['image-1.png 8', 'image-2.png 8'])
    const file = { filename: 'image-1.png', mime_type: 'image/png', size_bytes: 8 }
    if (mode === 'complete') {
      const { message } = (ear.answer as Completion).choices[0]!
      t.match(message.annotations, [{ type: 'file', file: { file_id: 'file_1', ...file } }, {}])
      t.same(message.images, [PICTURE, PICTURE])
    } else {
      t.same(
        ear.events.map((event) => (event.type === 'delta' ? Object.keys(event.delta)[0] : event.type)),
        ['content', 'images', 'annotations', 'finish'],
      )
    }
  })

  test(`an answer stands without a file where none can be kept, ${mode}`, async (t) => {
    const create = async (): Promise<CreatedFile> => {
      throw new Fault('forbidden')
    }
    const { ear, end, call } = answering(t, { create }, mode)
    end()
    await eventually(() => ear.answer)
    t.same(call.droppedFields, ['images.file'])
    if (mode === 'complete') t.equal((ear.answer as Completion).choices[0]!.message.annotations, undefined)
    else t.equal(ear.events.length, 3)
  })

  test(`a caller that leaves while a picture is stored leaves no file, ${mode}`, async (t) => {
    const removed: string[] = []
    let stored = (_: CreatedFile): void => {}
    const create = () => new Promise<CreatedFile>((resolve) => (stored = resolve))
    const remove = async (id: string): Promise<boolean> => removed.push(id) > 0
    const { ear, end, handle } = answering(t, { create, remove }, mode)
    end()
    handle.cancel()
    stored({ id: 'file_1', filename: 'a', mimeType: 'image/png', sizeBytes: 8 })
    await eventually(() => removed.length === 1 || null)
    t.same(removed, ['file_1'])
    t.equal(ear.answer, null)
  })
}

test('of an answer without an end only the first pictures are held', async (t) => {
  const created: string[] = []
  const create = async (filename: string, bytes: Uint8Array): Promise<CreatedFile> => {
    created.push(filename)
    return { id: filename, filename, mimeType: 'image/png', sizeBytes: bytes.length }
  }
  const { provider, ear, call } = send(WORDS, { mode: 'stream', files: { create }, paints: true })
  const { stream } = provider.last
  for (let n = 0; n < 20; n++) stream!.onEvent({ type: 'delta', choice: 0, delta: { images: [PICTURE] } })
  stream!.onEnd()
  await eventually(() => ear.answer)
  t.equal(created.length, 16)
  t.same(call.droppedFields, ['images.file'], 'that there were more is told')
})

test('what a stream says before it fails behind its finish is heard', (t) => {
  const { ear, provider } = send(WORDS, { mode: 'stream', paints: true })
  const { stream } = provider.last
  stream!.onEvent({ type: 'delta', choice: 0, delta: { images: [PICTURE] } })
  stream!.onEvent({ type: 'finish', choice: 0, reason: 'stop', native: 'stop' })
  const failure = { fault: new Fault('provider-failed'), class: 'maybe-processed', status: 0 } as const
  stream!.onFailure(failure)
  t.same(
    ear.events.map(({ type }) => type),
    ['delta', 'finish'],
  )
  t.equal(ear.failure, failure)
  t.end()
})

test('a spoken answer is kept as one file, as far as there is room for it', async (t) => {
  const request: ChatRequest = {
    ...WORDS,
    modalities: ['text', 'audio'],
    audio: { voice: 'x', format: 'mp3' },
  }
  for (const room of [new MediaRoom(), new MediaRoom(8 * 4), new MediaRoom(7 * 4)]) {
    const created: string[] = []
    const create = async (filename: string, bytes: Uint8Array): Promise<CreatedFile> => {
      created.push(`${filename} ${Buffer.from(bytes)}`)
      return { id: 'file_1', filename, mimeType: 'audio/mpeg', sizeBytes: bytes.length }
    }
    const { provider, ear, call } = send(request, { mode: 'stream', files: { create }, room })
    const { stream } = provider.last
    for (const data of ['aGk=', 'aG8='])
      stream!.onEvent({ type: 'delta', choice: 0, delta: { audio: { data } } })
    stream!.onEvent({ type: 'finish', choice: 0, reason: 'stop', native: 'stop' })
    stream!.onEnd()
    await eventually(() => ear.answer)
    const hasRoom = created.length === 1
    t.same(created, hasRoom ? ['audio.mp3 hiho'] : [])
    t.same(call.droppedFields, hasRoom ? [] : ['audio.file'])
    t.equal(ear.events.at(-1)!.type, 'finish')
    t.ok(room.begin(CALLER.organizationId).take(7), 'what it took is given back')
  }
})

test('samples that come in pieces are kept as a file that can be played', async (t) => {
  const made = new Map<string, Buffer>()
  const create = async (filename: string, bytes: Uint8Array): Promise<CreatedFile> => {
    made.set(filename, Buffer.from(bytes))
    return { id: 'file_1', filename, mimeType: 'audio/wav', sizeBytes: bytes.length }
  }
  const audio = { voice: 'x', format: 'pcm16' }
  const request: ChatRequest = { ...WORDS, modalities: ['text', 'audio'], audio }
  const { provider, ear } = send(request, { mode: 'stream', files: { create }, room: new MediaRoom() })
  const { stream } = provider.last
  for (const data of ['AQI=', 'AwQ='])
    stream!.onEvent({ type: 'delta', choice: 0, delta: { audio: { data } } })
  stream!.onEvent({ type: 'finish', choice: 0, reason: 'stop', native: 'stop' })
  stream!.onEnd()
  await eventually(() => ear.answer)
  const file = made.get('audio.wav')!
  t.equal(file.toString('latin1', 0, 4) + file.toString('latin1', 8, 12), 'RIFFWAVE')
  t.equal(file.readUInt32LE(24), 24_000)
  t.equal(file.readUInt32LE(40), 4, 'bytes of samples')
  t.same(file.subarray(44), Buffer.from([1, 2, 3, 4]))
})

test('the room for pictures is given back however the answer ends', (t) => {
  const room = new MediaRoom(4 * PICTURE.image_url.url.length)
  const whole = PICTURE.image_url.url.length
  for (const end of ['cancel', 'failure'] as const) {
    const { provider, handle } = send(WORDS, { mode: 'stream', paints: true, room })
    provider.last.stream!.onEvent({ type: 'delta', choice: 0, delta: { images: [PICTURE] } })
    t.notOk(room.begin(CALLER.organizationId).take(1))
    const fault = new Fault('provider-failed')
    if (end === 'cancel') handle.cancel()
    else provider.last.stream!.onFailure({ fault, class: 'maybe-processed', status: 0 })
    const held = room.begin(CALLER.organizationId)
    t.ok(held.take(whole), end)
    held.release()
  }
  t.end()
})
