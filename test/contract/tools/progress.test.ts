/** How a stream that runs tools stays alive while it has nothing to say (contract/tools 1.5). */
import { test } from 'tap'
import type { ToolProgress } from '../../../src/gateway/loop/ports.js'
import type { HttpCall, Reply } from '../../../src/http/endpoint.js'
import { FirstEventTimers } from '../../../src/http/event-stream.js'
import { StreamReply } from '../../../src/inference-http/stream-reply.js'
import type { StreamResponseBody } from '../../../src/transport/exchange.js'
import { LoopBench, scriptedTool, tooling } from '../../support/tools/loop-bench.js'

const BEGUN: ToolProgress = { state: 'started', name: 'web_search', callId: 'c', step: 2, most: 30 }

/** The reply to a call whose model has called a tool before it said anything; null while it is not begun. */
async function replyTo(headers: Readonly<Record<string, string>>) {
  const { root } = await new LoopBench([], [scriptedTool('look')]).prepare({ tooling: tooling(['look']) })
  const call = { header: (name: string) => headers[name.toLowerCase()] ?? '', onAbort: () => {} }
  const encoder = { event: () => '', end: () => '', failure: () => '' }
  const replies: Reply[] = []
  const reply = new StreamReply(
    root,
    encoder,
    call as unknown as HttpCall,
    new FirstEventTimers(15_000),
    (begun) => replies.push(begun),
    () => {},
  )
  reply.begin({ pause: () => {}, resume: () => {}, cancel: () => {} })
  reply.onToolProgress(BEGUN)
  const body = (replies[0]?.body ?? null) as StreamResponseBody | null
  const written: string[] = []
  body?.start({
    write: (text: string) => written.push(text) > 0,
    end: () => {},
    onAbort: () => {},
    onDrain: () => {},
  } as never)
  return { body, text: written.join('') }
}

test('a tool that begins begins the stream, whose silence is broken from then on', async (t) => {
  const { body, text } = await replyTo({})
  t.equal(text, ': service tool web_search 2/30\n\n')
  t.equal(body!.heartbeat, ': SERVICE PROCESSING\n\n', 'for as long as the tool runs')
})

test('a caller who wants no comments gets none', async (t) => {
  t.strictSame(await replyTo({ 'x-service-keep-alive': 'disabled' }), { body: null, text: '' })
})
