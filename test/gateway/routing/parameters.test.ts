/** contract/decisions 46 and 62: what an endpoint does not take is left out and told, or the endpoint is not asked. */
import { test } from 'tap'
import type { ModelEndpoint } from '../../../src/gateway/catalog/catalog.js'
import type { ChatRequest } from '../../../src/gateway/formats/canonical.js'
import type { MessagesRequest } from '../../../src/gateway/formats/messages.js'
import { fitRequest, missingParameter, unmetDemand } from '../../../src/gateway/routing/parameters.js'

function endpointWith(
  parameters: readonly string[],
  extras: readonly string[] = [],
  kind = 'openai',
): ModelEndpoint {
  const provider = { kind, extraMembers: new Set(extras) }
  return { supportedParameters: new Set(parameters), provider } as unknown as ModelEndpoint
}

const HI = { model: 'a/b', messages: [{ role: 'user', content: 'hi' }] } as const
const chat = (more: object): ChatRequest => ({ ...HI, ...more })
const messages = (more: object): MessagesRequest => ({ ...HI, max_tokens: 5, ...more })

test('a request that says nothing more than the endpoint takes is handed on itself', async (t) => {
  const endpoint = endpointWith(['temperature'], ['*'])
  const left: string[] = []
  const request = chat({ temperature: 1, stream: true, provider: {}, session_id: 's', user: 'u' })
  t.equal(fitRequest(request, 'chat', endpoint, left), request)
  t.same(left, [])
})

const FITS: readonly (readonly [listed: string[], sent: object, goes: object, told: string[]])[] = [
  [[], { temperature: 0.5, seed: 1 }, {}, ['temperature', 'seed']],
  [['seed'], { temperature: 0.5, seed: 1 }, { seed: 1 }, ['temperature']],
  [[], { top_k: 0, repetition_penalty: 1, min_p: 0, logprobs: false, tool_choice: 'auto' }, {}, []],
  [[], { temperature: null, response_format: { type: 'text' }, reasoning_effort: 'none' }, {}, []],
  [['max_completion_tokens'], { max_tokens: 5 }, { max_completion_tokens: 5 }, []],
  [['max_tokens'], { max_completion_tokens: 5 }, { max_tokens: 5 }, []],
  [[], { max_tokens: 5 }, { max_tokens: 5 }, []],
  [
    ['max_tokens'],
    { max_tokens: 5, max_completion_tokens: 6 },
    { max_tokens: 5, max_completion_tokens: 6 },
    [],
  ],
  [['reasoning_effort'], { reasoning: { effort: 'low' } }, { reasoning: { effort: 'low' } }, []],
  [['reasoning'], { reasoning_effort: 'low' }, { reasoning_effort: 'low' }, []],
  [[], { reasoning: { effort: 'low' }, verbosity: 'low' }, {}, ['reasoning', 'verbosity']],
  [[], { extra: { a: 1, b: 2 } }, { extra: {} }, ['a', 'b']],
]

for (const [listed, sent, goes, told] of FITS) {
  test(`with ${JSON.stringify(listed)} ${JSON.stringify(sent)} goes as ${JSON.stringify(goes)}`, async (t) => {
    const left: string[] = []
    t.same(fitRequest(chat(sent), 'chat', endpointWith(listed), left), chat(goes))
    t.same(left, told)
  })
}

test('members of the messages format are listed under the names of chat', async (t) => {
  const sent = { stop_sequences: ['a'], thinking: { type: 'enabled', budget_tokens: 5 }, top_k: 3 }
  const left: string[] = []
  t.same(
    fitRequest(messages(sent), 'messages', endpointWith(['stop', 'reasoning', 'top_k']), left),
    messages(sent),
  )
  t.same(left, [])
  t.same(fitRequest(messages(sent), 'messages', endpointWith(['max_completion_tokens']), left), messages({}))
  t.same(left, ['stop_sequences', 'thinking', 'top_k'])
  const effort = messages({
    output_config: { effort: 'low', task_budget: null },
    thinking: { type: 'disabled' },
  })
  left.length = 0
  t.same(
    fitRequest(effort, 'messages', endpointWith([]), left),
    messages({ output_config: { task_budget: null } }),
  )
  t.same(left, ['output_config.effort'])
})

