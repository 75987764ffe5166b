import fc from 'fast-check'
import { test } from 'tap'
import { checkCondition, evaluateCondition } from '../../workers/cel/condition-tasks.js'
import { zoneClock } from '../../workers/cel/conversions.js'
import { ProgramCache } from '../../workers/cel/program-cache.js'
import type { ConditionClaims, ConditionDefect, ConditionOutcome } from '../../workers/tasks.js'
import { pseudoRandom } from '../support/arbitraries/pseudo-random.js'
import { CLAIMS, ERRS, FALSE, REFUSED, STANDARD, TRUE } from './cel-conditions.js'
import { claimSets, piece, randomTexts, SHAPES } from './cel-shapes.js'

function refusalOf(text: string): ConditionDefect | null {
  const outcome = checkCondition({ text })
  if (!outcome.ok) throw new Error(outcome.reason)
  return outcome.value.defect
}

function outcomeOf(text: string, claims: ConditionClaims = CLAIMS): ConditionOutcome {
  const outcome = evaluateCondition({ text, claims })
  if (!outcome.ok) throw new Error(outcome.reason)
  return outcome.value
}

test('what the language calls true is accepted and met', async (t) => {
  for (const text of [...TRUE, ...STANDARD]) {
    t.equal(refusalOf(text), null, text)
    t.same(outcomeOf(text), { met: true, failure: null }, text)
  }
})

test('what the language calls false is accepted and not met', async (t) => {
  for (const text of FALSE) {
    t.equal(refusalOf(text), null, text)
    t.same(outcomeOf(text), { met: false, failure: null }, text)
  }
})

test('what errs is accepted and not met, and the failure quotes nothing of the token', async (t) => {
  for (const text of ERRS) {
    t.equal(refusalOf(text), null, text)
    const { met, failure } = outcomeOf(text)
    t.equal(met, false, text)
    t.match(failure, /^[a-z_]+$/, text)
  }
})

test('what breaks a rule is refused with its reason, and never met', async (t) => {
  for (const [text, reason] of REFUSED) {
    t.match(refusalOf(text)?.reason, reason, text)
    t.same(outcomeOf(text), { met: false, failure: 'the condition is refused' }, text)
  }
})

test('a refusal says where, in code points', async (t) => {
  t.match(refusalOf('true && nobody == "a"'), { position: 8 })
  t.match(refusalOf('"😀" == "😀" && nobody == "a"'), { position: 14 })
  t.match(refusalOf('"😀" == "😀" &&& true'), { position: 13 })
  t.match(refusalOf('scopes.exists(s, scopes.all(x, true))'), { position: 17 })
})

test('2,000 code points pass and 2,001 do not, whatever they weigh', async (t) => {
  const filled = (unit: string, points: number): string => `subject != "${unit.repeat(points - 13)}"`
  for (const unit of ['a', 'é', '😀']) {
    t.equal(refusalOf(filled(unit, 2000)), null, unit)
    t.match(refusalOf(filled(unit, 2001)), { reason: 'a condition has at most 2000 characters' }, unit)
  }
  t.match(refusalOf(' '.repeat(1_000_000)), { reason: 'a condition has at most 2000 characters' })
})

test('claims are texts of code points, whatever these are', async (t) => {
  t.ok(outcomeOf('subject.size() == 1 && subject > "\\uffff"', { ...CLAIMS, subject: '😀' }).met)
  t.ok(outcomeOf('size(bytes(subject)) == 4', { ...CLAIMS, subject: '😀' }).met)
  t.same(outcomeOf('true', { ...CLAIMS, subject: '\ud83d' }).met, false)
  t.same(outcomeOf('true', { ...CLAIMS, audience: ['a', '\ude00'] }).met, false)
})

test('absent claims are empty', async (t) => {
  const bare = { subject: 'a', audience: ['b'], scopes: [], token_type: '' }
  t.ok(outcomeOf('scopes == [] && size(scopes) == 0 && token_type == ""', bare).met)
  t.ok(outcomeOf('scopes.all(s, false) && !scopes.exists(s, true)', bare).met)
})

test('claims beyond the limits of the exchange make a condition false', async (t) => {
  for (const [claims, failure] of [
    [{ ...CLAIMS, subject: 'a'.repeat(1025) }, 'a claim is too long'],
    [{ ...CLAIMS, scopes: Array(17).fill('a') }, 'the claims are too large'],
    [{ ...CLAIMS, token_type: 'a'.repeat(20_000) }, 'the claims are too large'],
  ] as const) {
    t.same(outcomeOf('true', claims), { met: false, failure })
  }
})

test('a token with a very long type is judged by what it costs', async (t) => {
  const long = { ...CLAIMS, token_type: 'a:'.repeat(5500) }
  const cheap = 'token_type.contains(":a") && token_type.startsWith("a:")'
  t.ok(outcomeOf(cheap, long).met)
  const dear = Array(8).fill('!token_type.contains("b" + subject)').join(' && ')
  t.equal(refusalOf(dear), null)
  t.ok(outcomeOf(dear).met)
  t.same(outcomeOf(dear, long), { met: false, failure: 'the token is too large for this condition' })
})

test('a reason is short and whole, whatever stands in the text', async (t) => {
  for (const text of ['😀', `${'x'.repeat(1990)} == 1`, '9'.repeat(1990), '"\\😀"']) {
    const { reason } = refusalOf(text) ?? { reason: '' }
    t.ok(reason.length > 0 && reason.length <= 200 && reason.isWellFormed(), text.slice(0, 20))
  }
})

