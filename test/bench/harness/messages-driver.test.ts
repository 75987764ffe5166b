import { createServer } from 'node:net'
import { type Test, test } from 'tap'
import { isCompleteBody } from '../../../bench/harness/http/requests.js'
import { isComplete, type StreamOutcome } from '../../../bench/harness/sse/checked-streams.js'
import { StreamConnection } from '../../../bench/harness/sse/stream-connection.js'
import { agentConversation } from '../../../bench/performance/gateway/agent-conversation.js'
import { messagesSpec } from '../../../bench/performance/gateway/calls.js'
import { jsonMessage, messageEvents } from '../../../bench/performance/gateway/mock-answers.js'
import { listen } from '../../support/servers/listen.js'

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: '
const EVENTS = messageEvents('bench/stream-5', 5).map((bytes) => Buffer.from(bytes).toString())
const EXPECTED = { tokens: 5, tag: '', format: 'messages' } as const

async function driven(t: Test, events: readonly string[]): Promise<StreamOutcome> {
  const body = events.join('')
  const server = createServer((socket) => {
    socket.once('data', () => socket.write(`${HEAD}${Buffer.byteLength(body)}\r\n\r\n${body}`))
  })
  const connection = await StreamConnection.open(await listen(t, server))
  const outcome = await connection!.call(Buffer.from('a request'), '', null, 'messages')
  connection!.leave()
  return outcome
}

test('a whole stream of messages is complete, and not without any of its parts', async (t) => {
  t.ok(isComplete(await driven(t, EVENTS), EXPECTED))
  const without = (type: string) => EVENTS.filter((event) => !event.startsWith(`event: ${type}\n`))
  for (const type of ['content_block_delta', 'message_delta', 'message_stop']) {
    t.notOk(isComplete(await driven(t, without(type)), EXPECTED), type)
  }
  const swapped = [...EVENTS.slice(0, 2), EVENTS[3]!, EVENTS[2]!, ...EVENTS.slice(4)]
  t.equal((await driven(t, swapped)).disordered, 3)
})

test('the specs of messages know a whole answer', async (t) => {
  const { answer } = messagesSpec('messages/json')
  t.ok(isCompleteBody(answer!, jsonMessage('bench/json')))
  t.notOk(isCompleteBody(answer!, jsonMessage('bench/json').slice(0, 200)))
  const stream = messagesSpec('messages/stream-64').answer!
  t.ok(isCompleteBody(stream, EVENTS.join('')))
  t.notOk(isCompleteBody(stream, EVENTS.slice(0, -1).join('')))
})

test('the agent’s conversation is about 400 KiB with 40 calls, each of them answered', async (t) => {
  const text = agentConversation('bench/json')
  t.ok(Math.abs(Buffer.byteLength(text) / 1024 - 400) < 20, `${Buffer.byteLength(text)} bytes`)
  t.equal(text.match(/"type":"tool_use"/g)?.length, 40)
  t.equal(text.match(/"type":"tool_result"/g)?.length, 40)
})
