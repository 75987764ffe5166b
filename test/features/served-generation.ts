/** A generation that an endpoint has answered, as encoders are given it. */
import type { RoutedRequest, Usage } from '../../src/gateway/formats/canonical.js'
import { costOf } from '../../src/gateway/pricing/price.js'
import { Generation } from '../../src/gateway/run/generation.js'
import { attempt, CALLER, catalogOf, ScriptedProvider } from '../support/providers/scripted-provider.js'

export const GENERATION_ID = 'gen-01hzzzzzzz0000000000000000'
const CATALOG = catalogOf({ 'acme/one': [{ slug: 'one' }] }, () => new ScriptedProvider())

/** `request` names the model `acme/one`. */
export function servedGeneration<R extends RoutedRequest>(request: R, usage: Usage): Generation<R> {
  const { endpoints } = CATALOG.model('acme/one')!
  const plan = { requested: 'acme/one', endpoints, total: 1, version: 'c0ffee', trace: null }
  const generation = new Generation(
    GENERATION_ID,
    request,
    CALLER,
    plan,
    1_700_000_000_900,
    performance.now(),
  )
  const endpoint = endpoints[0]!
  generation.served = endpoint
  generation.attempts.push(attempt(endpoint, 200))
  generation.consumption = { usage, cost: costOf(usage, endpoint.prices), estimated: false, guessed: false }
  return generation
}
