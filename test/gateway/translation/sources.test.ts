/** Where an answer comes from: citations and results of searches as annotations, and back. */
import { test } from 'tap'
import type { MessagesAnswer } from '../../../src/gateway/formats/messages.js'
import { buildMessagesBody } from '../../../src/gateway/providers/anthropic/provider.js'
import { messagesOverChat } from '../../../src/gateway/translation/messages-over-chat.js'
import { assembledCompletion } from '../../support/clients/chat-assembled.js'
import {
  assembledMessage,
  messagesCall,
  streamedMessages,
  wholeMessage,
} from '../../support/clients/messages-face-calls.js'
import { chunk, completion, openAiBench, providerCall, streamed } from '../../support/clients/openai-calls.js'
import { anthropicBench, speaking } from '../../support/providers/mock-anthropic.js'

const found = (url: string, title: string) => ({
  type: 'web_search_result',
  url,
  title,
  encrypted_content: 'eA==',
})
const location = (type: string, more: object) => ({ type, cited_text: 'the capital', ...more })

const SEARCHED = [
  { type: 'text', text: 'I look it up. ' },
  { type: 'server_tool_use', id: 's1', name: 'web_search', input: { query: 'Bern' } },
  {
    type: 'web_search_tool_result',
    tool_use_id: 's1',
    content: [found('https://a.example', 'A'), { ...found('https://b.example', ''), title: null }],
  },
  {
    type: 'text',
    text: 'Bern is the capital',
    citations: [
      location('web_search_result_location', { url: 'https://a.example', title: 'A', encrypted_index: 'e' }),
      location('search_result_location', { source: 'https://c.example', title: null }),
      location('char_location', { document_index: 0 }),
    ],
  },
  { type: 'text', text: ', of course.' },
]
const annotation = (
  url: string,
  title: string,
  start_index: number,
  end_index: number,
  more: object = {},
) => ({
  type: 'url_citation',
  url_citation: { url, title, start_index, end_index, ...more },
})
const CITED = { content: 'the capital' }

test('what a messages server found and cites, as chat says it', async (t) => {
  const { provider } = await anthropicBench(t, speaking({ content: SEARCHED }, 4))
  const call = providerCall()
  const whole = await completion(provider, call)
  const { message } = whole.choices[0]!
  t.equal(message.content, 'I look it up. Bern is the capital, of course.')
  t.strictSame(message.annotations, [
    annotation('https://a.example', 'A', 14, 14),
    annotation('https://b.example', 'https://b.example', 14, 14),
    annotation('https://a.example', 'A', 14, 33, CITED),
    annotation('https://c.example', 'https://c.example', 14, 33, CITED),
  ])
  t.same([...call.droppedFields].sort(), [
    'answer.citations',
    'answer.server_tool_use',
    'answer.web_search_tool_result',
  ])
  const streaming = providerCall({ stream: true })
  const stream = streamed(provider, streaming)
  await stream.end.opened
  t.strictSame(assembledCompletion(stream.events), whole)
  t.same([...streaming.droppedFields].sort(), [...call.droppedFields].sort())
})

test('what a chat server cites, as messages say it', async (t) => {
  const annotations = [
    annotation('https://a.example', 'A', 0, 4),
    { type: 'file', file: { hash: 'h', name: 'n', content: [] } },
  ]
  const { provider } = await openAiBench(t, (peer, { body }) => {
    if (!(JSON.parse(body) as { stream: boolean }).stream)
      peer.json({ choices: [{ message: { content: 'Bern', annotations }, finish_reason: 'stop' }] })
    else peer.stream([chunk({ content: 'Bern' }), chunk({ annotations }), chunk({}, 'stop')])
  })
  const early = await openAiBench(t, (peer) =>
    peer.stream([chunk({ annotations }), chunk({ content: 'Bern' }), chunk({}, 'stop')]),
  )
  const face = messagesOverChat(provider)
  const call = messagesCall()
  const whole = (await wholeMessage(face, call)) as MessagesAnswer
  t.strictSame(whole.content, [
    {
      type: 'text',
      text: 'Bern',
      citations: [
        {
          type: 'web_search_result_location',
          url: 'https://a.example',
          title: 'A',
          cited_text: '',
          encrypted_index: '',
        },
      ],
    },
  ])
  t.same(call.droppedFields, ['answer.annotations'])
  // Some servers tell what they have found before they begin to speak.
  for (const each of [face, messagesOverChat(early.provider)]) {
    const streaming = messagesCall({ stream: true })
    const stream = streamedMessages(each, streaming)
    await stream.end.opened
    t.strictSame(assembledMessage(stream.events).content, whole.content)
    t.same(streaming.droppedFields, ['answer.annotations'])
  }

  // A messages server knows no index of a search that it has not made.
  const back = messagesCall({ messages: [{ role: 'assistant', content: whole.content }] })
  const body = buildMessagesBody(back, false) as { readonly messages: object }
  t.strictSame(body.messages, [
    { role: 'assistant', content: [{ type: 'text', text: 'Bern', citations: null }] },
  ])
  t.same(back.droppedFields, ['messages.citations'])
})

test('an annotation of no text is named', async (t) => {
  const annotations = [annotation('https://a.example', 'A', 0, 0)]
  const { provider } = await openAiBench(t, (peer, { body }) => {
    if (!(JSON.parse(body) as { stream: boolean }).stream)
      peer.json({ choices: [{ message: { content: null, annotations }, finish_reason: 'stop' }] })
    else peer.stream([chunk({ annotations }), chunk({}, 'stop')])
  })
  for (const stream of [false, true]) {
    const call = messagesCall({ stream })
    if (stream) await streamedMessages(messagesOverChat(provider), call).end.opened
    else await wholeMessage(messagesOverChat(provider), call)
    t.same(call.droppedFields, ['answer.annotations'])
  }
})

test('as many results as an answer can hold', async (t) => {
  const content = Array.from({ length: 200_000 }, () => ({ url: 'a' }))
  const block = { type: 'web_search_tool_result', tool_use_id: 's1', content }
  const { provider } = await anthropicBench(t, speaking({ content: [block, SEARCHED[0]!] }))
  const whole = await completion(provider, providerCall())
  t.equal(whole.choices[0]!.message.annotations?.length, 200_000)
})
