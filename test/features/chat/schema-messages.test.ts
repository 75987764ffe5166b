/** The five kinds of message and the kinds of content part (contract/gateway 2.2, 2.3; contract/decisions 34). */
import { test } from 'tap'
import { decoded, refusal, withMessage, withPart } from './chat-bodies.js'

const call = { id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }
const calling = { role: 'assistant', content: null, tool_calls: [call] }
const TEXT = { type: 'text', text: 'a' }

const TAKEN: readonly (readonly [name: string, ...messages: object[]])[] = [
  ['system with text', { role: 'system', content: 'a', name: 'n' }],
  ['system with text parts', { role: 'system', content: [TEXT] }],
  [
    'system with an effort from here on',
    { role: 'system', content: 'a', configuration_update: { reasoning: { effort: 'low' } } },
  ],
  ['developer with no update', { role: 'developer', content: 'a', configuration_update: null }],
  ['user with an empty text', { role: 'user', content: '' }],
  ['user with no parts', { role: 'user', content: [] }],
  ['assistant with text', { role: 'assistant', content: 'a', refusal: null, reasoning: null, model: 'a/b' }],
  ['assistant with parts', { role: 'assistant', content: [TEXT] }],
  ['assistant with a call and null', calling],
  ['assistant with a call and no content', { role: 'assistant', tool_calls: [call] }],
  ['assistant with a refusal only', { role: 'assistant', refusal: 'no' }],
  ['assistant with null content', { role: 'assistant', content: null }],
  [
    'assistant with audio',
    { role: 'assistant', content: null, audio: { id: 'a', data: 'AA==', transcript: 't', expires_at: 1 } },
  ],
  [
    'assistant with pictures',
    {
      role: 'assistant',
      content: '',
      images: [{ type: 'image_url', image_url: { url: 'https://a/b.png' } }],
    },
  ],
  [
    'assistant with reasoning details of every kind and one to come',
    {
      role: 'assistant',
      content: 'a',
      reasoning_details: [
        { type: 'reasoning.text', text: null, signature: 's', id: null, format: 'unknown', index: 0 },
        { type: 'reasoning.summary', summary: 's' },
        { type: 'reasoning.encrypted', data: 'd' },
        { type: 'reasoning.server_tool_call', tool_name: 'x', arguments: '{}', result: 'r' },
        { type: 'reasoning.new', shape: { any: [1] } },
      ],
    },
  ],
  ['tool answering a call', calling, { role: 'tool', tool_call_id: 'c1', content: 'a' }],
  ['tool answering with parts', calling, { role: 'tool', tool_call_id: 'c1', content: [TEXT] }],
]

for (const [name, ...messages] of TAKEN) {
  test(`a message is taken and comes out as it went in: ${name}`, async (t) => {
    const input = withMessage(...messages)
    t.equal(refusal(input), null)
    t.strictSame(decoded(input), input)
  })
}

