/** Conditions that are made to hurt: random texts, and shapes that cost as much as may be saved. */
import type { ConditionClaims } from '../../../workers/tasks.js'
import { pickRandom } from '../../harness/figures/sequence.js'

const LONGEST = 2_000

interface NamedCondition {
  readonly name: string
  readonly text: string
}

type RandomSource = () => number

/** Parts one after the other for as long as they fit. */
function fillText(next: () => string, most = LONGEST): string {
  let text = ''
  for (let part = next(); text.length + part.length <= most; part = next()) text += part
  return text
}

const WORDS = [
  ...[
    'subject',
    'audience',
    'scopes',
    'token_type',
    'true',
    'null',
    '1',
    '2.5',
    '"sluice"',
    '.contains("a")',
  ],
  ...['.exists(x, ', '.all(x, ', '.map(x, ', '.size()', '[0]', 'size(', 'matches(', ' in '],
]
const SIGNS = [...'()[]{}.,:?!-+*/%<>"\\ \n', '&&', '||', '==', '!=', '<=']
const TRUTHS = [
  'subject == "repo"',
  '"sluice" in audience',
  'scopes.exists(s, s == "deploy")',
  'size(subject) > 3',
  'subject.startsWith("repo:")',
  '!(token_type == "workload")',
]
const JOINTS = [' && ', ' || ', '\n  && ']

const KINDS: readonly ((random: RandomSource) => string)[] = [
  (random) => fillText(() => String.fromCharCode(Math.floor(random() * 128))),
  (random) => fillText(() => String.fromCharCode(32 + Math.floor(random() * 0xd000))),
  (random) => fillText(() => pickRandom([...WORDS, ...SIGNS], random)),
  (random) => fillText(() => pickRandom(SIGNS, random)),
  (random) => fillText(() => `${pickRandom(['(', '[', '!', '-', '{"a":', 'size('], random)}`),
  (random) => fillText(() => pickRandom(WORDS, random) + pickRandom(JOINTS, random)),
  (random) => trueCondition(random),
  (random) => trueCondition(random).slice(0, LONGEST - Math.floor(random() * 40)),
  (random) => fillText(() => pickRandom(TRUTHS, random) + pickRandom(['? ', ': ', ' == ', ' + '], random)),
]

/** A condition that means something. */
function trueCondition(random: RandomSource): string {
  return `${fillText(() => pickRandom(TRUTHS, random) + pickRandom(JOINTS, random), LONGEST - 4)}true`
}

/** A text of about 2,000 characters; `index` chooses the kind, so that all kinds come equally often. */
export function randomCondition(index: number, random: RandomSource): string {
  return KINDS[index % KINDS.length]!(random)
}

/** A part that is repeated, what stands between two of them, and what stands around the whole. */
interface ConditionShape {
  readonly name: string
  readonly part: string
  readonly by: string
  readonly around?: readonly [begin: string, end: string]
}

