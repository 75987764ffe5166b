/** A simulated MCP server: what it answers to one message of the protocol. It keeps nothing and dials nobody. */
import type { JsonObject } from '../../gateway/formats/json-values.js'

const REVISION = '2025-06-18'

const METHOD_NOT_FOUND = -32_601
const INVALID_PARAMS = -32_602

/** A red dot. */
const PICTURE =
  'iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO9TXL0Y4OHwAAAABJRU5ErkJggg=='

interface SimulatedMcpTool {
  readonly description: string
  readonly properties: JsonObject
  readonly required: readonly string[]
  /** The result; null where it never answers. */
  answer(args: JsonObject): JsonObject | null
}

const text = (value: string): JsonObject => ({ content: [{ type: 'text', text: value }] })
const failure = (value: string): JsonObject => ({ ...text(value), isError: true })
const string = { type: 'string' }
const number = { type: 'number' }

const TOOLS: Readonly<Record<string, SimulatedMcpTool>> = {
  echo: {
    description: 'Says what it is told.',
    properties: { message: string },
    required: ['message'],
    answer: ({ message }) => text(`Echo: ${String(message)}`),
  },
  add: {
    description: 'Adds two numbers.',
    properties: { a: number, b: number },
    required: ['a', 'b'],
    answer: ({ a, b }) =>
      typeof a === 'number' && typeof b === 'number'
        ? text(`${a} + ${b} = ${a + b}`)
        : failure('a and b must be numbers'),
  },
  picture: {
    description: 'Shows a small picture.',
    properties: {},
    required: [],
    answer: () => ({
      content: [
        { type: 'text', text: 'A red dot:' },
        { type: 'image', data: PICTURE, mimeType: 'image/png' },
      ],
    }),
  },
  document: {
    description: 'Gives a document, with a link to another one.',
    properties: {},
    required: [],
    answer: () => ({
      content: [
        {
          type: 'resource',
          resource: { uri: 'sim://tides', mimeType: 'text/plain', text: 'The tide is in.' },
        },
        { type: 'resource_link', uri: 'sim://moon', name: 'moon' },
      ],
    }),
  },
  fail: {
    description: 'Fails.',
    properties: {},
    required: [],
    answer: () => failure('This tool always fails.'),
  },
  hang: { description: 'Never answers.', properties: {}, required: [], answer: () => null },
}

/** The answer to a message; null where there is none, as to notifications. */
export function answerMcpMessage(message: JsonObject): JsonObject | null {
  const { id, method, params } = message
  if (id === undefined || typeof method !== 'string') return null
  const told = answerTo(method, (params ?? {}) as JsonObject)
  return told === null ? null : { jsonrpc: '2.0', id, ...told }
}

function answerTo(method: string, params: JsonObject): JsonObject | null {
  if (method === 'initialize') {
    const serverInfo = { name: 'sluice-simulated', version: '1' }
    return { result: { protocolVersion: REVISION, capabilities: { tools: {} }, serverInfo } }
  }
  if (method === 'ping') return { result: {} }
  if (method === 'tools/list') {
    const tools = Object.entries(TOOLS).map(([name, { description, properties, required }]) => ({
      ...{ name, description },
      inputSchema: { type: 'object', properties, required },
    }))
    return { result: { tools } }
  }
  if (method !== 'tools/call') return error(METHOD_NOT_FOUND, `there is no ${method}`)
  const name = String(params.name)
  const tool = Object.hasOwn(TOOLS, name) ? TOOLS[name] : undefined
  if (tool === undefined) return error(INVALID_PARAMS, `there is no tool ${name}`)
  const result = tool.answer((params.arguments ?? {}) as JsonObject)
  return result === null ? null : { result }
}

function error(code: number, message: string): JsonObject {
  return { error: { code, message } }
}
