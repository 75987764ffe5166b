import { test } from 'tap'
import { Fault } from '../../../src/base/fault.js'
import type { ChatRequest } from '../../../src/gateway/formats/canonical.js'
import type { MessagesRequest } from '../../../src/gateway/formats/messages.js'
import type { ChatApi, MessagesApi, ProviderFailure } from '../../../src/gateway/providers/port/provider.js'
import { chatOverMessages } from '../../../src/gateway/translation/chat-over-messages.js'
import { messagesOverChat } from '../../../src/gateway/translation/messages-over-chat.js'
import { messagesCall, streamedMessages, wholeMessage } from '../../support/clients/messages-face-calls.js'
import { completed, providerCall, streamed } from '../../support/clients/openai-calls.js'
import { CHAT_TOOL, HI, LINK, MESSAGES_TOOL, PDF } from './corpus/conversation.js'

/** A provider that must not be asked. */
const untouched = {
  stream: () => {
    throw new Error('something was sent')
  },
  complete: () => {
    throw new Error('something was sent')
  },
} as unknown as ChatApi & MessagesApi

const user = (...content: object[]): object => ({ messages: [{ role: 'user', content }] })
const assistant = (more: object): object => ({ messages: [...HI, { role: 'assistant', ...more }] })
const called = (text: string): object =>
  assistant({ tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: text } }] })
const format = (response_format: object): object => ({ response_format })

const CHAT: Readonly<Record<string, readonly [request: object, field: string]>> = {
  'log probabilities': [{ logprobs: true }, 'logprobs'],
  'another modality': [{ modalities: ['text', 'audio'] }, 'modalities'],
  'a tool of the server’s': [{ tools: [CHAT_TOOL, { type: 'service:web_search' }] }, 'tools.1.type'],
  'a choice of a server’s tool': [
    { tools: [CHAT_TOOL], tool_choice: { type: 'service:web_search' } },
    'tool_choice',
  ],
  'a grammar': [format({ type: 'grammar', grammar: 'x' }), 'response_format.type'],
  python: [format({ type: 'python' }), 'response_format.type'],
  'a schema without the schema': [
    format({ type: 'json_schema', json_schema: { name: 'a' } }),
    'response_format.json_schema.schema',
  ],
  sound: [
    user({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }),
    'messages.0.content.0',
  ],
  'a film': [
    user({ type: 'text', text: 'a' }, { type: 'video_url', video_url: { url: LINK } }),
    'messages.0.content.1',
  ],
  'a picture of another kind': [
    user({ type: 'image_url', image_url: { url: 'data:image/svg+xml;base64,AAAA' } }),
    'messages.0.content.0.image_url',
  ],
  'a file by its id': [
    user({ type: 'file', file: { file_id: 'file_1' } }),
    'messages.0.content.0.file.file_id',
  ],
  'a file of another kind': [
    user({ type: 'file', file: { file_data: 'data:application/zip;base64,AAAA' } }),
    'messages.0.content.0.file.file_data',
  ],
  'sound of the assistant’s': [assistant({ content: 'x', audio: { id: 'a' } }), 'messages.1.audio'],
  'pictures of the assistant’s': [
    assistant({ content: 'x', images: [{ image_url: { url: LINK } }] }),
    'messages.1.images',
  ],
  'a picture among the words of the assistant’s': [
    assistant({
      content: [
        { type: 'text', text: 'x' },
        { type: 'image_url', image_url: { url: LINK } },
      ],
    }),
    'messages.1.content.1',
  ],
  'arguments cut off': [called('{"a": 1'), 'messages.1.tool_calls.0.function.arguments'],
  'arguments that are no object': [called('[1]'), 'messages.1.tool_calls.0.function.arguments'],
  'arguments nested without end': [
    called(`{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`),
    'messages.1.tool_calls.0.function.arguments',
  ],
  'arguments that hold too much': [
    called(`{"a":[${'[],'.repeat(60_000)}1]}`),
    'messages.1.tool_calls.0.function.arguments',
  ],
  'arguments that hold too much together': [
    assistant({
      tool_calls: Array.from({ length: 11 }, () => ({
        ...{ id: 'a', type: 'function' },
        function: { name: 'f', arguments: `{"a":[${'1,'.repeat(10_000)}1]}` },
      })),
    }),
    'messages.1.tool_calls.9.function.arguments',
  ],
}

