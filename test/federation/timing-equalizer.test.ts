import type { webcrypto } from 'node:crypto'
import { mock } from 'node:test'
import { test } from 'tap'
import { isTokenSignedBy, parseSubjectToken } from '../../src/federation/subject-token.js'
import { TimingEqualizer } from '../../src/federation/timing-equalizer.js'
import { VerificationKey } from '../../src/federation/verification-key.js'
import { goodToken, issuerKey } from '../support/data/subject-tokens.js'

const ALGORITHMS = ['RS256', 'ES256']

/** Median of the milliseconds that something takes. */
async function median(run: () => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let n = 0; n < 101; n++) {
    const begun = performance.now()
    await run()
    times.push(performance.now() - begun)
  }
  return times.sort((a, b) => a - b)[50]!
}

/** What is asked of the cryptography while something runs: algorithm, kind of key and size of the signature. */
async function verifications(run: () => Promise<unknown>): Promise<readonly unknown[]> {
  const verify = mock.method(crypto.subtle, 'verify')
  try {
    await run()
    return verify.mock.calls.map((call) => {
      const [algorithm, key, signature] = call.arguments as Parameters<webcrypto.SubtleCrypto['verify']>
      return { algorithm, kind: { ...key.algorithm, publicExponent: 0 }, bytes: signature.byteLength }
    })
  } finally {
    verify.mock.restore()
  }
}

void test('for a token of any algorithm, and for what is none, time is spent and nothing is said', async (t) => {
  const equalizer = new TimingEqualizer()
  for (const alg of [...ALGORITHMS, 'PS256', 'ES384', 'EdDSA'])
    t.equal(await equalizer.spendVerificationTime(goodToken(issuerKey(alg, 'k'))), undefined, alg)
  for (const text of ['', '.', 'a.b.c', '.'.repeat(20_000), 'e30.e30.e30', 'é', 'x'.repeat(100_000)]) {
    t.equal(await equalizer.spendVerificationTime(text), undefined)
  }
})

for (const alg of ALGORITHMS) {
  void test(`${alg}: it asks for the very verification that a token with a wrong signature costs`, async (t) => {
    const issuer = issuerKey(alg, 'k')
    const key = (await VerificationKey.read(issuer.jwk)!.import())!
    const [header, claims, signature = ''] = goodToken(issuer).split('.')
    const wrong = Buffer.from(signature, 'base64url')
    wrong[20]! ^= 1
    const token = parseSubjectToken(`${header}.${claims}.${wrong.toString('base64url')}`)
    if (typeof token === 'string') throw new Error(token)
    const equalizer = new TimingEqualizer()
    const genuine = await verifications(async () => isTokenSignedBy(token, key))
    t.equal(genuine.length, 1)
    t.strictSame(await verifications(() => equalizer.spendVerificationTime(token.text)), genuine)
  })
}

void test('it does the work of a verification: much more than a look at the text would cost', async (t) => {
  const equalizer = new TimingEqualizer()
  for (const alg of ALGORITHMS) {
    const token = goodToken(issuerKey(alg, 'k'))
    await equalizer.spendVerificationTime(token)
    t.ok((await median(() => equalizer.spendVerificationTime(token))) > 0.008, alg)
  }
})
