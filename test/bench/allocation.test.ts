/** What a whole chat call may cost the collector. */
import { test } from 'tap'
import { builtServer } from '../../bench/harness/project.js'
import { CHAT_CALL_BUDGET, measureChatAllocation } from '../../bench/trials/gateway/allocation.js'
import { Staging } from '../../bench/trials/staging.js'

test('a whole chat call allocates no more than its budget', async (t) => {
  const staging = new Staging(builtServer(), null)
  t.teardown(() => staging.clear())
  const bytes = Math.round(await measureChatAllocation(staging))
  t.comment(`${bytes} bytes a call, of ${CHAT_CALL_BUDGET}`)
  t.ok(bytes > 1_000, 'something was measured')
  const where = 'CHAT_CALL_BUDGET in bench/trials/gateway/allocation.ts says what a call may allocate'
  t.ok(bytes <= CHAT_CALL_BUDGET, `${bytes} bytes a call, at most ${CHAT_CALL_BUDGET}: ${where}`)
})