async function refusedAs(failure: 'ended' | object, field: string): Promise<string | null> {
  const { fault, class: kind, status } = failure as ProviderFailure
  if (!(fault instanceof Fault) || fault.kind !== 'bad-request' || kind !== 'not-sent' || status !== 0)
    return 'another failure'
  return fault.note?.startsWith(`${field} `) ? null : `the note ${fault.note}`
}

for (const [name, [request, field]] of Object.entries(CHAT)) {
  test(`a messages provider is not asked for ${name}`, async (t) => {
    const face = chatOverMessages(untouched)
    const call = providerCall(request as Partial<ChatRequest>)
    t.equal(await refusedAs(await completed(face, call).end.opened, field), null)
    t.equal(await refusedAs(await streamed(face, call).end.opened, field), null)
  })
}

const PDF_SOURCE = { type: 'base64', media_type: 'application/pdf', data: PDF }
const doc = (more: object): object => user({ type: 'document', source: PDF_SOURCE, ...more })
const at = 'messages.0.content.0'

const MESSAGES: Readonly<Record<string, readonly [request: object, field: string]>> = {
  'a search': [
    { tools: [MESSAGES_TOOL, { type: 'web_search_20250305', name: 'web_search' }] },
    'tools.1.type',
  ],
  'a tool of a kind nobody knows': [{ tools: [{ type: 'brand_new', name: 'x' }] }, 'tools.0.type'],
  'a tool that only code may call': [
    { tools: [{ ...MESSAGES_TOOL, allowed_callers: ['code_execution_20250825'] }] },
    'tools.0.allowed_callers',
  ],
  'a place to compute in': [{ inference_geo: 'us' }, 'inference_geo'],
  'skills of a server': [{ container: { skills: [] } }, 'container'],
  'safeguards of a server': [{ safeguards: [{ type: 'cyber' }] }, 'safeguards'],
  'a summary instead of an answer': [{ compaction: { type: 'summarize' } }, 'compaction'],
  'five stop sequences': [{ stop_sequences: ['1', '2', '3', '4', '5'] }, 'stop_sequences'],
  'a document by its id': [doc({ source: { type: 'file', file_id: 'f' } }), `${at}.source`],
  'a picture by its id': [user({ type: 'image', source: { type: 'file', file_id: 'f' } }), `${at}.source`],
  'a block of a kind nobody knows': [user({ type: 'brand_new' }), at],
  'a tool that is added on the way': [
    { messages: [...HI, { role: 'system', content: [{ type: 'tool_addition', tool: {} }] }] },
    'messages.1.content.0',
  ],
}

for (const [name, [request, field]] of Object.entries(MESSAGES)) {
  test(`a chat provider is not asked for ${name}`, async (t) => {
    const face = messagesOverChat(untouched)
    const call = messagesCall(request as Partial<MessagesRequest>)
    t.equal(await refusedAs(await wholeMessage(face, call), field), null)
    t.equal(await refusedAs(await streamedMessages(face, call).end.opened, field), null)
  })
}

test('a refusal is told in a later turn, and not at all to whoever has left', async (t) => {
  const receiver = completed(chatOverMessages(untouched), providerCall({ logprobs: true }))
  t.equal(receiver.ends, 0)
  receiver.flow.cancel()
  await new Promise((resolve) => setImmediate(resolve))
  t.equal(receiver.ends, 0)
})

test('no word of the caller’s stands in a refusal', async (t) => {
  const block = { type: 'canary-words', words: 'canary-words' } as never
  const messages = [{ role: 'user' as const, content: [block] }]
  const ends = [
    await completed(chatOverMessages(untouched), providerCall({ messages })).end.opened,
    await wholeMessage(messagesOverChat(untouched), messagesCall({ messages })),
  ] as ProviderFailure[]
  for (const { fault } of ends) {
    t.match(fault.note, /^messages\.0\.content\.0 /)
    t.notMatch(`${fault.note}${JSON.stringify(fault)}`, 'canary')
  }
})
