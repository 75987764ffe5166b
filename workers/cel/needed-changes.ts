/** Which value a claim would need for one comparison, membership or test of a text to come out as wanted. */
import { type ClaimPlace, placeOf, type Situation } from './claim-places.js'
import { renderValue } from './rendering.js'
import type { CelNode } from './syntax-tree.js'
import type { CelMap, CelValue } from './value.js'

/** A claim with another value, and what is then so of it. */
export interface AtomChange {
  readonly place: ClaimPlace
  readonly value: string | readonly string[]
  readonly clause: string
}

type Read = (node: CelNode) => CelValue | undefined

/** Changes of one claim that may give the part its wanted value; whether they do is to be tried. */
export function atomChanges(
  node: CelNode,
  wanted: boolean,
  situation: Situation,
  read: Read,
): readonly AtomChange[] {
  switch (node.op) {
    case '==':
    case '!=': {
      const [left, right] = node.args
      const isEqual = (node.op === '==') === wanted
      return bothWays(left, right, (side, other) => equalityChanges(side, other, isEqual, situation, read))
    }
    case 'in':
      return membershipChanges(node.args[0], node.args[1], wanted, situation, read)
    case '<':
    case '<=':
    case '>':
    case '>=': {
      const op = wanted ? node.op : OPPOSITES[node.op]
      const [left, right] = node.args
      return [
        ...orderChanges(left, op, right, situation, read),
        ...orderChanges(right, MIRRORED[op], left, situation, read),
      ]
    }
    case 'rcall':
      return textChanges(node.args[0], node.args[1], node.args[2][0], wanted, situation, read)
    default:
      return []
  }
}

function bothWays<T>(a: CelNode, b: CelNode, one: (side: CelNode, other: CelNode) => readonly T[]): T[] {
  return [...one(a, b), ...one(b, a)]
}

const shown = (value: CelValue): string => renderValue(value).text

function isTexts(value: CelValue | undefined): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string')
}

// ── Equality and membership ─────────────────────────────────────────────────

function equalityChanges(
  side: CelNode,
  other: CelNode,
  isEqual: boolean,
  situation: Situation,
  read: Read,
): readonly AtomChange[] {
  const due = read(other)
  const sized = sizedPlace(side, situation)
  if (sized !== null && typeof due === 'bigint') {
    const size = Number(due)
    return isEqual ? [sizeChange(sized, size, 'exactly')] : []
  }
  const place = placeOf(side, situation)
  if (place === null || (typeof due !== 'string' && !isTexts(due))) return []
  if (isEqual) return [{ place, value: due, clause: `${place.name} is ${shown(due)}` }]
  const value = typeof due === 'string' ? otherText([due]) : [...due, otherText(due)]
  return [{ place, value, clause: `${place.name} is not ${shown(due)}` }]
}

/** One that is none of these. */
function otherText(texts: readonly string[]): string {
  let text = 'other'
  while (texts.includes(text)) text += '-other'
  return text
}

/** Members of a set that are proposed one by one. */
const MOST_MEMBERS = 3

function membershipChanges(
  item: CelNode,
  list: CelNode,
  wanted: boolean,
  situation: Situation,
  read: Read,
): readonly AtomChange[] {
  return [
    ...holderChanges(item, list, wanted, situation, read),
    ...memberChanges(item, list, wanted, situation, read),
  ]
}

/** The list is a claim. */
function holderChanges(
  item: CelNode,
  list: CelNode,
  wanted: boolean,
  situation: Situation,
  read: Read,
): readonly AtomChange[] {
  const place = placeOf(list, situation)
  const member = read(item)
  if (place === null || typeof place.value === 'string' || typeof member !== 'string') return []
  const { name, value: entries } = place
  if (wanted) return [{ place, value: [...entries, member], clause: `${name} contains ${shown(member)}` }]
  const rest = entries.filter((entry) => entry !== member)
  return [{ place, value: rest, clause: `${name} does not contain ${shown(member)}` }]
}

/** What is looked for is a claim. */
function memberChanges(
  item: CelNode,
  list: CelNode,
  wanted: boolean,
  situation: Situation,
  read: Read,
): readonly AtomChange[] {
  const place = placeOf(item, situation)
  const among = read(list)
  const members = among instanceof Map ? [...(among as CelMap).values()].map(({ key }) => key) : among
  if (place === null || !isTexts(members)) return []
  if (wanted) {
    return members.slice(0, MOST_MEMBERS).map((member) => {
      return { place, value: member, clause: `${place.name} is ${shown(member)}` }
    })
  }
  return [{ place, value: otherText(members), clause: `${place.name} is none of ${shown(members)}` }]
}

