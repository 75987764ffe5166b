import { test } from 'tap'
import type { ModelEndpoint } from '../../../src/gateway/catalog/catalog.js'
import { type SessionNews, Sessions } from '../../../src/gateway/routing/session.js'
import { catalogOf, ScriptedProvider } from '../../support/providers/scripted-provider.js'

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
  t.same(told, [{ session: 's', endpoint: moved.key, moves: 1 }])
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

test('who only asks does not move a session', async (t) => {
  const told: SessionNews[] = []
  const sessions = new Sessions((news) => void told.push(news))
  const home = sessions.choose('s', endpoints, WELL, ALIKE)
  const elsewhere = sessions.foresee('s', endpoints, without(home), ALIKE)
  t.not(elsewhere, home)
  t.same(told, [])
  t.equal(sessions.choose('s', endpoints, WELL, ALIKE), home)
  t.equal(sessions.choose('s', endpoints, without(home), ALIKE), elsewhere, 'it told the truth')
})

test('two processes that move a session at once, to different endpoints, end up with the same one', async (t) => {
  const news: [SessionNews, SessionNews][] = []
  for (let session = 0; session < 100; session++) {
    const heard: SessionNews[] = []
    const [one, other] = [0, 1].map(() => new Sessions((moved) => void heard.push(moved))) as [
      Sessions,
      Sessions,
    ]
    const name = `s${session}`
    const home = one.choose(name, endpoints, WELL, ALIKE)
    // Each knows of another one that is ill as well.
    const left = endpoints.filter((each) => each !== home)
    one.choose(name, endpoints, (each) => each !== home && each !== left[0], ALIKE)
    other.choose(name, endpoints, (each) => each !== home && each !== left[1], ALIKE)
    one.hear(heard[1]!)
    other.hear(heard[0]!)
    t.equal(one.choose(name, endpoints, WELL, ALIKE), other.choose(name, endpoints, WELL, ALIKE))
    news.push(heard as [SessionNews, SessionNews])
  }
  t.ok(
    news.some(([one, other]) => one.endpoint !== other.endpoint),
    'they did disagree',
  )
})

test('news of an earlier move that come late do not undo a later one', async (t) => {
  const sessions = new Sessions(null)
  const [a, b] = endpoints
  sessions.hear({ session: 's', endpoint: b!.key, moves: 2 })
  sessions.hear({ session: 's', endpoint: a!.key, moves: 1 })
  t.equal(sessions.choose('s', endpoints, WELL, ALIKE), b)
})

test('moved sessions are remembered up to a number; the one that moved longest ago is forgotten first', async (t) => {
  const sessions = new Sessions(null)
  const home = sessions.choose('first', endpoints, WELL, ALIKE)
  const moved = sessions.choose('first', endpoints, without(home), ALIKE)
  const fill = (count: number): void => {
    for (let at = 0; at < count; at++) sessions.hear({ session: `x${at}`, endpoint: home.key, moves: 1 })
  }
  fill(19_999)
  t.equal(sessions.choose('first', endpoints, WELL, ALIKE), moved)
  fill(20_000)
  t.equal(sessions.choose('first', endpoints, WELL, ALIKE), home)
})

test('a session stays over a reload that gives the same endpoints new objects', async (t) => {
  const again = catalogOf({ 'm/one': slugs }, () => new ScriptedProvider()).models[0]!.endpoints
  const sessions = new Sessions(null)
  for (let session = 0; session < 100; session++) {
    const name = `s${session}`
    const home = sessions.choose(name, endpoints, WELL, ALIKE)
    const moved = session % 2 === 0 ? sessions.choose(name, endpoints, without(home), ALIKE) : home
    t.equal(sessions.choose(name, again, WELL, ALIKE).key, moved.key)
  }
})
