/**
 * The functions a condition may call, each with its types and its price. What is not listed is refused: `matches`
 * by the product's rule, the rest of the library's set because it is of no use here (times, bytes), hides types
 * (`dyn`, `type`), or is wrong in the library (`int` of a text takes '' for 0).
 */
import {
  type AbstractValue,
  BOOL_VALUE,
  DOUBLE_VALUE,
  intValue,
  listValue,
  textValue,
  typeName,
  UINT_VALUE,
} from './abstract-value.js'

/** Prices are estimates in nanoseconds, on the high side. */
const PER_CHAR = 1
const PER_CODE_POINT = 12
const PER_ITEM = 40

interface CelOverload {
  /** Types of the receiver, if it is a method, and of the arguments; as `typeName` tells them. */
  readonly takes: readonly string[]
  readonly gives: (args: readonly AbstractValue[]) => AbstractValue
  /** Beyond the price of the call itself. */
  readonly cost: (args: readonly AbstractValue[]) => number
  /** Some arguments make it fail. */
  readonly fails?: true
  /** The library counts or maps UTF-16 units where the language means code points: right for ASCII alone. */
  readonly ascii?: true
  /** The last argument has to be a literal text that is not empty. */
  readonly separator?: true
}

const noCost = () => 0
const costOfChars = (args: readonly AbstractValue[]) =>
  args.reduce((sum, { chars }) => sum + chars, 0) * PER_CHAR
/** Measured: 6 ns a unit for short needles; the worst long ones cost a small share of the product, backwards all. */
const costOfSearch = (args: readonly AbstractValue[]) =>
  8 * costOfChars(args) + args[0]!.chars * args[1]!.chars * 0.08
const costOfSearchBackwards = (args: readonly AbstractValue[]) =>
  costOfChars(args) + args[0]!.chars * args[1]!.chars * 1.5
const splitPieces = ([whole]: readonly AbstractValue[]) =>
  listValue('string', whole!.chars + 1, whole!.chars, whole!.chars)
const textOfSameSize = ([whole]: readonly AbstractValue[]) => textValue(whole!.chars)
const countOf = ([whole]: readonly AbstractValue[]) =>
  intValue(0n, BigInt(Math.ceil(whole!.kind === 'string' ? whole!.chars : whole!.items)))
const indexIn = ([whole]: readonly AbstractValue[]) => intValue(-1n, BigInt(Math.ceil(whole!.chars)))
const joinedText = ([parts, by]: readonly AbstractValue[]) =>
  textValue(parts!.chars + parts!.items * (by?.chars ?? 0))

const SIZES: readonly CelOverload[] = [
  {
    takes: ['string'],
    gives: countOf,
    cost: ([whole]) => whole!.chars * PER_CODE_POINT,
  },
  { takes: ['list'], gives: countOf, cost: noCost },
  { takes: ['map'], gives: countOf, cost: ([whole]) => whole!.items * PER_ITEM },
]
const TESTS: readonly CelOverload[] = [
  { takes: ['string', 'string'], gives: () => BOOL_VALUE, cost: costOfChars },
]
const CASES: readonly CelOverload[] = [
  { takes: ['string'], gives: textOfSameSize, cost: costOfChars, ascii: true },
]

/** Called as `receiver.name(arguments)`. */
export const METHODS: ReadonlyMap<string, readonly CelOverload[]> = new Map([
  ['size', SIZES],
  ['startsWith', TESTS],
  ['endsWith', TESTS],
  ['contains', [{ takes: ['string', 'string'], gives: () => BOOL_VALUE, cost: costOfSearch }]],
  ['lowerAscii', CASES],
  ['upperAscii', CASES],
  ['trim', CASES],
  ['indexOf', [{ takes: ['string', 'string'], gives: indexIn, cost: costOfSearch, ascii: true }]],
  [
    'lastIndexOf',
    [{ takes: ['string', 'string'], gives: indexIn, cost: costOfSearchBackwards, ascii: true }],
  ],
  [
    'substring',
    [
      { takes: ['string', 'int'], gives: textOfSameSize, cost: costOfChars, ascii: true, fails: true },
      { takes: ['string', 'int', 'int'], gives: textOfSameSize, cost: costOfChars, ascii: true, fails: true },
    ],
  ],
  [
    'split',
    [
      {
        takes: ['string', 'string'],
        gives: splitPieces,
        cost: (args) => costOfSearch(args) + (args[0]!.chars + 1) * PER_ITEM,
        separator: true,
      },
    ],
  ],
  [
    'join',
    [
      {
        takes: ['list(string)'],
        gives: joinedText,
        cost: (args) => joinedText(args).chars + args[0]!.items * PER_ITEM,
      },
      {
        takes: ['list(string)', 'string'],
        gives: joinedText,
        cost: (args) => joinedText(args).chars + args[0]!.items * PER_ITEM,
      },
    ],
  ],
])

const NUMBER_DIGITS = 20

/** Called as `name(arguments)`. */
export const FUNCTIONS: ReadonlyMap<string, readonly CelOverload[]> = new Map([
  ['size', SIZES],
  [
    'string',
    [
      { takes: ['string'], gives: textOfSameSize, cost: noCost },
      { takes: ['bool'], gives: () => textValue(5), cost: noCost },
      { takes: ['int'], gives: () => textValue(NUMBER_DIGITS), cost: () => PER_ITEM },
      { takes: ['uint'], gives: () => textValue(NUMBER_DIGITS), cost: () => PER_ITEM },
    ],
  ],
  [
    'bool',
    [
      { takes: ['bool'], gives: () => BOOL_VALUE, cost: noCost },
      { takes: ['string'], gives: () => BOOL_VALUE, cost: noCost, fails: true },
    ],
  ],
  ['int', [{ takes: ['int'], gives: ([same]) => same!, cost: noCost }]],
  [
    'uint',
    [
      { takes: ['uint'], gives: () => UINT_VALUE, cost: noCost },
      { takes: ['int'], gives: () => UINT_VALUE, cost: () => PER_ITEM, fails: true },
    ],
  ],
  [
    'double',
    [
      { takes: ['double'], gives: () => DOUBLE_VALUE, cost: noCost },
      { takes: ['int'], gives: () => DOUBLE_VALUE, cost: noCost },
      { takes: ['uint'], gives: () => DOUBLE_VALUE, cost: noCost },
    ],
  ],
])

/** The overload that takes these arguments. */
export function selectOverload(
  choices: readonly CelOverload[],
  args: readonly AbstractValue[],
): CelOverload | undefined {
  return choices.find(
    ({ takes }) => takes.length === args.length && takes.every((type, index) => hasType(type, args[index]!)),
  )
}

function hasType(type: string, facts: AbstractValue): boolean {
  return type === facts.kind || type === typeName(facts)
}
