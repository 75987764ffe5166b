import { test } from 'tap'
import type { ModelEndpoint } from '../../../src/gateway/catalog.js'
import { type SessionNews, Sessions } from '../../../src/gateway/routing/session.js'
import { catalogOf, ScriptedProvider } from '../../fixtures/scripted-provider.js'

const slugs = ['a', 'b', 'c', 'd'].map((slug) => ({ slug }))
const { endpoints } = catalogOf({ 'm/one': slugs }, () => new ScriptedProvider()).models[0]!
const WELL = (): boolean => true
const ALIKE = (): number => 1
const without = (ill: ModelEndpoint) => (each: ModelEndpoint) => each !== ill

test('two processes choose the same endpoint for a session without asking each other', async (t) => {
  const [one, other] = [new Sessions(null), new Sessions(null)]
  for (let session = 0; session < 1000; session++) {
    t.equal(
      one.choose(`s${session}`, endpoints, WELL, ALIKE),
      other.choose(`s${session}`, endpoints, WELL, ALIKE),
    )
  }
})

test('sessions spread by weight', async (t) => {
  const sessions = new Sessions(null)
  const weights = new Map(endpoints.map((each, at) => [each, at === 0 ? 3 : 1]))
  let first = 0
  for (let session = 0; session < 6000; session++) {
    if (sessions.choose(`s${session}`, endpoints, WELL, (each) => weights.get(each)!) === endpoints[0])
      first++
  }
  t.ok(first > 2800 && first < 3200, `${first} of 6000, 3000 expected`)
})

test('a session moves once when its endpoint falls ill, tells it, and stays', async (t) => {
  const told: SessionNews[] = []
  const one = new Sessions((news) => void told.push(news))
  const home = one.choose('s', endpoints, WELL, ALIKE)
  const moved = one.choose('s', endpoints, without(home), ALIKE)
  t.not(moved, home)
  t.same(told, [{ session: 's', endpoint: moved.key }])
  t.equal(one.choose('s', endpoints, WELL, ALIKE), moved, 'also when the first is well again')
  const other = new Sessions(null)
  other.hear(told[0]!)
  t.equal(other.choose('s', endpoints, WELL, ALIKE), moved)
  t.equal(told.length, 1)
})

test('when none is well the session stays where it is', async (t) => {
  const sessions = new Sessions(null)
  const home = sessions.choose('s', endpoints, WELL, ALIKE)
  t.equal(
    sessions.choose('s', endpoints, () => false, ALIKE),
    home,
  )
})

test('a session whose endpoint is excluded gets another one', async (t) => {
  const sessions = new Sessions(null)
  const home = sessions.choose('s', endpoints, WELL, ALIKE)
  const left = endpoints.filter((each) => each !== home)
  t.ok(left.includes(sessions.choose('s', left, WELL, ALIKE)))
})
