import { test } from 'tap'
import { withFlatPrice, withSwitch } from '../../../src/gateway/tools/operator-terms.js'
import type { ServerTool, ToolOutcome } from '../../../src/gateway/tools/port/tool.js'
import { askTool, prepared, refusalOf } from '../../support/tools/tool-call.js'

const toolOf = (executed: boolean): ServerTool => ({
  name: 'dig',
  prepare: ({ parameters }) =>
    parameters.depth === 'none'
      ? { refused: 'must be deep' }
      : {
          functions: [{ name: 'dig', description: '', parameters: {} }],
          backend: 'spade',
          fee: () => 0,
          run: async (): Promise<ToolOutcome> => ({ content: 1, isError: false, executed, charged: 0 }),
        },
})

test('a call that was executed costs the price of the request, another one nothing', async (t) => {
  let price = 5
  for (const executed of [true, false]) {
    const tool = withFlatPrice(toolOf(executed), () => price)
    price = 5
    const ready = await prepared(tool)
    price = 9
    t.equal(ready.fee({ id: 'c', function: 'dig', arguments: {} }), 5)
    t.equal((await askTool(tool)).charged, executed ? 9 : 0)
  }
  t.match(
    await refusalOf(
      withFlatPrice(toolOf(true), () => 5),
      { depth: 'none' },
    ),
    { refused: 'must be deep' },
  )
})

test('a tool that takes its time to prepare is priced as well', async (t) => {
  const slow: ServerTool = {
    name: 'dig',
    prepare: async (asked, request) => toolOf(true).prepare(asked, request),
  }
  t.equal((await askTool(withFlatPrice(slow, () => 3))).charged, 3)
})

test('a tool that is switched off is refused, from the next request on', async (t) => {
  let isOff = false
  const tool = withSwitch(toolOf(true), () => isOff)
  t.equal((await askTool(tool)).isError, false)
  isOff = true
  t.match(await refusalOf(tool, {}), { refused: /switched off/, member: ['type'] })
})