const REFUSED: readonly (readonly [message: unknown, sentence: string])[] = [
  ['hi', ': must be an object'],
  [{ content: 'a' }, '.role: is required'],
  [{ role: 'wizard', content: 'a' }, '.role: must be one of system, developer, user, assistant, tool'],
  [
    { role: 'function', content: 'a', name: 'f' },
    '.role: must be one of system, developer, user, assistant, tool',
  ],
  [{ role: 5, content: 'a' }, '.role: must be one of system, developer, user, assistant, tool'],
  [{ role: 'system' }, '.content: is required'],
  [{ role: 'system', content: null }, '.content: must be a string or an array'],
  [
    { role: 'system', content: [{ type: 'image_url', image_url: { url: 'https://a' } }] },
    '.content.0.type: must be text',
  ],
  [{ role: 'system', content: 'a', name: 5 }, '.name: must be a string'],
  [
    { role: 'system', content: 'a', configuration_update: { reasoning: { effort: 'huge' } } },
    '.configuration_update.reasoning.effort: must be one of max, xhigh, high, medium, low, minimal, none',
  ],
  [
    { role: 'developer', content: 'a', configuration_update: { reasoning: { effort: 'low' }, more: 1 } },
    '.configuration_update: has a member that is not allowed',
  ],
  [
    { role: 'developer', content: 'a', configuration_update: { reasoning: { effort: 'low', more: 1 } } },
    '.configuration_update.reasoning: has a member that is not allowed',
  ],
  [{ role: 'user' }, '.content: is required'],
  [{ role: 'user', content: 5 }, '.content: must be a string or an array'],
  [{ role: 'user', content: {} }, '.content: must be a string or an array'],
  [{ role: 'user', content: null }, '.content: must be a string or an array'],
  [{ role: 'user', content: ['a'] }, '.content.0: must be an object'],
  [{ role: 'assistant' }, '.content: is required'],
  [{ role: 'assistant', tool_calls: null }, '.content: is required'],
  [{ role: 'assistant', content: 5 }, '.content: must be a string or an array'],
  [{ role: 'assistant', content: 'a', refusal: 5 }, '.refusal: must be a string'],
  [{ role: 'assistant', content: 'a', reasoning: [] }, '.reasoning: must be a string'],
  [{ role: 'assistant', content: 'a', model: 5 }, '.model: must be a string'],
  [{ role: 'assistant', tool_calls: {} }, '.tool_calls: must be an array'],
  [{ role: 'assistant', tool_calls: [{ ...call, id: undefined }] }, '.tool_calls.0.id: is required'],
  [
    { role: 'assistant', tool_calls: [{ ...call, id: '' }] },
    '.tool_calls.0.id: must have at least 1 character',
  ],
  [{ role: 'assistant', tool_calls: [{ ...call, type: 'custom' }] }, '.tool_calls.0.type: must be function'],
  [
    { role: 'assistant', tool_calls: [{ ...call, function: { name: 'f' } }] },
    '.tool_calls.0.function.arguments: is required',
  ],
  [
    { role: 'assistant', tool_calls: [{ ...call, function: { name: 'f', arguments: {} } }] },
    '.tool_calls.0.function.arguments: must be a string',
  ],
  [{ role: 'assistant', content: 'a', audio: { expires_at: 'x' } }, '.audio.expires_at: must be an integer'],
  [{ role: 'assistant', content: 'a', images: [{}] }, '.images.0.image_url: is required'],
  [
    { role: 'assistant', content: 'a', reasoning_details: [{ text: 'a' }] },
    '.reasoning_details.0.type: is required',
  ],
  [
    { role: 'assistant', content: 'a', reasoning_details: [{ type: 'a', text: 5 }] },
    '.reasoning_details.0.text: must be a string',
  ],
  [{ role: 'tool', content: 'a' }, '.tool_call_id: is required'],
  [{ role: 'tool', tool_call_id: 'c1' }, '.content: is required'],
  [
    { role: 'tool', tool_call_id: 'c1', content: 'a' },
    '.tool_call_id: answers no call of an earlier assistant message',
  ],
]

test('a message of a wrong shape is refused with its place', async (t) => {
  for (const [message, sentence] of REFUSED)
    t.equal(refusal(withMessage(message as object)), `messages.1${sentence}`, JSON.stringify(message))
})

test('a tool result must follow the call it answers', async (t) => {
  const result = { role: 'tool', tool_call_id: 'c1', content: 'a' }
  const sentence = 'tool_call_id: answers no call of an earlier assistant message'
  t.equal(refusal(withMessage(calling, { role: 'user', content: 'wait' }, result)), null)
  t.equal(refusal(withMessage(result, calling)), `messages.1.${sentence}`)
  t.equal(refusal(withMessage(calling, { ...result, tool_call_id: 'c2' })), `messages.2.${sentence}`)
})

test('null in an echoed answer counts as absent and is not passed on', async (t) => {
  const echo = { role: 'assistant', content: 'a', tool_calls: null, audio: null, images: null }
  const input = withMessage({ ...echo, reasoning_details: null, annotations: [], refusal: null })
  t.strictSame(decoded(input), withMessage({ role: 'assistant', content: 'a', refusal: null }))
})

