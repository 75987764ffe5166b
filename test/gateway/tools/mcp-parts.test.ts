/** What functions of MCP servers are called, and how their results are shown. */
import type { CallToolResult } from '@modelcontextprotocol/client'
import fc from 'fast-check'
import { test } from 'tap'
import { functionNames } from '../../../src/gateway/tools/mcp/function-names.js'
import { Pace } from '../../../src/gateway/tools/mcp/pace.js'
import { showResult } from '../../../src/gateway/tools/mcp/result-content.js'

test('whatever a server calls its tools, each has a name of its own that providers take', (t) => {
  const names = fc.uniqueArray(
    fc.oneof(fc.string({ maxLength: 100 }), fc.constantFrom('a b', 'a_b', 'a.b', 'x'.repeat(90))),
  )
  fc.assert(
    fc.property(fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/), names, (label, tools) => {
      const functions = functionNames(label, tools)
      t.ok(functions.every((name) => /^[A-Za-z0-9_-]{1,64}$/.test(name)))
      t.equal(new Set(functions).size, tools.length)
      t.same(functionNames(label, tools), functions, 'the same in every process')
    }),
  )
  t.same(functionNames('docs', ['search', 'read-page']), ['docs__search', 'docs__read-page'])
  t.match(functionNames('docs', ['a b', 'a_b']), [/^docs__a_b_[0-9a-f]{8}$/, 'docs__a_b'])
  t.end()
})

const picture = { type: 'image', data: 'iVBORw0KGgo=', mimeType: 'image/png' } as const

function shown(content: readonly object[], mostChars = 1_000, more: Partial<CallToolResult> = {}) {
  return showResult({ content, ...more } as CallToolResult, mostChars)
}

test('texts stand one below the other, and of what is no text there is a word', (t) => {
  t.same(
    shown([
      { type: 'text', text: 'One.' },
      { type: 'resource', resource: { uri: 'a://1', text: 'Two.' } },
      { type: 'resource', resource: { uri: 'a://2', mimeType: 'application/pdf', blob: 'AAAA' } },
      { type: 'resource_link', uri: 'a://3', name: 'three' },
      { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' },
    ]),
    {
      text: 'One.\na://1:\nTwo.\n[file a://2 application/pdf]\n[three](a://3)\n[audio audio/wav]',
      images: [],
    },
  )
  t.same(shown([], 100, { structuredContent: { n: 1 } }).text, '{"n":1}', 'where nothing else is there')
  t.end()
})

test('pictures go along, four at most, and only what is a picture', (t) => {
  const { text, images } = shown([
    picture,
    { ...picture, mimeType: 'image/svg+xml' },
    { ...picture, data: '"><x' },
  ])
  t.same(images, ['data:image/png;base64,iVBORw0KGgo='])
  t.equal(text, '[picture 1]\n[image image/svg+xml]\n[image image/png]')
  const many = shown(new Array(9).fill(picture))
  t.equal(many.images.length, 4)
  t.match(many.text, /\[picture 4\]\n\[a further picture\]/)
  t.end()
})

test('what is too long is cut, never within a character, and says so', (t) => {
  const { text } = shown([{ type: 'text', text: `${'x'.repeat(9)}😀${'y'.repeat(100)}` }], 10)
  t.equal(text, `${'x'.repeat(9)}\n[cut: 111 characters in all]`)
  t.end()
})

test('of a server that says much nothing is read until the second is over', (t) => {
  const pace = new Pace()
  const lines = (count: number) => Buffer.from('{}\n'.repeat(count))
  t.equal(pace.take(lines(2_000), 10), 0)
  t.equal(pace.take(Buffer.alloc(1_000_000, 'x'), 200), 0, 'one long line is one message')
  t.equal(pace.take(lines(1), 410), 600)
  t.equal(pace.take(lines(2_000), 1_010), 0, 'the next second is another one')
  t.end()
})
