/** A provider as the first hour meets one: it tells its models, wants its key, and streams in both formats. */
import type { Test } from 'tap'
import { chunk } from '../data/chat-answers.js'
import { sendEvents, wireEvents } from './mock-anthropic.js'
import { type MockRequest, type MockUpstream, mockUpstream, type Peer } from './mock-upstream.js'

/** What it says to everything. */
export const FAKE_ANSWER = 'Hello from there.'

/** Null for a provider that wants no key. Ends with the test. */
export function fakeProvider(
  t: Test,
  models: readonly string[],
  key: string | null = null,
): Promise<MockUpstream> {
  return mockUpstream(t, (peer, request) => {
    if (key !== null && keyOf(request) !== key) peer.json({ error: { message: 'no such key' } }, 401)
    else if (request.method === 'GET') peer.json({ data: models.map((id) => ({ id })) })
    else streamAnswer(peer, request.path)
  })
}

function keyOf({ headers }: MockRequest): string | undefined {
  return headers['x-api-key'] ?? headers.authorization?.replace('Bearer ', '')
}

function streamAnswer(peer: Peer, path: string): void {
  if (path.endsWith('/messages')) {
    sendEvents(peer, wireEvents({ content: [{ type: 'text', text: FAKE_ANSWER }] }))
    return
  }
  const [first, ...rest] = FAKE_ANSWER.split(/(?<= )/)
  peer.stream([
    chunk({ role: 'assistant', content: first }),
    ...rest.map((content) => chunk({ content })),
    chunk({}, 'stop', { usage: { prompt_tokens: 4, completion_tokens: 4, total_tokens: 8 } }),
  ])
}

/** The words of a stream of ours, in either format. */
export function streamedText(stream: string): string {
  return stream
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice('data: '.length)))
    .map(({ choices, delta }) => choices?.[0]?.delta?.content ?? delta?.text ?? '')
    .join('')
}
