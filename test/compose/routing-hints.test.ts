import { test } from 'tap'
import { RoutingHints } from '../../src/compose/routing-hints.js'
import type { RoutingUpdate } from '../../src/gateway/routing/routing-update.js'
import { FakeClock } from '../support/timing/fake-clock.js'

const opened: RoutingUpdate = {
  about: 'health',
  health: { type: 'opened', key: 'm p', caller: null, pauseMs: 500 },
}
const move: RoutingUpdate = { about: 'session', session: { session: 'o s', endpoint: 'm p', moves: 1 } }
const pinOf = (name: string): RoutingUpdate => ({ about: 'pin', pin: { session: name, model: 'm' } })

/** Two machines that hear each other and themselves, as listeners of one channel do. */
function twoMachines() {
  const clock = new FakeClock()
  const sent: string[] = []
  const heard: { readonly [name: string]: RoutingUpdate[] } = { a: [], b: [] }
  const hints = ['a', 'b'].map(
    (machine): RoutingHints =>
      new RoutingHints({
        machine,
        clock,
        send: (text) => {
          sent.push(text)
          for (const each of hints) each.receive(text)
        },
        onUpdate: (update) => heard[machine]!.push(update),
      }),
  )
  return { clock, sent, heard, a: hints[0]!, b: hints[1]! }
}

test('what comes together goes in one message, to all others', async (t) => {
  const { clock, sent, heard, a } = twoMachines()
  a.tell(opened)
  a.tell(move)
  t.equal(sent.length, 0)
  clock.advance(1_000)
  t.equal(sent.length, 1)
  t.same(heard.b, [opened, move])
  t.same(heard.a, [])
  a.tell(move)
  clock.advance(1_000)
  t.equal(sent.length, 2)
})

test('that an endpoint is tried or answers again is found out by each machine', async (t) => {
  const { clock, sent, a } = twoMachines()
  a.tell({ about: 'health', health: { type: 'probing', key: 'm p', caller: null } })
  a.tell({ about: 'health', health: { type: 'closed', key: 'm p', caller: null } })
  a.tell({ about: 'health', health: { type: 'observed', observations: [] } })
  clock.advance(1_000)
  t.same(sent, [])
})

test('a message is never longer than the database takes', async (t) => {
  const { clock, sent, heard, a } = twoMachines()
  for (let i = 0; i < 1_000; i++) a.tell(pinOf(`o ${i} ä`))
  clock.advance(1_000)
  t.equal(sent.length, 1)
  t.ok(Buffer.byteLength(`routing ${sent[0]}`) < 8_000)
  t.ok(heard.b!.length > 50)
})

test('what no release of ours has sent is passed over', async (t) => {
  const { heard, a } = twoMachines()
  for (const text of [
    '',
    '{',
    '[]',
    '["x"]',
    '["x",[null]]',
    '["x",[{"about":"pin"}]]',
    '["x",[{"about":"session"}]]',
  ])
    a.receive(text)
  a.receive('["x",[{"about":"health","health":{"type":"cooling","key":"k","pauseMs":"1"}}]]')
  t.same(heard.a, [])
})
