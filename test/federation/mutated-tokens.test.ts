import fc from 'fast-check'
import { test } from 'tap'
import { Fault } from '../../src/base/fault.js'
import { issuerOf } from '../support/data/federation.js'
import {
  base64url,
  claimsOf,
  goodToken,
  headerOf,
  issuerKey,
  signature,
} from '../support/data/subject-tokens.js'
import { ExchangeBench, ISSUER_KEY } from '../support/servers/exchange-bench.js'

/** Of each, a token that is off by something. Runs of ten times as many were tried by hand. */
const CASES = 20_000
const RSA = issuerKey('RS256', 'rsa')
const KEYS = [ISSUER_KEY, RSA]
const TOKENS = KEYS.map((key) => goodToken(key))

async function bench(): Promise<ExchangeBench> {
  const made = await ExchangeBench.start()
  made.web.publish(
    issuerOf(1).jwksUrl!,
    KEYS.map(({ jwk }) => jwk),
  )
  for (const token of TOKENS)
    if ((await made.run(token)) instanceof Fault) throw new Error('the originals are good')
  return made
}

const WORDS = 'alg none HS256 ES256 RS256 EdDSA kid typ at+jwt crit iss sub aud exp'.split(' ')
const word = fc.constantFrom(...WORDS)
const anyValue = fc.oneof(fc.jsonValue(), word, fc.constantFrom(null, '', [], {}, 0, -1, 1e308, true))

/** Puts something else into an object: another value, another member, or one less. */
const objectChange = fc.oneof(
  fc.record({ how: fc.constant('set' as const), name: fc.oneof(word, fc.string()), value: anyValue }),
  fc.record({ how: fc.constant('drop' as const), name: word, value: fc.constant(null) }),
)
type ObjectChange = { readonly how: 'set' | 'drop'; readonly name: string; readonly value: unknown }

function changed(object: object, changes: readonly ObjectChange[]): object {
  const copy: Record<string, unknown> = { ...object }
  for (const { how, name, value } of changes) {
    if (how === 'drop') delete copy[name]
    else Object.defineProperty(copy, name, { value, enumerable: true, configurable: true, writable: true })
  }
  return copy
}

/** Bytes of the token's text are exchanged, cut out, doubled or added. */
const textChange = fc.record({
  at: fc.nat(5_000),
  how: fc.constantFrom('replace', 'remove', 'insert', 'truncate', 'double', 'swap'),
  with: fc.oneof(
    fc.constantFrom('.', '=', '-', '_', 'A', ' ', '\n', '%', '+', '/', 'é'),
    fc.string({ minLength: 1, maxLength: 3 }),
  ),
})

function changedText(text: string, change: { at: number; how: string; with: string }): string {
  const at = change.at % text.length
  const [before, after] = [text.slice(0, at), text.slice(at + 1)]
  if (change.how === 'replace') return before + change.with + after
  if (change.how === 'remove') return before + after
  if (change.how === 'insert') return before + change.with + text.slice(at)
  if (change.how === 'truncate') return before
  if (change.how === 'double') return `${text}.${text}`
  return text.split('.').reverse().join('.')
}

const which = fc.nat(TOKENS.length - 1)

/** A token with other words under the old signature, or under one by the wrong key. */
const reworded = fc
  .record({
    which,
    header: fc.array(objectChange, { maxLength: 2 }),
    claims: fc.array(objectChange, { maxLength: 2 }),
    stranger: fc.boolean(),
  })
  .map(({ which, header, claims, stranger }) => {
    const key = KEYS[which]!
    const forger = KEYS[(which + 1) % KEYS.length]!
    const named = changed(headerOf(key), header)
    // Named as the issuer's other key, without a kid, the token is that key's own and good: it gets another algorithm.
    const isOwn = (named as { alg?: unknown }).alg === forger.alg && !Object.hasOwn(named, 'kid')
    const head = base64url(isOwn ? { ...named, alg: key.alg } : named)
    const body = base64url(changed(claimsOf(), claims))
    const old = TOKENS[which]!.split('.')[2]!
    const fresh = base64url(signature(forger.alg, forger.privateKey, `${head}.${body}`))
    return `${head}.${body}.${stranger ? fresh : old}`
  })

const retyped = fc
  .record({ which, changes: fc.array(textChange, { minLength: 1, maxLength: 3 }) })
  .map(({ which, changes }) => changes.reduce(changedText, TOKENS[which]!))

const resigned = fc
  .record({ which, bytes: fc.uint8Array({ minLength: 0, maxLength: 300 }) })
  .map(({ which, bytes }) => {
    const [head, body] = TOKENS[which]!.split('.')
    return `${head}.${body}.${base64url(Buffer.from(bytes))}`
  })

const flipped = fc.record({ which, bit: fc.nat(20_000) }).map(({ which, bit }) => {
  const [head, body, sign] = TOKENS[which]!.split('.')
  const bytes = Buffer.from(sign!, 'base64url')
  bytes[(bit >> 3) % bytes.length]! ^= 1 << (bit & 7)
  return `${head}.${body}.${bytes.toString('base64url')}`
})

void test(`of ${CASES} mutated tokens none is accepted, and none is anything but refused`, async (t) => {
  const made = await bench()
  const outcomes = new Map<string, number>()
  const mutated = fc.oneof(
    { weight: 3, arbitrary: reworded },
    { weight: 3, arbitrary: retyped },
    { weight: 1, arbitrary: resigned },
    { weight: 1, arbitrary: flipped },
  )
  await fc.assert(
    fc.asyncProperty(mutated, async (token) => {
      if (TOKENS.includes(token)) return
      made.audit.length = 0
      const outcome = await made.run(token)
      if (!(outcome instanceof Fault)) throw new Error(`accepted: ${token}`)
      if (outcome.kind !== 'invalid-grant') throw new Error(`${outcome.kind}: ${token}`)
      const reason = made.audit[0]!.reason!
      outcomes.set(reason, (outcomes.get(reason) ?? 0) + 1)
    }),
    { numRuns: CASES },
  )
  t.ok(outcomes.size >= 15, `reasons met: ${[...outcomes.keys()].join(', ')}`)
  t.ok((outcomes.get('signature-invalid') ?? 0) > 1_000, 'many came as far as the signature')
  t.ok(made.web.log.length <= 3, 'and hardly any made us fetch')
})