// ── Content parts ───────────────────────────────────────────────────────────

const PNG = 'iVBORw0KGgoAAAANSUhEUg=='
const JPEG = '/9j/4AAQSkZJRg=='
const GIF = 'R0lGODlhAQABAA=='
const WEBP = 'UklGRv////9XRUJQVlA4TA=='
const image = (url: unknown, more: object = {}): object => ({
  type: 'image_url',
  image_url: { url, ...more },
})
const audio = (data: unknown, format: unknown = 'wav'): object => ({
  type: 'input_audio',
  input_audio: { data, format },
})

const PARTS: readonly object[] = [
  { type: 'text', text: '' },
  { type: 'text', text: 'a', cache_control: { type: 'ephemeral' }, prompt_cache_breakpoint: null },
  { type: 'text', text: 'a', prompt_cache_breakpoint: { mode: 'explicit' } },
  image('https://example.com/a.png', { detail: 'original' }),
  image('HTTP://example.com/a.png?b=c#d'),
  image(`data:image/png;base64,${PNG}`),
  image(`DATA:IMAGE/PNG;BASE64,${PNG}`),
  image(`data:image/png;charset=utf-8;base64,${PNG}`),
  image(`data:image/jpeg;base64,${JPEG}`),
  image(`data:image/jpg;base64,${JPEG}`),
  image(`data:image/gif;base64,${GIF}`),
  image(`data:image/webp;base64,${WEBP}`),
  image('data:image/avif;base64,AAAA'),
  image('data:image/svg+xml,%3Csvg%2F%3E'),
  image(`data:image/png;base64,${PNG.slice(0, 16)}${'A'.repeat(100_000)}=`),
  audio('UklGRg=='),
  audio('AA', 'pcm16'),
  { type: 'video_url', video_url: { url: 'https://example.com/v', processing: 'static' } },
  { type: 'video_url', video_url: { url: 'data:video/mp4;base64,AAAA' } },
  { type: 'input_video', video_url: { url: 'https://example.com/v' } },
  { type: 'file', file: { file_data: 'data:application/pdf;base64,JVBERi0=', filename: 'a.pdf' } },
  { type: 'file', file: { file_data: 'https://example.com/a.pdf' } },
  { type: 'file', file: { file_id: 'file_1' }, cache_control: { type: 'ephemeral', ttl: '5m' } },
]

test('a content part of every kind is taken and comes out as it went in', async (t) => {
  for (const part of PARTS) {
    t.equal(refusal(withPart(part)), null, JSON.stringify(part).slice(0, 100))
    t.strictSame(decoded(withPart(part)), withPart(part))
  }
})

const LINK = 'must be an http or https URL or a data URL of type image/*'
const LIE = 'has a media type that contradicts its data'
const KINDS = 'text, image_url, input_audio, video_url, input_video, file'

