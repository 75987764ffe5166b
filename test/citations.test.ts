import { test } from 'tap'
import {
  brokenCitations,
  brokenReferences,
  countCitations,
  numbersOf,
  type Pages,
} from './documents/citations.js'
import { textsBelow } from './documents/tree.js'

const CONTRACT = 'docs/contract/'
const CITING = ['src', 'workers', 'bench', 'test', 'docs']

const contract = Object.entries(textsBelow(['docs/contract']))
  .filter(([path]) => path.endsWith('.md') && !path.endsWith('README.md'))
  .map(([path, text]) => ({ path, text, name: path.slice(CONTRACT.length, -'.md'.length) }))
const pages: Pages = new Map(contract.map(({ name, text }) => [name, numbersOf(text)]))

test('the contract has its six pages, and each decision its number', async (t) => {
  t.strictSame([...pages.keys()].sort(), ['decisions', 'directory', 'fleet', 'gateway', 'practice', 'tools'])
  const decisions = [...pages.get('decisions')!]
  t.strictSame(
    decisions,
    decisions.map((_, at) => String(at + 1)),
    'in order and without a gap',
  )
})

test('every citation of the contract resolves', async (t) => {
  const texts = textsBelow(CITING)
  t.ok(countCitations(texts) > 200, 'citations are found')
  t.strictSame(brokenCitations(texts, pages), [])
})

test('every reference within a page of the contract resolves', async (t) => {
  for (const { path, text } of contract) t.strictSame(brokenReferences(path, text), [])
})

// The examples are written with escapes, because this file is searched for citations as well.
const KNOWN: Pages = new Map([
  ['gateway', new Set(['5', '5.6', '5.8', '12'])],
  ['decisions', new Set(['1', '14', '15', '19'])],
])

const GOOD = [
  '/** Answers (contract\u002fgateway 5.6). */',
  '// contract\u002fgateway 5.6 to 5.8, contract\u002fdecisions 14, 15 and 19: exchanges.',
  '/**\n * Everything (contract\u002fdecisions\n * 14,\n * 15) is checked.\n */',
  'see [the page](contract\u002fgateway.md#56-answer) and test\u002fcontract\u002fgateway.test.ts',
  'a decision of 3 people; the folder `contract\u002f` has [decision\u00207](0007.md)',
  'ends with contract\u002fgateway 12.',
]

const BAD: readonly (readonly [text: string, told: RegExp])[] = [
  ['one\ntwo (contract\u002fgateway 5.7)', /^x\.ts:2: contract.gateway has no number 5\.7$/],
  ['contract\u002fgateway 5.6 to 5.9', /no number 5\.9/],
  ['contract\u002fdecisions 14,\n * 16', /no number 16/],
  ['contract\u002fdecisions 14 and 140', /no number 140/],
  ['the wire rules (contract\u002fgateway)', /^x\.ts:1: contract.gateway needs a number$/],
  ['contract\u002fgateway section 5.6', /needs a number/],
  ['ends with contract\u002fgateway.', /needs a number/],
  ['contract\u002ffleet 3', /contract.fleet is no page/],
  ['Contract\u002fgateway 5.6', /Contract.gateway is no page/],
  ['contract\u002fgateway 5.6, decisions\u002014', /“decisions.14” does not name its page/],
  ['(Decision\u002010)', /“Decision.10”/],
  [' * as of decision\n * 10', /^x\.ts:1: “decision.10”/],
  ['gateway.md\u0020section 5.6', /“gateway\.md section 5”/],
  ['contract\u0020section 5.6', /“contract.section 5”/],
]

test('what is written as a citation and leads somewhere is taken', async (t) => {
  for (const text of GOOD) t.strictSame(brokenCitations({ 'x.ts': text }, KNOWN), [], text)
})

test('what leads nowhere or is written otherwise is told with its file and line', async (t) => {
  for (const [text, told] of BAD) {
    const broken = brokenCitations({ 'x.ts': text }, KNOWN)
    t.equal(broken.length, 1, text)
    t.match(broken[0], told, text)
  }
})

test('a reference of a page to itself, and a number that is given twice, are told', async (t) => {
  const page = '## 5. Messages\n\n### 5.6 Answer\n\nsee section 5 (5.6)'
  t.strictSame(brokenReferences('x.md', page), [])
  t.strictSame(brokenReferences('x.md', `${page} and (5.7)`), ['x.md:5: there is no section 5.7'])
  t.strictSame(brokenReferences('x.md', `${page}\n\nas section 6 says`), ['x.md:7: there is no section 6'])
  t.throws(() => numbersOf(`${page}\n\n## 5. Again`), /5 is given twice/)
})
