import { test } from 'tap'
import { createDatetimeTool } from '../../../src/gateway/tools/datetime/datetime.js'
import { askTool, refusalOf } from '../../support/tools/tool-call.js'

const at = (moment: string) => createDatetimeTool({ unixSeconds: () => Date.parse(moment) / 1000 })

const SUMMER = '2025-07-15T18:30:00.042Z'

test('it is UTC unless the request or the model names a zone', async (t) => {
  const tool = at(SUMMER)
  for (const [parameters, args, datetime, timezone] of [
    [{}, {}, '2025-07-15T18:30:00.042+00:00', 'UTC'],
    [{ timezone: 'America/New_York' }, {}, '2025-07-15T14:30:00.042-04:00', 'America/New_York'],
    [
      { timezone: 'America/New_York' },
      { timezone: 'Asia/Kathmandu' },
      '2025-07-16T00:15:00.042+05:45',
      'Asia/Kathmandu',
    ],
  ] as const) {
    const outcome = await askTool(tool, parameters, args)
    t.same(outcome, { content: { datetime, timezone }, isError: false, executed: true, charged: 0 })
    t.equal(Date.parse(datetime), Date.parse(SUMMER), 'the same moment in every zone')
  }
})

test('the offset is the one of that day, and midnight is hour 00', async (t) => {
  const winter = await askTool(at('2025-12-31T23:00:00Z'), { timezone: 'Europe/Berlin' })
  t.same(winter.content, { datetime: '2026-01-01T00:00:00.000+01:00', timezone: 'Europe/Berlin' })
})

test('a zone that does not exist is refused in the request, and an error for the model', async (t) => {
  for (const timezone of ['Mars/Olympus', '', '+02:00', 'x'.repeat(100), 7, {}]) {
    t.same(await refusalOf(at(SUMMER), { timezone }), {
      refused: 'must be the name of an IANA time zone',
      member: ['parameters', 'timezone'],
    })
    const { content, isError, executed } = await askTool(at(SUMMER), {}, { timezone })
    t.match(content, { error: /^timezone must be/ })
    t.strictSame([isError, executed], [true, false], 'and costs nothing')
  }
})
