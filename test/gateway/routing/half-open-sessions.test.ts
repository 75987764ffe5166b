/** Sessions and an endpoint that is being tried again: were they kept from it, nobody might ever try it. */
import { test } from 'tap'
import type { ModelEndpoint } from '../../../src/gateway/catalog/catalog.js'
import { producesText } from '../../../src/gateway/metering/format.js'
import { planFor } from '../../../src/gateway/routing/plan.js'
import { breakIt, situation } from '../../support/providers/routing.js'
import { CALLER, catalogOf, ScriptedProvider } from '../../support/providers/scripted-provider.js'
import { FakeClock } from '../../support/timing/fake-clock.js'

const CATALOG = catalogOf(
  { 'm/three': [{ slug: 'a' }, { slug: 'b' }, { slug: 'c' }] },
  () => new ScriptedProvider(),
)
const [a] = CATALOG.model('m/three')!.endpoints as [ModelEndpoint]
const LONGER_THAN_A_PAUSE_MS = 2_000

type Parts = ReturnType<typeof situation>

function firstFor(session: string, at: Parts): string {
  const request = {
    model: 'm/three',
    messages: [{ role: 'user' as const, content: 'x' }],
    session_id: session,
  }
  return planFor(CATALOG, request, CALLER, producesText, at).endpoints[0]!.provider.slug
}

/** Names of sessions that live at the first endpoint. */
function atHome(): string[] {
  const names = Array.from({ length: 60 }, (_, at) => `session ${at}`)
  return names.filter((name) => firstFor(name, situation(new FakeClock())) === 'a')
}

test('new sessions of an endpoint that is being tried again try it; while it is shut they do not', async (t) => {
  const clock = new FakeClock()
  const at = situation(clock)
  const [early, late] = atHome() as [string, string]
  breakIt(at.health, a)
  t.not(firstFor(early, at), 'a')
  clock.advance(LONGER_THAN_A_PAUSE_MS)
  t.equal(at.health.of(a).state(at.health.now()), 'half-open')
  t.equal(firstFor(late, at), 'a')
  t.not(firstFor(early, at), 'a', 'who has moved stays where it is')
})

test('no session moves to an endpoint that is being tried', async (t) => {
  const clock = new FakeClock()
  const at = situation(clock)
  const home = atHome()
  const endpoints = CATALOG.model('m/three')!.endpoints
  const b = endpoints[1]!
  breakIt(at.health, b)
  clock.advance(LONGER_THAN_A_PAUSE_MS)
  breakIt(at.health, a)
  t.equal(at.health.of(b).state(at.health.now()), 'half-open')
  t.ok(home.length > 5)
  for (const name of home) t.equal(firstFor(name, at), 'c')
})
