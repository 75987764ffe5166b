/** What the workers of a server tell each other of sessions. */
import { test } from 'tap'
import { systemClock } from '../../src/base/clock.js'
import { composeRouting } from '../../src/compose/routing.js'
import type { RoutingUpdate } from '../../src/gateway/routing/routing-update.js'

const config = {
  gateway: {
    routing: {
      rescue: 'unanswered',
      retries: 2,
      retryWaitMs: 1,
      retryBudget: 0.1,
      hedge: 'never',
      hedgeBudget: 0.05,
    },
  },
} as const

test('a model that one worker pins to a session is the session’s in the others', async (t) => {
  const told: RoutingUpdate[] = []
  const broadcast = (update: RoutingUpdate): void => void told.push(update)
  const one = composeRouting({ config, worker: 0, clock: systemClock, broadcast })
  const other = composeRouting({ config, worker: 1, clock: systemClock, broadcast: null })
  one.pins.pin({ session: 'org s', model: 'a/b' })
  one.pins.pin({ session: 'org s', model: 'a/b' })
  t.strictSame(told, [{ about: 'pin', pin: { session: 'org s', model: 'a/b' } }], 'once')
  other.applyPeerUpdate(0, told[0]!)
  t.equal(other.pins.find('org s'), 'a/b')
  t.equal(other.pins.find('org t'), null)
  for (const parts of [one, other]) parts.close()
})
