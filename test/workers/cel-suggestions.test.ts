/** What parts of a condition come to, and what would make it true. */
import fc from 'fast-check'
import { test } from 'tap'
import {
  checkCondition,
  conditionSuggestions,
  evaluateCondition,
  explainCondition,
} from '../../workers/cel/condition-tasks.js'
import type { ConditionClaims, ConditionExplanation, ConditionPart } from '../../workers/tasks.js'
import { ERRS, FALSE, STANDARD, TRUE } from './cel-conditions.js'
import { SHAPES } from './cel-shapes.js'

const CLAIMS: ConditionClaims = {
  subject: 'repo:octo/app:ref',
  audience: ['sluice'],
  scopes: ['read', 'write'],
  token_type: '',
}

function explained(text: string, claims: ConditionClaims = CLAIMS): ConditionExplanation {
  const outcome = explainCondition({ text, claims })
  if (!outcome.ok || outcome.value === null) throw new Error(`${text} is not explained`)
  return outcome.value
}

function isMet(text: string, claims: ConditionClaims): boolean {
  const outcome = evaluateCondition({ text, claims })
  return outcome.ok && outcome.value.met
}

const partsOf = (part: ConditionPart): ConditionPart[] => [part, ...part.children.flatMap(partsOf)]

/** Condition, and what is said of it. */
const SAID: readonly (readonly [condition: string, ...sentences: string[]])[] = [
  ['subject == "a"', '`subject` is "a"'],
  ['"a" == subject', '`subject` is "a"'],
  ['subject != "repo:octo/app:ref"', '`subject` is not "repo:octo/app:ref"'],
  ['"deploy" in scopes', '`scopes` contains "deploy"'],
  ['!("read" in scopes)', '`scopes` does not contain "read"'],
  ['subject in ["a", "b"]', '`subject` is "a"', '`subject` is "b"'],
  ['subject.startsWith("repo:acme/")', '`subject` starts with "repo:acme/"'],
  ['subject.endsWith(":main")', '`subject` ends with ":main"'],
  ['!subject.contains("octo")', '`subject` does not contain "octo"'],
  ['size(scopes) > 2', '`scopes` has at least 3 entries'],
  ['subject == "a" && "x" in scopes', '`subject` is "a" and `scopes` contains "x"'],
  ['subject == "a" || "x" in scopes', '`subject` is "a"', '`scopes` contains "x"'],
  ['"read" in scopes && subject == "a"', '`subject` is "a"'],
  [
    '!(subject.startsWith("repo:") && "read" in scopes)',
    '`subject` does not start with "repo:"',
    '`scopes` does not contain "read"',
  ],
  [
    'scopes.exists(s, s.startsWith("deploy:"))',
    '`scopes` has an entry `s` for which `s` starts with "deploy:"',
  ],
  ['scopes.all(s, s != "write")', '`scopes` does not contain "write"'],
  [
    '["repo:a/", "repo:b/"].exists(p, subject.startsWith(p))',
    '`subject` starts with "repo:a/"',
    '`subject` starts with "repo:b/"',
  ],
  ['audience[1] == "x"', 'entry 1 of `audience` is "x"'],
  ['("x" in scopes) == true', '`scopes` contains "x"'],
  [
    'token_type == "at" ? subject == "a" : subject == "b"',
    '`subject` is "b"',
    '`token_type` is "at" and `subject` is "a"',
  ],
  // A field of a literal is there or not, whatever the token says; so is what contradicts itself.
  ['has({"a": 1}.b)'],
  ['subject == "a" && subject == "b"'],
  ['false'],
]

for (const [condition, ...sentences] of SAID) {
  test(`what would make it true is said: ${condition}`, (t) => {
    t.same(explained(condition).wouldPassIf, sentences)
    t.end()
  })
}

test('a condition that is met needs nothing', (t) => {
  t.same(explained('"read" in scopes').wouldPassIf, [])
  t.equal(explained('"read" in scopes').tree.value, 'true')
  t.end()
})

test('each part tells its value, also where another part decides', (t) => {
  const { tree } = explained('"read" in scopes || audience[4] == "x" || scopes.exists(s, s == "no")')
  t.match(tree, { kind: 'or', value: 'true', type: 'bool' })
  t.match(
    tree.children.map(({ text, value, error }) => [text, value, error]),
    [
      ['"read" in scopes', 'true', null],
      ['audience[4] == "x"', null, 'index_out_of_bounds'],
      ['scopes.exists(s, s == "no")', 'false', null],
    ],
  )
  t.same(
    tree.children[2]!.children.map(({ kind, text, value }) => [kind, text, value]),
    [
      ['name', 'scopes', '["read", "write"]'],
      ['turn', 's = "read"', 'false'],
      ['turn', 's = "write"', 'false'],
    ],
  )
  t.end()
})

