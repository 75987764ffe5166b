/**
 * A coding agent's conversation in the messages format as it is sent again with every step: a long prompt, a dozen
 * tools, and rounds of calls with files for results.
 */
import { type RequestSpec, requestBytes } from '../../harness/http/requests.js'
import { type CallTarget, SLUICE_MESSAGES } from './calls.js'

const ROUNDS = 40
const TOOLS = 12
const BYTES = 400 * 1024
const EPHEMERAL = { type: 'ephemeral' }

/** Lines of code: quotes, indents and a letter beyond ASCII now and then, as in a real file. */
function codeText(round: number, bytes: number): string {
  const lines: string[] = []
  for (let size = 0, line = 1; size < bytes; line++) {
    const text = `  const value${line} = read("file-${round}", { line: ${line}, label: 'größe' }) // ${round * line}\n`
    lines.push(text)
    size += text.length
  }
  return lines.join('').slice(0, bytes)
}

function toolDefinition(index: number): object {
  const field = (name: string): object => ({
    type: 'string',
    description: `What ${name} is, told in a sentence.`,
  })
  return {
    name: `tool_${index}`,
    description: `Does the work of tool ${index}. ${'It has much to say about when to use it. '.repeat(20)}`,
    input_schema: {
      type: 'object',
      properties: { path: field('path'), pattern: field('pattern'), limit: { type: 'integer' } },
      required: ['path'],
    },
  }
}

function conversationRound(index: number, bytes: number): object[] {
  const id = `toolu_${String(index).padStart(8, '0')}`
  const input = { path: `src/file-${index}.ts`, pattern: 'a "quoted" one', limit: index }
  const thinking = {
    type: 'thinking',
    thinking: 'I look at the next file.',
    signature: 'c2lnbmF0dXJl'.repeat(20),
  }
  return [
    {
      role: 'assistant',
      content: [
        thinking,
        { type: 'text', text: `File ${index} is next.` },
        { type: 'tool_use', id, name: `tool_${index % TOOLS}`, input },
      ],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: codeText(index, bytes) }] },
  ]
}

/** The JSON of a conversation of about 400 KiB with 40 calls. */
export function agentConversation(model: string): string {
  const fixed = JSON.stringify(conversationRequest(model, 0)).length
  return JSON.stringify(conversationRequest(model, Math.floor((BYTES - fixed) / ROUNDS / 1.04)))
}

function conversationRequest(model: string, bytes: number): object {
  return {
    model,
    max_tokens: 4096,
    system: [{ type: 'text', text: 'You change code with care. '.repeat(300), cache_control: EPHEMERAL }],
    tools: Array.from({ length: TOOLS }, (_, index) => toolDefinition(index)),
    messages: [
      { role: 'user', content: 'Make the tests pass.' },
      ...Array.from({ length: ROUNDS }, (_, index) => conversationRound(index, bytes)).flat(),
    ],
  }
}

/** The bytes of the call, for our server or, under the mock's own name of the model, for the mock. */
export function agentCall(model: string, to: CallTarget = SLUICE_MESSAGES): Buffer {
  const spec: RequestSpec = {
    method: 'POST',
    route: to.path,
    path: to.path,
    headers: to.headers,
    body: agentConversation(model),
  }
  return requestBytes(spec)
}
