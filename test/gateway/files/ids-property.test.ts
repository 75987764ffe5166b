/** No id of a file passes as it is, in either direction, wherever it stands (contract/decisions 46, contract/gateway 8.3). */

import fc from 'fast-check'
import { test } from 'tap'
import { Fault } from '../../../src/base/fault.js'
import { inlineNamedFiles, withNamedFiles } from '../../../src/gateway/files/named-files.js'
import type { ChatRequest } from '../../../src/gateway/formats/canonical.js'
import type { ContentBlock, MessagesRequest } from '../../../src/gateway/formats/messages.js'
import { fileIdsIn, mayNameFiles, replaceFileIds } from '../../../src/gateway/providers/anthropic/file-ids.js'
import { buildMessagesBody } from '../../../src/gateway/providers/anthropic/provider.js'
import { refuseAccountReference } from '../../../src/gateway/providers/http/server.js'
import { buildChatBody } from '../../../src/gateway/providers/openai/provider.js'
import { atOnce } from '../../support/clients/gateway-calls.js'
import { messagesCall } from '../../support/clients/messages-face-calls.js'
import { callOf } from '../../support/clients/openai-calls.js'

const OURS = 'file_ours'
const THEIRS = 'canary_theirs'
const FILE = { id: OURS, filename: 'a.txt', mimeType: 'text/plain', sizeBytes: 5 }
const PNG = { ...FILE, mimeType: 'image/png' }

const id = fc.constantFrom(OURS, OURS, OURS, THEIRS)
const text = fc.constant({ type: 'text', text: 'words' })

/** What a request that goes to a provider says; null where it is refused. */
function sent<R extends ChatRequest | MessagesRequest>(
  request: R,
  file: typeof FILE,
  build: (request: R) => object,
): string | null {
  try {
    const found = { find: (asked: string) => (asked === OURS ? file : null) }
    const named = atOnce(withNamedFiles(request, () => found, 1_000))
    const read = () => ({ ...file, bytes: Buffer.from('hello') })
    const body = build(named.files === undefined ? named : inlineNamedFiles(named, read))
    return body instanceof Fault || refuseAccountReference(body) !== null ? null : JSON.stringify(body)
  } catch (error) {
    if (error instanceof Fault && ['item-not-found', 'bad-request'].includes(error.kind)) return null
    throw error
  }
}

test('a chat request', async (t) => {
  const part = fc.oneof(
    text,
    id.map((file_id) => ({ type: 'file', file: { file_id } })),
    id.map((file_id) => ({ type: 'image_url', image_url: { url: 'https://x/', file_id } })),
  )
  const message = fc.record({ role: fc.constantFrom('user', 'assistant', 'tool'), content: fc.array(part) })
  let passed = 0
  fc.assert(
    fc.property(fc.array(message, { maxLength: 4 }), fc.constantFrom(FILE, PNG), (messages, file) => {
      const request = { model: 'm', messages } as unknown as ChatRequest
      const body = sent(request, file, (ready) => buildChatBody(callOf(ready), false))
      if (body !== null) passed++
      if (body !== null && /file_id|file_ours|canary/.test(body)) throw new Error(body)
    }),
    { numRuns: 2_000 },
  )
  t.ok(passed > 100, `${passed} were sent`)
})

test('a messages request', async (t) => {
  const block = fc.letrec((tie) => {
    const inside = fc.array(tie('block'), { maxLength: 3 })
    return {
      block: fc.oneof(
        { maxDepth: 4 },
        text,
        id.map((file_id) => ({ type: 'image', source: { type: 'file', file_id } })),
        id.map((file_id) => ({ type: 'document', source: { type: 'file', file_id } })),
        id.map((file_id) => ({ type: 'container_upload', file_id })),
        inside.map((content) => ({ type: 'tool_result', tool_use_id: 'c', content })),
        inside.map((content) => ({ type: 'document', source: { type: 'content', content } })),
        fc.array(id).map((ids) => ({
          type: 'bash_code_execution_tool_result',
          tool_use_id: 's',
          content: { type: 'x', content: ids.map((file_id) => ({ type: 'code_execution_output', file_id })) },
        })),
        id.map((file_id) => ({ type: 'brand_new', deep: { file_id } })),
      ),
    }
  }).block
  const message = fc.record({ role: fc.constantFrom('user', 'assistant'), content: fc.array(block) })
  let passed = 0
  fc.assert(
    fc.property(fc.array(message, { maxLength: 4 }), fc.constantFrom(FILE, PNG), (messages, file) => {
      const request = { model: 'm', max_tokens: 9, messages } as unknown as MessagesRequest
      const body = sent(request, file, (ready) => buildMessagesBody(messagesCall(ready), false))
      if (body !== null) passed++
      // A block of an earlier answer becomes words, which name what the caller named.
      const said = body?.replace(/\[file \w+\]/g, '')
      if (said !== undefined && /file_id|file_ours|canary/.test(said)) throw new Error(said)
    }),
    { numRuns: 2_000 },
  )
  t.ok(passed > 100, `${passed} were sent`)
})

test('a block of an answer', async (t) => {
  const leaf = fc.oneof(
    fc.constant({ file_id: THEIRS }),
    fc.constant({ type: 'code_execution_output', file_id: THEIRS }),
    fc.constant({ file_id: null }),
    fc.constantFrom('words', 5, null, true),
  )
  const value = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      leaf,
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom('content', 'source', 'citations', 'a'), tie('value'), { maxKeys: 3 }),
    ),
  })).value
  const kind = fc.constantFrom(
    'text',
    'container_upload',
    'web_fetch_tool_result',
    'citations_delta',
    'brand_new',
  )
  let named = 0
  fc.assert(
    fc.property(
      kind,
      fc.dictionary(fc.constantFrom('content', 'citations', 'file_id', 'citation'), value),
      (type, more) => {
        const block = { ...more, type } as ContentBlock
        // What is handed on untouched holds none: only text without citations is.
        if (!mayNameFiles(block)) return
        const ids = fileIdsIn(block)
        named += ids.length
        for (const own of [null, { file_id: OURS }]) {
          const seen: string[] = []
          const said = JSON.stringify(
            replaceFileIds(block, (each) => {
              seen.push(each)
              return own
            }),
          )
          if (said.includes(THEIRS)) throw new Error(said)
          if (seen.join() !== ids.join())
            throw new Error('ids were seen that are not replaced, or the reverse')
        }
      },
    ),
    { numRuns: 3_000 },
  )
  t.ok(named > 500, `${named} ids were there`)
})