test('members nobody knows go where they are listed, and * never means a person or state', async (t) => {
  const extra = { a: 1, b: 2, store: { x: 1 }, workspace: { id: 1 } }
  for (const [extras, taken] of [
    [['a'], ['a']],
    [['*'], ['a', 'b']],
    [[], []],
  ] as const) {
    const left: string[] = []
    const fitted = fitRequest(chat({ extra }), 'chat', endpointWith([], extras), left)
    t.same(Object.keys(fitted.extra!), taken)
    t.same([...taken, ...left].sort(), Object.keys(extra).sort())
  }
})

test('an endpoint without what makes the answer is not asked', async (t) => {
  const tool = { type: 'function', function: { name: 'f' } }
  const schema = { type: 'json_schema', schema: {} }
  for (const [sent, demand] of [
    [{ tools: [tool] }, 'tools'],
    [{ tool_choice: 'none' }, 'tool_choice'],
    [{ response_format: { type: 'json_object' } }, 'response_format'],
    [{ logprobs: true }, 'logprobs'],
    [{ structured_outputs: true }, 'structured_outputs'],
    [{ output_config: { format: schema } }, 'response_format'],
    [{ tools: [], tool_choice: 'auto', logprobs: false, response_format: { type: 'text' }, seed: 1 }, null],
  ] as const) {
    t.equal(unmetDemand(endpointWith(['seed']), chat(sent)), demand, JSON.stringify(sent))
    t.equal(unmetDemand(endpointWith(demand === null ? [] : [demand]), chat(sent)), null)
  }
  t.equal(unmetDemand(endpointWith([]), { model: 'a/b' }), null, 'of speech')
})

test('require_parameters looks at everything that says something', async (t) => {
  const bare = endpointWith([])
  for (const [sent, missing] of [
    [{ temperature: 1 }, 'temperature'],
    [{ temperature: null, top_k: 0 }, null],
    [{ extra: { a: 1 } }, 'a'],
    [{ image_config: {} }, null],
    [{ output_config: { format: { type: 'json_schema' } } }, 'output_config'],
  ] as const)
    t.equal(missingParameter(bare, chat(sent)), missing, JSON.stringify(sent))
  t.equal(missingParameter(endpointWith([], ['a']), chat({ extra: { a: 1 } })), null)
})

test('require_parameters looks at what the format of a provider has no word for', async (t) => {
  const edits = [{ type: 'compact_20260112' }]
  for (const [kind, request, missing] of [
    ['anthropic', chat({ image_config: { a: 1 } }), 'image_config'],
    ['anthropic', chat({ prompt_cache_key: 'k' }), 'prompt_cache_key'],
    ['anthropic', chat({ image_config: {}, prompt_cache_key: null }), null],
    ['anthropic', messages({ speed: 'fast', context_management: { edits } }), null],
    ['openai', messages({ speed: 'fast' }), 'speed'],
    ['openai', messages({ context_management: { edits } }), 'context_management'],
    ['openai', messages({ speed: 'standard', context_management: {} }), null],
    ['openai', chat({ image_config: { a: 1 }, prompt_cache_key: 'k' }), null],
    ['simulated', chat({ prompt_cache_key: 'k' }), null],
  ] as const)
    t.equal(missingParameter(endpointWith(['max_tokens'], [], kind), request), missing)
})

test('* means no other spelling of state or a person, and nothing that the gateway acts on', async (t) => {
  const names = ['Store', 'mcpServers', 'PREVIOUS-RESPONSE-ID', 'customerId', 'external_user_id', 'user_ref']
  const ours = ['metadata', 'prompt_cache_key', 'n', 'models', 'fallbacks', 'service_tier', 'extra_body']
  const extra = Object.fromEntries([...names, ...ours, 'max_completion_tokens'].map((name) => [name, 1]))
  const left: string[] = []
  t.same(fitRequest(messages({ extra }), 'messages', endpointWith(['max_tokens'], ['*']), left).extra, {})
  t.same(left, Object.keys(extra))
})
