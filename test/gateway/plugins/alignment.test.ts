/** An answer that breaks the rules of its request is asked for anew, refused, or told, as the request says. */
import { test } from 'tap'
import { Fault } from '../../../src/base/fault.js'
import { createAlignment } from '../../../src/gateway/plugins/alignment/alignment.js'
import type { AnswerChange, FinalAnswer, Question } from '../../../src/gateway/plugins/port/plugin.js'
import { asked, chatQuestion, pluginRun, preparedPlugin } from '../../support/tools/plugin-call.js'
import { CALLER, scriptedNested } from '../../support/tools/tool-call.js'

const REQUEST = { model: 'm', messages: [{ role: 'user' as const, content: 'go' }] }
const RULES = ['no fruit', 'no haste']

/** A judge who gives what stands behind `scores` in the text that it judges. */
const judge = () =>
  scriptedNested(({ request }) => {
    const { text } = JSON.parse(String(request.messages[1]!.content)) as { text: string }
    return { text: `{"scores": [${/\[(.*)\]/.exec(text)?.[1]}]}` }
  })

async function align(
  answers: readonly string[],
  options = {},
  run = judge(),
  words?: string,
): Promise<{ readonly change: AnswerChange | Fault; readonly told: string[] }> {
  const told: string[] = []
  const [text, ...later] = answers
  const answer: FinalAnswer = {
    request: REQUEST,
    text: text!,
    words: words ?? text!,
    finish: 'stop',
    isStreamed: false,
    retry: async (said, instruction) => {
      told.push(`${said}: ${instruction}`)
      return later.shift() ?? new Fault('provider-failed')
    },
  }
  const plugin = createAlignment(() => 'm/judge')
  const { after } = preparedPlugin(plugin, REQUEST, { rules: RULES, ...options })
  return { change: await after!(answer, pluginRun(run)), told }
}

test('an answer that keeps the rules is shown as it is', async (t) => {
  const run = judge()
  t.strictSame((await align(['[0, 0.69]'], {}, run)).change, {})
  t.equal(run.runs[0]!.request.model, 'm/judge')
})

test('one that breaks them is asked for anew, and then refused', async (t) => {
  const mended = await align(['[0.9, 0]', '[0.1, 0]'])
  t.match(mended.change, { text: '[0.1, 0]', pipeline: { data: { retries: 1 } } })
  t.match(mended.told, [/no fruit/])
  t.notMatch(mended.told[0], /no haste/)
  const { change } = await align(['[0.9, 0]', '[0, 0.7]'])
  t.ok(change instanceof Fault)
  const fault = change as Fault
  t.equal(fault.kind, 'forbidden')
  t.match(fault.metadata, { error_type: 'permission_denied', reasons: ['no haste'], retries: 1 })
})

test('threshold and retries are those of the request', async (t) => {
  t.strictSame((await align(['[0.9, 0]'], { threshold: 1 })).change, {})
  const never = await align(['[0.9, 0]', '[0, 0]'], { max_retries: 0 })
  t.ok(never.change instanceof Fault && never.told.length === 0)
  const third = await align(['[1, 1]', '[1, 1]', '[1, 1]', '[0, 0]'], { max_retries: 3 })
  t.match(third.change, { text: '[0, 0]' })
})

test('each retry stands behind the answer that it is to better', async (t) => {
  const { told } = await align(['[1, 0] first', '[0, 1] second', '[0, 0]'], { max_retries: 2 })
  t.match(told, [/^\[1, 0\] first: .*no fruit/s, /^\[0, 1\] second: .*no haste/s])
})

test('what an answer calls is judged as well, and none of it stands beside another answer', async (t) => {
  const { change } = await align(['', '[0, 0]'], {}, judge(), 'eat({"scores":[1, 0]})')
  t.match(change, { text: '[0, 0]', isAnew: true })
})

test('a retry that fails ends the call with its fault', async (t) => {
  const { change } = await align(['[1, 1]'])
  t.equal((change as Fault).kind, 'provider-failed')
})

test('an audit tells and changes nothing', async (t) => {
  const { change, told } = await align(['[0.9, 0.8]'], { mode: 'audit' })
  t.match(change, { pipeline: { type: 'plugin', name: 'alignment', data: { broken: RULES } } })
  t.equal((change as AnswerChange).text, undefined)
  t.equal(told.length, 0)
})

test('a judge that fails keeps an enforced answer back, and is told in an audit', async (t) => {
  const dumb = () => scriptedNested(() => ({ text: 'fine by me' }))
  t.equal(((await align(['x'], {}, dumb())).change as Fault).kind, 'unavailable')
  t.match((await align(['x'], { mode: 'audit' }, dumb())).change, { pipeline: { summary: /not judged/ } })
})

test('an answer without words is not judged', async (t) => {
  const run = judge()
  t.strictSame((await align([' '], {}, run)).change, {})
  t.equal(run.runs.length, 0)
})

test('only what is enforced is held back', async (t) => {
  const plugin = createAlignment(() => 'm/judge')
  for (const [mode, holds] of [
    ['enforce', true],
    ['audit', false],
  ] as const)
    t.equal(preparedPlugin(plugin, REQUEST, { rules: RULES, mode }).holdsAnswer, holds)
})

test('the rules are told to the model, unless the request says not to', async (t) => {
  const plugin = createAlignment(() => 'm/judge')
  const { before } = preparedPlugin(plugin, REQUEST, { rules: RULES })
  const change = await before!(chatQuestion(REQUEST), pluginRun())
  t.match(change, { request: { messages: [{ role: 'system', content: /no fruit/ }, { role: 'user' }] } })
  t.equal(preparedPlugin(plugin, REQUEST, { rules: RULES, instruct: false }).before, undefined)
  const native = { ...REQUEST, max_tokens: 1, system: 'be kind' }
  const question = { request: native, asChat: () => REQUEST } as unknown as Question
  t.match(await before!(question, pluginRun()), {
    request: {
      system: [
        { type: 'text', text: 'be kind' },
        { type: 'text', text: /no haste/ },
      ],
    },
  })
})

test('what is not configured is refused, and simulated models have the simulated judge', async (t) => {
  const plugin = createAlignment(() => null)
  const of = { caller: CALLER, request: REQUEST, isSimulated: false }
  t.match(plugin.prepare(asked('alignment', { rules: RULES }), of), {
    refused: /set plugins\.alignment\.model/,
  })
  t.ok(preparedPlugin(plugin, REQUEST, { rules: RULES }, { isSimulated: true }).after)
})