const SHAPES: readonly ConditionShape[] = [
  { name: 'texts added up', part: 'subject', by: ' + ', around: ['(', ').size() > 0'] },
  { name: 'texts searched', part: 'subject.contains("aab")', by: ' || ' },
  { name: 'texts made bytes', part: 'string(bytes(subject)) == "b"', by: ' || ' },
  { name: 'texts in order', part: 'subject < subject + "b"', by: ' && ' },
  { name: 'bytes added up', part: 'bytes(subject)', by: ' + ', around: ['(', ').size() > 0'] },
  { name: 'texts that are no numbers', part: 'int(a)==1', by: '||', around: ['audience.exists(a, ', ')'] },
  {
    name: 'texts that are no times',
    part: 'timestamp(a)>timestamp(1)',
    by: '||',
    around: ['audience.exists(a, ', ')'],
  },
  { name: 'clocks of a zone', part: 'timestamp(1).getHours("Asia/Kolkata") == 1', by: ' || ' },
  {
    name: 'clocks in a macro',
    part: 'timestamp(1).getDate("Asia/Tokyo")==9',
    by: '||',
    around: ['scopes.exists(a, ', ')'],
  },
  { name: 'numbers told', part: 'string(1.5e-7)==a', by: '||', around: ['audience.exists(a, ', ')'] },
  { name: 'durations read', part: 'duration("1h1m1s1ms") < duration("1s")', by: ' || ' },
  { name: 'lists of lists', part: '[audience] == [audience, scopes]', by: ' || ' },
  { name: 'lists of lists in a macro', part: '[a]', by: ',', around: ['audience.all(a, [', '].size() > 0)'] },
  { name: 'maps', part: '{"a": subject} == {"a": subject}', by: ' && ' },
  { name: 'maps in a macro', part: '{a: 1}[a] == 1', by: '&&', around: ['audience.all(a, ', ')'] },
  { name: 'lists added up', part: 'audience', by: ' + ', around: ['"b" in (', ')'] },
  { name: 'lists compared', part: 'audience == audience', by: ' && ' },
  { name: 'lists searched', part: '"b" in audience', by: ' || ' },
  { name: 'macros one after the other', part: 'audience.exists(a, a == "b")', by: ' || ' },
  { name: 'macros over scopes', part: 'scopes.all(s, s.contains("a"))', by: ' && ' },
  { name: 'macros that make lists', part: 'audience.map(a, a + a).size() < 0', by: ' || ' },
  { name: 'macros that sift', part: 'audience.filter(a, a.contains("b")).size() > 0', by: ' || ' },
  { name: 'searches in a macro', part: 'a.contains("aab")', by: '||', around: ['audience.exists(a, ', ')'] },
  { name: 'sums in a macro', part: 'a', by: '+', around: ['audience.exists(a, (', ').size() < 0)'] },
  { name: 'lists in a macro', part: 'a in audience', by: '&&', around: ['audience.all(a, ', ')'] },
  { name: 'errors', part: 'audience[999] == "b"', by: ' || ' },
  { name: 'errors in a macro', part: 'audience[999]==a', by: '||', around: ['scopes.exists(a, ', ')'] },
  { name: 'divisions by zero in a macro', part: '1/0==1', by: '||', around: ['audience.all(a, ', ')'] },
  { name: 'numbers', part: '1', by: '+', around: ['', ' > 0'] },
  { name: 'equal truths', part: 'true', by: '==' },
]

function shapeText({ part, by, around: [begin, end] = ['', ''] }: ConditionShape, parts: number): string {
  return begin + Array(parts).fill(part).join(by) + end
}

/** Of each shape the longest text that `accepts` takes; shapes that it never takes are left out. */
export function heavyConditions(accepts: (text: string) => boolean): NamedCondition[] {
  return SHAPES.flatMap((shape) => {
    let least = 0
    let most = Math.floor(LONGEST / (shape.part.length + shape.by.length)) + 1
    // What is accepted with so many parts is accepted with fewer.
    while (least < most) {
      const middle = Math.ceil((least + most) / 2)
      const text = shapeText(shape, middle)
      if (text.length <= LONGEST && accepts(text)) least = middle
      else most = middle - 1
    }
    return least === 0 ? [] : [{ name: `${shape.name} (${least})`, text: shapeText(shape, least) }]
  })
}

/** Claims about as large as a token of 16,384 characters can hold, in several forms. */
export function largeClaims(): readonly ConditionClaims[] {
  const long = 'a'.repeat(512)
  return [
    { subject: long, audience: Array(8).fill(long), scopes: Array(14).fill(long), token_type: 'a' },
    { subject: long, audience: Array(3_000).fill('aaa'), scopes: Array(4).fill(long), token_type: '' },
    {
      subject: long,
      audience: Array(64).fill('a'.repeat(100)),
      scopes: Array(16).fill('a'),
      token_type: long,
    },
    { subject: 'a', audience: ['a'], scopes: [], token_type: 'a'.repeat(12_000) },
  ]
}
