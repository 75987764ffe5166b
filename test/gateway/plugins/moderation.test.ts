/** Harmful words of a request reach no model, and nothing passes that nobody has judged. */
import { test } from 'tap'
import { Fault } from '../../../src/base/fault.js'
import type { ChatMessage, ChatRequest } from '../../../src/gateway/formats/canonical.js'
import { endpointModerator } from '../../../src/gateway/plugins/moderation/endpoint-moderator.js'
import { createModeration } from '../../../src/gateway/plugins/moderation/moderation.js'
import { judgeModerator, type Moderator } from '../../../src/gateway/plugins/moderation/verdict.js'
import type { JsonAnswer, JsonCall } from '../../../src/upstream/call-json.js'
import { asked, chatQuestion, pluginRun, preparedPlugin } from '../../support/tools/plugin-call.js'
import { CALLER, scriptedNested } from '../../support/tools/tool-call.js'

function talk(...said: readonly ChatMessage[]) {
  return { model: 'm/asked', messages: said }
}

const USER = talk({ role: 'user', content: 'harmless' })

async function moderate(moderator: Moderator, request: ChatRequest = USER, run = {}) {
  const { before } = preparedPlugin(
    createModeration(() => moderator),
    request,
  )
  return before!(chatQuestion(request), pluginRun(run))
}

function endpoint(
  answer: JsonAnswer,
  more = {},
): { readonly calls: JsonCall[]; readonly moderator: Moderator } {
  const calls: JsonCall[] = []
  const of = {
    name: 'Acme',
    baseUrl: 'http://acme/v1',
    apiKey: 'secret-key',
    headers: {},
    model: null,
    ...more,
  }
  const moderator = endpointModerator(async (call) => {
    calls.push(call)
    return answer
  }, of)
  return { calls, moderator }
}

function results(...flags: readonly boolean[]): JsonAnswer {
  const of = flags.map((flagged) => ({
    flagged,
    categories: { violence: flagged, hate: false, sexual: flagged },
  }))
  return { ok: true, status: 200, value: { model: 'omni', results: of } }
}

function faultOf(change: unknown): Fault {
  if (change instanceof Fault) return change
  throw new Error('it passed')
}

const CALL = { id: 'c', type: 'function' as const, function: { name: 'look', arguments: '{}' } }
const ALL = Array.from({ length: 8 }, () => false)

test('all words of a request are sent to the endpoint, with its credential', async (t) => {
  const { calls, moderator } = endpoint(results(...ALL), { model: 'omni', headers: { 'X-Team': 'a' } })
  const request = talk(
    { role: 'system', content: 'rules' },
    { role: 'user', content: 'one' },
    { role: 'assistant', content: 'two' },
    { role: 'user', content: [{ type: 'text', text: 'three' }] },
    { role: 'assistant', content: null, tool_calls: [CALL] },
    { role: 'tool', tool_call_id: 'c', content: 'four' },
  )
  const parameters = { instructions: 'five' }
  const advisor = { name: 'advisor', type: 'service:advisor', place: ['tools', 0], isNative: false }
  const tools = [{ ...advisor, parameters }]
  const whole = {
    ...request,
    tools: [{ type: 'function' as const, function: { name: 'six' } }],
    tooling: { tools, plugins: [], disabled: [], stopWhen: null, maxToolCalls: 30 },
  }
  t.strictSame(await moderate(moderator, whole), { request: whole })
  const [call] = calls
  t.equal(call!.url, 'http://acme/v1/moderations')
  t.strictSame(call!.body, {
    input: [
      ...['rules', 'one', 'two', 'three', 'four', JSON.stringify([CALL])],
      ...[JSON.stringify(whole.tools), JSON.stringify(parameters)],
    ],
    model: 'omni',
  })
  t.strictSame(call!.headers, [
    ['authorization', 'Bearer secret-key'],
    ['x-team', 'a'],
  ])
})

test('flagged words are a 403 that says why', async (t) => {
  const words = `${'a'.repeat(80)}${'b'.repeat(80)}`
  const request = talk({ role: 'user', content: 'fine' }, { role: 'user', content: words })
  const fault = faultOf(await moderate(endpoint(results(false, true)).moderator, request))
  t.equal(fault.kind, 'forbidden')
  const { flagged_input: told, ...metadata } = fault.metadata!
  t.strictSame(metadata, {
    error_type: 'permission_denied',
    reasons: ['violence', 'sexual'],
    provider_name: 'Acme',
    model_slug: 'm/asked',
    moderation_model: 'omni',
  })
  t.ok(String(told).length <= 100 && /^a+ … b+$/.test(String(told)), String(told))
})

test('nothing passes that nobody has judged', async (t) => {
  const answers: readonly JsonAnswer[] = [
    { ok: false, reason: 'refused' },
    { ok: true, status: 500, value: {} },
    { ok: true, status: 200, value: undefined },
    { ok: true, status: 200, value: { results: [] } },
    { ok: true, status: 200, value: { results: [{ flagged: 'no' }] } },
  ]
  for (const answer of answers)
    t.equal(faultOf(await moderate(endpoint(answer).moderator)).kind, 'unavailable')
  const silent = scriptedNested(() => ({ text: 'no idea' }))
  t.equal(faultOf(await moderate(judgeModerator('m/judge'), USER, silent)).kind, 'unavailable')
})

test('a model of the catalogue judges where it is configured', async (t) => {
  const scores = (...of: number[]) => scriptedNested(() => ({ text: JSON.stringify({ scores: of }) }))
  const run = scores(0, 0.9, 0, 0, 0, 0.5, 0)
  const fault = faultOf(await moderate(judgeModerator('m/judge'), USER, run))
  t.strictSame(fault.metadata!.reasons, ['harassment', 'violence'])
  t.equal(run.runs[0]!.request.model, 'm/judge')
  t.strictSame(await moderate(judgeModerator('m/judge'), USER, scores(0, 0, 0, 0, 0, 0, 0.4)), {
    request: USER,
  })
  t.equal(
    faultOf(await moderate(judgeModerator('m/judge'), USER, scores(0))).kind,
    'unavailable',
    'a figure for each',
  )
})

test('what is not configured is refused, and simulated models have the simulated judge', async (t) => {
  const plugin = createModeration(() => null)
  const of = { caller: CALLER, request: USER }
  t.match(plugin.prepare(asked('moderation'), { ...of, isSimulated: false }), {
    refused: /set plugins\.moderation/,
  })
  const { before } = preparedPlugin(plugin, USER, {}, { isSimulated: true })
  const run = scriptedNested(() => ({ text: '{"scores":[0,0,0,0,0,0,0]}' }))
  await before!(chatQuestion(USER), pluginRun(run))
  t.equal(run.runs[0]!.request.model, 'sim/judge')
})