const WRONG_PARTS: readonly (readonly [part: object, sentence: string])[] = [
  [{}, 'type: is required'],
  [{ type: 'smell' }, `type: must be one of ${KINDS}`],
  [{ type: 'text' }, 'text: is required'],
  [{ type: 'text', text: null }, 'text: must be a string'],
  [{ type: 'text', text: 'a', cache_control: 'yes' }, 'cache_control: must be an object'],
  [
    { type: 'text', text: 'a', prompt_cache_breakpoint: { mode: 'x' } },
    'prompt_cache_breakpoint.mode: must be explicit',
  ],
  [{ type: 'image_url' }, 'image_url: is required'],
  [{ type: 'image_url', image_url: 'https://a' }, 'image_url: must be an object'],
  [{ type: 'image_url', image_url: {} }, 'image_url.url: is required'],
  [image('https://a', { detail: 'max' }), 'image_url.detail: must be one of auto, low, high, original'],
  [image(5), 'image_url.url: must be a string'],
  ...['', 'a.png', 'ftp://a/b.png', 'file:///etc/passwd', 'https://', 'javascript:alert(1)'].map(
    (url) => [image(url), `image_url.url: ${LINK}`] as const,
  ),
  ...[
    'data:',
    'data:image/png',
    'data:image/png;base64',
    'data:image/png;base64,',
    'data:;base64,AAAA',
    'data:image;base64,AAAA',
    `data:image/png;base64,${PNG.slice(0, 10)}!`,
    `data:image/png;base64,${PNG.slice(0, 8)}=AAA`,
    `data:image/png;base64,${PNG.slice(0, 16)}${'A'.repeat(10_000)}*`,
    // Padding in the middle: at the last character that is looked at from the start.
    `data:image/png;base64,${PNG.slice(0, 16)}${'A'.repeat(4079)}=${'A'.repeat(10_000)}`,
    'data:image/avif;base64,AAAAA',
    `data:image/png;${'a'.repeat(2000)};base64,AAAA`,
  ].map((url) => [image(url), 'image_url.url: is a malformed data URL'] as const),
  [image('data:text/plain;base64,AAAA'), `image_url.url: ${LINK}`],
  ...[
    `data:image/png;base64,${JPEG}`,
    `data:image/jpeg;base64,${PNG}`,
    `data:image/gif;base64,${WEBP}`,
    `data:image/webp;base64,${GIF}`,
    'data:image/png;base64,AAAA',
    'data:image/webp;base64,UklGRv////9XQVZFZm10IA==',
    `data:image/avif;base64,${PNG}`,
  ].map((url) => [image(url), `image_url.url: ${LIE}`] as const),
  [{ type: 'input_audio' }, 'input_audio: is required'],
  [audio(''), 'input_audio.data: must be base64 and not empty, or an http or https URL'],
  [audio('!!'), 'input_audio.data: must be base64 and not empty, or an http or https URL'],
  [
    audio('data:audio/wav;base64,AAAA'),
    'input_audio.data: must be base64 and not empty, or an http or https URL',
  ],
  [audio(5), 'input_audio.data: must be a string'],
  [audio('AAAA', null), 'input_audio.format: must be a string'],
  [audio('AAAA', ''), 'input_audio.format: must have at least 1 character'],
  [{ type: 'input_audio', input_audio: { data: 'AAAA' } }, 'input_audio.format: is required'],
  [{ type: 'video_url' }, 'video_url: is required'],
  [
    { type: 'video_url', video_url: { url: 'https://a', processing: 'slow' } },
    'video_url.processing: must be one of agentic, static',
  ],
  [
    { type: 'video_url', video_url: { url: `data:image/png;base64,${PNG}` } },
    'video_url.url: must be an http or https URL or a data URL of type video/*',
  ],
  [{ type: 'file' }, 'file: is required'],
  [{ type: 'file', file: {} }, 'file: needs file_data or file_id'],
  [{ type: 'file', file: { filename: 'a' } }, 'file: needs file_data or file_id'],
  [
    { type: 'file', file: { file_data: 'JVBERi0=' } },
    'file.file_data: must be an http or https URL or a data URL',
  ],
  [{ type: 'file', file: { file_id: 5 } }, 'file.file_id: must be a string'],
  [{ type: 'file', file: { file_data: `data:image/gif;base64,${PNG}` } }, `file.file_data: ${LIE}`],
]

test('a content part of a wrong shape is refused with its place', async (t) => {
  for (const [part, sentence] of WRONG_PARTS)
    t.equal(refusal(withPart(part)), `messages.0.content.0.${sentence}`, JSON.stringify(part).slice(0, 100))
})

test('members nobody knows are dropped from messages and parts', async (t) => {
  const input = withPart({ type: 'text', text: 'a', color: 'red' })
  t.strictSame(decoded(input), withPart({ type: 'text', text: 'a' }))
  t.strictSame(withPart({ type: 'text', text: 'a', color: 'red' }), input, 'the input itself is left alone')
})
