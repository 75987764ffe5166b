import { test } from 'tap'
import type { Catalog, Model } from '../../../src/gateway/catalog/catalog.js'
import { createImageGenerationTool } from '../../../src/gateway/tools/image-generation/image-generation.js'
import type { NestedAnswer, NestedRun, ServerTool } from '../../../src/gateway/tools/port/tool.js'
import { prepared, refusalOf, toolRun } from '../../support/tools/tool-call.js'

const model = (id: string, outputModalities: string[]): Model =>
  ({ id, outputModalities }) as unknown as Model
const MODELS = new Map(
  [
    model('sim/painter', ['text', 'image']),
    model('acme/painter', ['image']),
    model('acme/talker', ['text']),
  ].map((each) => [each.id, each]),
)
const catalog = (): Catalog => ({ model: (id: string) => MODELS.get(id) ?? null }) as unknown as Catalog
const toolWith = (configured: string | null): ServerTool =>
  createImageGenerationTool({ catalog, model: () => configured })

const PICTURE = 'data:image/png;base64,iVBORw0KGgo='
const FILE = { id: 'file_1', filename: 'image-1.png', mimeType: 'image/png', sizeBytes: 8 }
const painted = (more: object): NestedAnswer => ({
  ...{ ok: true, text: '', reasoning: '', model: 'acme/painter', finish: 'stop', charged: 5, citations: [] },
  ...more,
})

async function paint(answer: NestedAnswer, parameters = {}, args: object = { prompt: 'a fox' }) {
  const runs: NestedRun[] = []
  const nested = async (run: NestedRun): Promise<NestedAnswer> => {
    runs.push(run)
    return answer
  }
  const tool = await prepared(toolWith('acme/painter'), parameters)
  const call = { id: 'c', function: 'image_generation', arguments: args as { prompt: string } }
  const run = toolRun({ nested, budget: 7, request: { model: 'm', messages: [], user: 'u1', account: 'a' } })
  return { tool, runs, outcome: await tool.run(call, run) }
}

test('which model paints: the one that is asked for, the configured one, the simulated one', async (t) => {
  const refused = async (tool: ServerTool, parameters = {}, isSimulated = false) =>
    refusalOf(tool, parameters, { isSimulated })
  t.match(await refused(toolWith(null)), { refused: /is not configured: set tools\.image_generation\.model/ })
  const unknown = { refused: 'names no model that paints', member: ['parameters', 'model'] }
  t.strictSame(await refused(toolWith('acme/painter'), { model: 'acme/talker' }), unknown)
  t.strictSame(await refused(toolWith(null), { model: 'acme/nobody' }, true), unknown)
  t.match(await refused(toolWith('acme/talker')), { refused: /tools\.image_generation\.model names none/ })
  t.equal((await prepared(toolWith(null), {}, { isSimulated: true })).backend, 'sim/painter')
  t.equal((await prepared(toolWith('acme/painter'), {}, { isSimulated: true })).backend, 'acme/painter')
  t.equal((await prepared(toolWith(null), { model: 'acme/painter' })).backend, 'acme/painter')
})

test('the picture is painted beneath the call, with all options, and comes as picture and as file', async (t) => {
  const options = { size: '64x32', quality: 'high', background: null, deep: { a: [1] } }
  const { runs, outcome } = await paint(painted({ images: [PICTURE], files: [FILE] }), {
    model: 'sim/painter',
    ...options,
  })
  t.match(runs, [
    {
      purpose: 'painter',
      budget: 7,
      request: {
        model: 'sim/painter',
        messages: [{ role: 'user', content: 'a fox' }],
        modalities: ['image', 'text'],
        image_config: options,
        user: 'u1',
        account: 'a',
      },
    },
  ])
  t.strictSame(outcome, {
    content: {
      status: 'completed',
      pictures: 1,
      files: [{ file_id: 'file_1', filename: 'image-1.png', mime_type: 'image/png', size_bytes: 8 }],
    },
    ...{ isError: false, executed: true, charged: 0, images: [PICTURE], files: [FILE] },
  })
  const { runs: plain } = await paint(painted({ images: [PICTURE] }))
  t.strictSame(plain[0]!.request.modalities, ['image'], 'of a model that only paints')
  t.notOk('image_config' in plain[0]!.request)
})

test('what goes wrong is told to the model, and runs nothing without a prompt', async (t) => {
  const failed: NestedAnswer = { ok: false, reason: 'x', message: 'no credit', charged: 0, wasAsked: true }
  t.match((await paint(failed)).outcome, { content: { error: /no credit/ }, isError: true, executed: true })
  const unasked = { ...failed, wasAsked: false }
  t.match((await paint(unasked)).outcome, { isError: true, executed: false })
  t.match((await paint(painted({ text: 'I will not.' }))).outcome.content, { error: 'I will not.' })
  t.match((await paint(painted({}))).outcome.content, { error: /painted nothing/ })
  for (const args of [{}, { prompt: '' }, { prompt: 5 }, { prompt: 'x'.repeat(32_001) }]) {
    const { runs, outcome } = await paint(painted({}), {}, args)
    t.match(outcome, { content: { error: /prompt/ }, isError: true, executed: false })
    t.equal(runs.length, 0)
  }
})