test('a long value is shortened with a mark, and a large tree to a bounded number of parts', (t) => {
  const claims = { ...CLAIMS, subject: 's'.repeat(500) }
  const [, subject] = partsOf(explained('subject == "a"', claims).tree)
  t.match(subject, { shortened: true, value: /^"s{100,200}…/ })
  t.ok(subject!.value!.length <= 200)
  const wide = `subject in [${Array(320).fill('"a"').join(', ')}]`
  const { tree } = explained(wide)
  t.ok(partsOf(tree).length <= 300)
  t.equal(tree.children[1]!.shortened, true)
  t.end()
})

test('the tree agrees with the evaluation for every condition of the language’s own tests', (t) => {
  for (const text of [...TRUE, ...STANDARD, ...FALSE, ...ERRS]) {
    const outcome = explainCondition({ text, claims: CLAIMS })
    if (!outcome.ok || outcome.value === null) return t.fail(text)
    t.equal(outcome.value.tree.value === 'true', isMet(text, CLAIMS), text)
  }
  return t.end()
})

test('the worst shapes are explained within bounds', (t) => {
  for (const [name, text] of SHAPES) {
    const checked = checkCondition({ text })
    if (!checked.ok || checked.value.defect !== null) continue
    t.ok(JSON.stringify(explained(text)).length < 400_000, name)
  }
  t.end()
})

// ── The law: claims that a suggestion leads to make the condition true ──────

const word = fc.constantFrom('a', 'ab', 'b', 'read', 'repo:', 'x:y', '')
const list = fc.constantFrom('scopes', 'audience', '["a", "b"]')
const text = fc.constantFrom('subject', 'token_type', 'audience[0]', 'scopes[1]')
const quoted = word.map((each) => JSON.stringify(each))
const order = fc.constantFrom('==', '!=', '<', '<=', '>', '>=')
const call = fc.constantFrom('startsWith', 'endsWith', 'contains')

/** Tests of one text. */
const textTest = (place: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.oneof(
    fc.tuple(place, order, quoted).map((each) => each.join(' ')),
    fc.tuple(quoted, order, place).map((each) => each.join(' ')),
    fc.tuple(place, call, quoted).map(([a, name, b]) => `${a}.${name}(${b})`),
    fc.tuple(place, order, fc.nat(4)).map(([a, op, size]) => `size(${a}) ${op} ${size}`),
    fc.tuple(place, list).map(([a, b]) => `${a} in ${b}`),
  )

const atom = fc.oneof(
  textTest(text),
  fc.tuple(quoted, list).map(([a, b]) => `${a} in ${b}`),
  fc.tuple(list, order, fc.nat(4)).map(([a, op, size]) => `${a}.size() ${op} ${size}`),
  fc
    .tuple(list, fc.constantFrom('exists', 'all', 'exists_one'), textTest(fc.constantFrom('i', 'subject')))
    .map(([a, macro, body]) => `${a}.${macro}(i, ${body})`),
)

const { condition } = fc.letrec<{ condition: string; inner: string }>((tie) => ({
  inner: fc.oneof({ maxDepth: 3, withCrossShrink: true }, atom, tie('condition')),
  condition: fc.oneof(
    atom,
    fc.tuple(tie('inner'), tie('inner')).map(([a, b]) => `(${a}) && (${b})`),
    fc.tuple(tie('inner'), tie('inner')).map(([a, b]) => `(${a}) || (${b})`),
    tie('inner').map((a) => `!(${a})`),
    fc.tuple(tie('inner'), tie('inner'), tie('inner')).map(([a, b, c]) => `(${a}) ? (${b}) : (${c})`),
  ),
}))

const claimSet = fc.record({
  subject: fc.constantFrom('a', 'repo:octo', 'read'),
  audience: fc.array(word, { minLength: 1, maxLength: 3 }),
  scopes: fc.array(word, { maxLength: 3 }),
  token_type: word,
})

test('a suggestion carried out makes the condition true, and one that is met has none', (t) => {
  let suggested = 0
  let unmet = 0
  fc.assert(
    fc.property(condition, claimSet, (source, claims) => {
      const before = isMet(source, claims)
      const suggestions = conditionSuggestions(source, claims)
      if (before) return suggestions.length === 0
      unmet++
      if (suggestions.length > 0) suggested++
      return suggestions.every(
        ({ claims: changed, sentence }) =>
          isMet(source, changed) && changed.subject !== '' && changed.audience.length > 0 && sentence !== '',
      )
    }),
    { numRuns: 1500 },
  )
  t.ok(suggested > unmet / 2, `${suggested} of ${unmet} unmet conditions had a suggestion`)
  t.end()
})
