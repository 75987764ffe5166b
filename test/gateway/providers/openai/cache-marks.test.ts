import { test } from 'tap'
import type { ChatRequest } from '../../../../src/gateway/formats/canonical.js'
import { defaultCacheControlUse, withMarksFor } from '../../../../src/gateway/providers/openai/cache-marks.js'
import { buildChatBody } from '../../../../src/gateway/providers/openai/provider.js'
import { providerCall } from '../../../support/clients/openai-calls.js'

const MARK = { type: 'ephemeral' } as const
const BREAKPOINT = { mode: 'explicit' } as const
const SOUND = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } } as const
const FILM = { type: 'video_url', video_url: { url: 'https://example.com/a.mp4' } } as const
const said = (words: string, mark: object = {}) => ({ type: 'text', text: words, ...mark }) as const

const MARKED: Partial<ChatRequest> = {
  cache_control: MARK,
  messages: [
    { role: 'system', content: [said('s', { cache_control: MARK })] },
    {
      role: 'user',
      content: [
        { ...SOUND, cache_control: MARK },
        { ...FILM, prompt_cache_breakpoint: BREAKPOINT },
      ],
    },
    { role: 'assistant', content: [said('a', { cache_control: MARK }), said('b')] },
  ],
  tools: [{ type: 'function', function: { name: 'f' }, cache_control: MARK }],
}

test('marks go to servers that know them as they are, on parts of every kind', async (t) => {
  const call = providerCall(MARKED)
  const body = buildChatBody(call, false)
  t.strictSame(
    { cache_control: body.cache_control, messages: body.messages, tools: body.tools },
    { cache_control: MARK, messages: MARKED.messages, tools: MARKED.tools },
  )
  t.same(call.droppedFields, [])
})

test('servers that refuse them get none, and the caller is told', async (t) => {
  const call = providerCall(MARKED)
  const body = buildChatBody(call, false, 'left_out')
  t.notMatch(JSON.stringify(body), 'cache_control')
  t.match(JSON.stringify(body.messages), 'prompt_cache_breakpoint', 'the name of their own stays')
  t.same(call.droppedFields.sort(), ['cache_control', 'messages.cache_control', 'tools.cache_control'])
  const unmarked = providerCall()
  t.equal(withMarksFor(unmarked, 'left_out'), unmarked.request, 'nothing is copied')
  t.same(unmarked.droppedFields, [])
})

test('servers that have another name for them get that', async (t) => {
  const call = providerCall(MARKED)
  const body = buildChatBody(call, false, 'as_breakpoint')
  t.strictSame(body.messages, [
    { role: 'system', content: [said('s', { prompt_cache_breakpoint: BREAKPOINT })] },
    {
      role: 'user',
      content: [
        { ...SOUND, prompt_cache_breakpoint: BREAKPOINT },
        { ...FILM, prompt_cache_breakpoint: BREAKPOINT },
      ],
    },
    { role: 'assistant', content: [said('a'), said('b')] },
  ])
  t.same(call.droppedFields.sort(), ['cache_control', 'messages.cache_control', 'tools.cache_control'])
})

test('which servers those are', async (t) => {
  t.equal(defaultCacheControlUse('https://api.openai.com/v1'), 'left_out')
  t.equal(defaultCacheControlUse('https://mine.openai.azure.com/openai'), 'left_out')
  t.equal(defaultCacheControlUse('https://api.openai.com.example.com/v1'), 'as_sent')
  t.equal(defaultCacheControlUse('http://127.0.0.1:8000/v1'), 'as_sent')
})
