import { test } from 'tap'
import type { ModelEndpoint } from '../../../src/gateway/catalog/catalog.js'
import { SessionAffinity, type SessionMove } from '../../../src/gateway/routing/session.js'
import { catalogOf, ScriptedProvider } from '../../support/providers/scripted-provider.js'

const slugs = ['a', 'b', 'c', 'd'].map((slug) => ({ slug }))
const { endpoints } = catalogOf({ 'm/one': slugs }, () => new ScriptedProvider()).models[0]!
const WELL: (endpoint: ModelEndpoint) => boolean = () => true
const judged = (isHealthy: typeof WELL, weightOf = (_: ModelEndpoint): number => 1) => ({
  isHealthy,
  mayStay: isHealthy,
  weightOf,
})
const without = (ill: ModelEndpoint) => (each: ModelEndpoint) => each !== ill

/** The endpoint of a session, of those that are alike in price. */
function chosen(
  sessions: SessionAffinity,
  session: string,
  isHealthy = WELL,
  among = endpoints,
): ModelEndpoint {
  return sessions.chooseEndpoint(session, among, judged(isHealthy))
}

test('two processes choose the same endpoint for a session without asking each other', async (t) => {
  const [one, other] = [new SessionAffinity(null), new SessionAffinity(null)]
  for (let session = 0; session < 1000; session++) {
    t.equal(chosen(one, `s${session}`), chosen(other, `s${session}`))
  }
})

test('sessions spread by weight', async (t) => {
  const sessions = new SessionAffinity(null)
  const weights = new Map(endpoints.map((each, at) => [each, at === 0 ? 3 : 1]))
  let first = 0
  for (let session = 0; session < 6000; session++) {
    const weighed = judged(WELL, (each) => weights.get(each)!)
    if (sessions.chooseEndpoint(`s${session}`, endpoints, weighed) === endpoints[0]) first++
  }
  t.ok(first > 2800 && first < 3200, `${first} of 6000, 3000 expected`)
})

test('a session moves once when its endpoint falls ill, tells it, and stays', async (t) => {
  const told: SessionMove[] = []
  const one = new SessionAffinity((move) => void told.push(move))
  const home = chosen(one, 's')
  const moved = chosen(one, 's', without(home))
  t.not(moved, home)
  t.same(told, [{ session: 's', endpoint: moved.key, moves: 1 }])
  t.equal(chosen(one, 's'), moved, 'also when the first is well again')
  const other = new SessionAffinity(null)
  other.applyPeerMove(told[0]!)
  t.equal(chosen(other, 's'), moved)
  t.equal(told.length, 1)
})

test('when none is well the session stays where it is', async (t) => {
  const sessions = new SessionAffinity(null)
  const home = chosen(sessions, 's')
  t.equal(
    chosen(sessions, 's', () => false),
    home,
  )
})

test('a session whose endpoint is excluded gets another one', async (t) => {
  const sessions = new SessionAffinity(null)
  const home = chosen(sessions, 's')
  const left = endpoints.filter((each) => each !== home)
  t.ok(left.includes(chosen(sessions, 's', WELL, left)))
})

test('who only asks does not move a session', async (t) => {
  const told: SessionMove[] = []
  const sessions = new SessionAffinity((move) => void told.push(move))
  const home = chosen(sessions, 's')
  const elsewhere = sessions.chooseEndpoint('s', endpoints, judged(without(home)), true)
  t.not(elsewhere, home)
  t.same(told, [])
  t.equal(chosen(sessions, 's'), home)
  t.equal(chosen(sessions, 's', without(home)), elsewhere, 'it told the truth')
})

test('two processes that move a session at once, to different endpoints, end up with the same one', async (t) => {
  const moves: [SessionMove, SessionMove][] = []
  for (let session = 0; session < 100; session++) {
    const heard: SessionMove[] = []
    const [one, other] = [0, 1].map(() => new SessionAffinity((moved) => void heard.push(moved))) as [
      SessionAffinity,
      SessionAffinity,
    ]
    const name = `s${session}`
    const home = chosen(one, name)
    // Each knows of another one that is ill as well.
    const left = endpoints.filter((each) => each !== home)
    chosen(one, name, (each) => each !== home && each !== left[0])
    chosen(other, name, (each) => each !== home && each !== left[1])
    one.applyPeerMove(heard[1]!)
    other.applyPeerMove(heard[0]!)
    t.equal(chosen(one, name), chosen(other, name))
    moves.push(heard as [SessionMove, SessionMove])
  }
  t.ok(
    moves.some(([one, other]) => one.endpoint !== other.endpoint),
    'they did disagree',
  )
})

test('an earlier move that comes late does not undo a later one', async (t) => {
  const sessions = new SessionAffinity(null)
  const [a, b] = endpoints
  sessions.applyPeerMove({ session: 's', endpoint: b!.key, moves: 2 })
  sessions.applyPeerMove({ session: 's', endpoint: a!.key, moves: 1 })
  t.equal(chosen(sessions, 's'), b)
})

test('moved sessions are remembered up to a number; the one that moved longest ago is forgotten first', async (t) => {
  const sessions = new SessionAffinity(null)
  const home = chosen(sessions, 'first')
  const moved = chosen(sessions, 'first', without(home))
  const fill = (count: number): void => {
    for (let at = 0; at < count; at++)
      sessions.applyPeerMove({ session: `x${at}`, endpoint: home.key, moves: 1 })
  }
  fill(19_999)
  t.equal(chosen(sessions, 'first'), moved)
  fill(20_000)
  t.equal(chosen(sessions, 'first'), home)
})

test('a session stays over a reload that gives the same endpoints new objects', async (t) => {
  const again = catalogOf({ 'm/one': slugs }, () => new ScriptedProvider()).models[0]!.endpoints
  const sessions = new SessionAffinity(null)
  for (let session = 0; session < 100; session++) {
    const name = `s${session}`
    const home = chosen(sessions, name)
    const moved = session % 2 === 0 ? chosen(sessions, name, without(home)) : home
    t.equal(chosen(sessions, name, WELL, again).key, moved.key)
  }
})