// ── Order and size ──────────────────────────────────────────────────────────

type Ordering = '<' | '<=' | '>' | '>='
const OPPOSITES: Readonly<Record<Ordering, Ordering>> = { '<': '>=', '<=': '>', '>': '<=', '>=': '<' }
const MIRRORED: Readonly<Record<Ordering, Ordering>> = { '<': '>', '<=': '>=', '>': '<', '>=': '<=' }

function orderChanges(
  side: CelNode,
  op: Ordering,
  other: CelNode,
  situation: Situation,
  read: Read,
): readonly AtomChange[] {
  const due = read(other)
  const sized = sizedPlace(side, situation)
  if (sized !== null && typeof due === 'bigint') {
    const most = Number(due) - (op === '<' ? 1 : 0) + (op === '>' ? 1 : 0)
    return [sizeChange(sized, most, op === '<' || op === '<=' ? 'at most' : 'at least')]
  }
  const place = placeOf(side, situation)
  if (place === null || typeof due !== 'string') return []
  // A text comes behind its own begin.
  const value = op === '>' ? `${due}0` : op === '<' ? due.slice(0, -1) || '!' : due
  return [{ place, value, clause: `${place.name} ${op} ${shown(due)}` }]
}

/** The place whose size a part is. */
function sizedPlace(node: CelNode, situation: Situation): ClaimPlace | null {
  const isSize = (node.op === 'call' || node.op === 'rcall') && node.args[0] === 'size'
  if (!isSize) return null
  const of = node.op === 'rcall' ? node.args[1] : node.args[1][0]!
  return placeOf(of, situation)
}

/** Longer than any claim may be, or shorter than nothing: no place takes it. */
const MOST_SIZE = 600

function sizeChange(place: ClaimPlace, due: number, howMuch: string): AtomChange {
  const size = Math.max(0, Math.min(due, MOST_SIZE))
  const { name, value } = place
  const isText = typeof value === 'string'
  const unit = isText ? 'character' : due === 1 ? 'entry' : 'entries'
  const plural = isText && due !== 1 ? 's' : ''
  return {
    place,
    value: isText ? textOfSize(value, size) : listOfSize(value, size),
    clause: `${name} has ${howMuch} ${due} ${unit}${plural}`,
  }
}

function textOfSize(text: string, size: number): string {
  const points = [...text].slice(0, size)
  return points.join('') + 'x'.repeat(size - points.length)
}

function listOfSize(list: readonly string[], size: number): readonly string[] {
  const some = list.slice(0, size)
  while (some.length < size) some.push(`x${some.length}`)
  return some
}

// ── Texts ───────────────────────────────────────────────────────────────────

interface TextTest {
  readonly words: readonly [met: string, unmet: string]
  /** The text changed so that the test holds, or does not. */
  readonly change: (text: string, part: string, wanted: boolean) => string
}

const otherLetter = (letter: string | undefined): string => (letter === 'x' ? 'y' : 'x')

const TEXT_TESTS: ReadonlyMap<string, TextTest> = new Map([
  [
    'startsWith',
    {
      words: ['starts with', 'does not start with'],
      change: (text, part, wanted) => (wanted ? part : otherLetter(part[0])) + text,
    },
  ],
  [
    'endsWith',
    {
      words: ['ends with', 'does not end with'],
      change: (text, part, wanted) => text + (wanted ? part : otherLetter(part.at(-1))),
    },
  ],
  [
    'contains',
    {
      words: ['contains', 'does not contain'],
      change: (text, part, wanted) => (wanted ? text + part : text.split(part).join('')),
    },
  ],
])

function textChanges(
  method: string,
  receiver: CelNode,
  argument: CelNode | undefined,
  wanted: boolean,
  situation: Situation,
  read: Read,
): readonly AtomChange[] {
  const place = placeOf(receiver, situation)
  const test = TEXT_TESTS.get(method)
  const part = argument && read(argument)
  if (test === undefined || place === null || typeof place.value !== 'string' || typeof part !== 'string')
    return []
  const clause = `${place.name} ${test.words[wanted ? 0 : 1]} ${shown(part)}`
  const added = { place, value: test.change(place.value, part, wanted), clause }
  // A text that has grown too long is made anew.
  return [wanted && place.put(added.value) === null ? { place, value: part, clause } : added]
}
