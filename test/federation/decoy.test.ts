import { test } from 'tap'
import { Decoy } from '../../src/federation/decoy.js'
import { goodToken, issuerKey } from '../support/data/subject-tokens.js'

const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA']

/** Median of the milliseconds that something takes. */
function median(run: () => void): number {
  const times = Array.from({ length: 101 }, () => {
    const begun = performance.now()
    run()
    return performance.now() - begun
  })
  return times.sort((a, b) => a - b)[50]!
}

void test('for a token of any algorithm, and for what is none, the decoy works and says nothing', async (t) => {
  const decoy = new Decoy()
  for (const alg of ALGORITHMS) t.equal(decoy.check(goodToken(issuerKey(alg, 'k'))), undefined, alg)
  for (const text of ['', '.', 'a.b.c', '.'.repeat(20_000), 'e30.e30.e30', 'é', 'x'.repeat(100_000)]) {
    t.equal(decoy.check(text), undefined)
  }
})

void test('it does the work of a verification: much more than a look at the text would cost', async (t) => {
  const decoy = new Decoy()
  for (const alg of ['RS256', 'ES256', 'ES384', 'EdDSA']) {
    const token = goodToken(issuerKey(alg, 'k'))
    decoy.check(token)
    t.ok(median(() => decoy.check(token)) > 0.008, alg)
  }
})
