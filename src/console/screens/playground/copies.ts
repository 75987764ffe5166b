/** The last call as a command and as programs; the key is a variable, and what files held is named instead of shown. */
import { apiUrl, postCommand } from '../command.ts'
import { FORMATS, type Request, type Said } from './formats.ts'
import { soundCall } from './sound.ts'
import type { SoundKind } from './wire.ts'

export const COPIES = [
  'curl',
  'openai-python',
  'openai-node',
  'anthropic-python',
  'anthropic-typescript',
] as const
export type Copied = (typeof COPIES)[number]

type Body = Readonly<Record<string, unknown>>

/** Members that the Python libraries know; others are `extra_body`. */
const KNOWN =
  /^(model|messages|system|temperature|max_tokens|modalities|audio|thinking|tools|stream|stream_options)$/

export function copyOf(as: Copied, request: Request, turns: readonly Said[]): string {
  const shown = turns.map((turn) => ({
    ...turn,
    files: turn.files?.map((file) => ({ ...file, base64: `BASE64_OF_${file.name}` })),
  }))
  const bodyIn = (format: Request['format']): Body => FORMATS[format].body({ ...request, format }, shown)
  switch (as) {
    case 'curl':
      if (request.sound !== null) return soundCurl(request.sound, request, shown)
      return curl(FORMATS[request.format].path, bodyIn(request.format))
    case 'openai-python':
      return openaiPython(bodyIn('chat'))
    case 'openai-node':
      return openaiNode(bodyIn('chat'))
    case 'anthropic-python':
      return anthropicPython(withoutStream(bodyIn('messages')))
    case 'anthropic-typescript':
      return anthropicTypescript(withoutStream(bodyIn('messages')))
  }
}

/** Their method says it. */
function withoutStream({ stream: _, ...body }: Body): Body {
  return body
}

function curl(path: string, body: Body): string {
  return postCommand(path, body, 'API_KEY', 2)
}

function soundCurl(kind: SoundKind, request: Request, turns: readonly Said[]): string {
  const { path, body } = soundCall(kind, request, turns)
  return `${curl(path, body)}${kind === 'speech' ? ' -o answer.mp3' : ''}`
}

function openaiPython(body: Body): string {
  return `import os
from openai import OpenAI

client = OpenAI(base_url="${apiUrl('/v1')}", api_key=os.environ["API_KEY"])
for chunk in client.chat.completions.create(${keywords(body)}):
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="", flush=True)`
}

function anthropicPython(body: Body): string {
  return `import os
from anthropic import Anthropic

client = Anthropic(base_url="${apiUrl('')}", api_key=os.environ["API_KEY"])
with client.messages.stream(${keywords(body)}) as stream:
    for text in stream.text_stream:
        print(text, end="", flush=True)`
}

function openaiNode(body: Body): string {
  return `import OpenAI from 'openai'

const client = new OpenAI({ baseURL: '${apiUrl('/v1')}', apiKey: process.env.API_KEY })
const stream = await client.chat.completions.create(${JSON.stringify(body, null, 2)})
for await (const { choices } of stream) process.stdout.write(choices[0]?.delta.content ?? '')`
}

function anthropicTypescript(body: Body): string {
  return `import Anthropic from '@anthropic-ai/sdk'

const client = new Anthropic({ baseURL: '${apiUrl('')}', apiKey: process.env.API_KEY })
const stream = client.messages.stream(${JSON.stringify(body, null, 2)})
stream.on('text', (text) => process.stdout.write(text))
await stream.finalMessage()`
}

function keywords(body: Body): string {
  const all = Object.entries(body)
  const extra = all.filter(([name]) => !KNOWN.test(name))
  const named = all.filter(([name]) => KNOWN.test(name))
  const given = extra.length === 0 ? named : [...named, ['extra_body', Object.fromEntries(extra)] as const]
  return `\n${given.map(([name, value]) => `    ${name}=${python(value)},\n`).join('')}`
}

function python(value: unknown): string {
  if (value === null) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (Array.isArray(value)) return `[${value.map(python).join(', ')}]`
  if (typeof value !== 'object') return JSON.stringify(value)
  const members = Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${python(each)}`)
  return `{${members.join(', ')}}`
}