test('a token with very many audiences is judged by what it costs', async (t) => {
  const crowd = { ...CLAIMS, audience: Array.from({ length: 3000 }, (_, index) => `a${index % 10}`) }
  t.ok(outcomeOf('audience.exists(a, a == "a9") && "a3" in audience', crowd).met)
  const dear = `audience.all(a, ${Array(60).fill('a != "b"').join(' && ')})`
  t.equal(refusalOf(dear), null)
  t.ok(outcomeOf(dear).met)
  t.same(outcomeOf(dear, crowd), { met: false, failure: 'the token is too large for this condition' })
})

test('what can run long is refused at the save', async (t) => {
  const tooLong = 'the condition can take too long for a large token'
  const repeated = (part: string, count: number): string => Array(count).fill(part).join(' && ')
  for (const text of [
    `audience.all(a, ${repeated('a.contains(subject)', 80)})`,
    repeated('(subject + subject).contains(token_type + "b") == false', 30),
    `audience.all(a, ${repeated('timestamp(a).getHours("Asia/Kolkata") == 1', 2)})`,
    `audience.all(a, ${repeated('int(a) == 1', 20)})`,
    `audience.all(a, ${repeated('audience[99] == a', 80)})`,
    `audience.all(a, ${repeated('bytes(a) == bytes(subject)', 8)})`,
    `audience.all(a, ${repeated('timestamp(a) < timestamp(0)', 10)})`,
    `audience.all(a, ${repeated('duration(a) < duration("1s")', 10)})`,
    `audience.all(a, ${repeated('[[a]] == [[subject]]', 60)})`,
  ]) {
    t.match(refusalOf(text), { reason: tooLong }, text.slice(0, 60))
  }
  for (const text of [
    `(${Array(100).fill('subject').join('+')}).size() > 0`,
    `(${Array(70).fill('subject').join('+')}).contains("b")`,
    `audience.exists(a, (${Array(300).fill('a').join('+')}).size() > 0)`,
  ]) {
    t.match(refusalOf(text), { reason: 'a value can grow too large here' }, text.slice(0, 60))
  }
})

test('every shape of bomb is refused or accepted, and an accepted one has a value', async (t) => {
  for (const [name, text] of SHAPES) {
    const refusal = refusalOf(text)
    t.type(refusal === null ? '' : refusal.reason, 'string', name)
    for (const claims of claimSets()) t.type(outcomeOf(text, claims).met, 'boolean', name)
  }
})

test('1,000 random texts of 2,000 characters are each refused or accepted', async (t) => {
  let accepted = 0
  for (const text of randomTexts(1000, pseudoRandom(4))) {
    const refusal = refusalOf(text)
    if (refusal === null) accepted++
    else if (refusal.reason === '' || refusal.position > 2000) t.fail(text)
  }
  t.ok(accepted > 0, 'some are accepted')
})

test('any text of pieces has a refusal or, over any claims, a value', async () => {
  const anyText = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(piece, { maxLength: 40 }).map((all) => all.join('')),
  )
  const words = fc.string({ unit: 'binary', maxLength: 40 })
  const claims = fc.record({
    subject: words,
    audience: fc.array(words, { maxLength: 5 }),
    scopes: fc.array(words, { maxLength: 16 }),
    token_type: words,
  })
  fc.assert(
    fc.property(anyText, claims, (text, some) => {
      const refusal = refusalOf(text)
      const { met } = outcomeOf(text, some)
      return typeof met === 'boolean' && (refusal === null || !met)
    }),
    { numRuns: 2000 },
  )
})

test('accepted conditions over any claims always have a boolean', async (t) => {
  const random = pseudoRandom(11)
  const texts = [...TRUE, ...STANDARD, ...FALSE, ...ERRS]
  const word = (): string => ['', 'a', 'sluice', 'repo:octo/app', '😀', '\ud800', 'x'.repeat(513)][random(7)]!
  for (let round = 0; round < 5000; round++) {
    const claims = {
      subject: word(),
      audience: Array.from({ length: random(4) }, word),
      scopes: Array.from({ length: random(4) }, word),
      token_type: word(),
    }
    const { met } = outcomeOf(texts[random(texts.length)]!, claims)
    if (typeof met !== 'boolean') t.fail(JSON.stringify(claims))
  }
})

test('conditions of a thread share the clock of a zone, however its name is written', async (t) => {
  const clock = zoneClock('Africa/Algiers')
  t.type(clock, 'function')
  t.equal(zoneClock('Africa/Algiers'), clock)
  t.equal(zoneClock('africa/ALGIERS'), clock)
  t.equal(zoneClock('Africa/Atlantis'), null)
})

test('the value does not depend on what was evaluated before', async (t) => {
  const text = 'scopes.map(s, s + "!") == ["deploy!", "read!"] && scopes.exists(s, s == "read")'
  for (let round = 0; round < 3; round++) {
    t.ok(outcomeOf(text).met)
    t.notOk(outcomeOf(text, { ...CLAIMS, scopes: ['read'] }).met)
  }
})

test('the memory of programs gives up the least recently used, by number and by size', async (t) => {
  const memory = new ProgramCache<string>()
  for (let index = 0; index < 512; index++) memory.set(`t${index}`, `p${index}`, 1)
  t.equal(memory.get('t0'), 'p0')
  memory.set('next', 'p', 1)
  t.equal(memory.get('t0'), 'p0')
  t.equal(memory.get('t1'), undefined)
  t.equal(memory.size, 512)
  memory.set('large', 'p', 49_999)
  t.equal(memory.get('large'), 'p')
  t.equal(memory.size, 2)
})
