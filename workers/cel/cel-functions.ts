/**
 * The functions a condition may call, each with its types and its price. What is not listed is refused: `matches`
 * by the product's rule, the rest of the library's set because it is of no use here (times, bytes), hides types
 * (`dyn`, `type`), or is wrong in the library (`int` of a text takes '' for 0).
 */
import { BOOL, DOUBLE, type Facts, int, list, text, typeName, UINT } from './cel-facts.js'

/** Prices are estimates in nanoseconds, on the high side. */
const PER_CHAR = 1
const PER_CODE_POINT = 12
const PER_ITEM = 40

interface CelFunction {
  /** Types of the receiver, if it is a method, and of the arguments; as `typeName` tells them. */
  readonly takes: readonly string[]
  readonly gives: (args: readonly Facts[]) => Facts
  /** Beyond the price of the call itself. */
  readonly price: (args: readonly Facts[]) => number
  /** Some arguments make it fail. */
  readonly fails?: true
  /** The library counts or maps UTF-16 units where the language means code points: right for ASCII alone. */
  readonly ascii?: true
  /** The last argument has to be a literal text that is not empty. */
  readonly separator?: true
}

const free = () => 0
const allChars = (args: readonly Facts[]) => args.reduce((sum, { chars }) => sum + chars, 0) * PER_CHAR
/** Measured: 6 ns a unit for short needles; the worst long ones cost a small share of the product, backwards all. */
const search = (args: readonly Facts[]) => 8 * allChars(args) + args[0]!.chars * args[1]!.chars * 0.08
const searchBack = (args: readonly Facts[]) => allChars(args) + args[0]!.chars * args[1]!.chars * 1.5
const pieces = ([whole]: readonly Facts[]) => list('string', whole!.chars + 1, whole!.chars, whole!.chars)
const sameText = ([whole]: readonly Facts[]) => text(whole!.chars)
const counted = ([whole]: readonly Facts[]) =>
  int(0n, BigInt(Math.ceil(whole!.kind === 'string' ? whole!.chars : whole!.items)))
const found = ([whole]: readonly Facts[]) => int(-1n, BigInt(Math.ceil(whole!.chars)))
const joined = ([parts, by]: readonly Facts[]) => text(parts!.chars + parts!.items * (by?.chars ?? 0))

const SIZES: readonly CelFunction[] = [
  {
    takes: ['string'],
    gives: counted,
    price: ([whole]) => whole!.chars * PER_CODE_POINT,
  },
  { takes: ['list'], gives: counted, price: free },
  { takes: ['map'], gives: counted, price: ([whole]) => whole!.items * PER_ITEM },
]
const TESTS: readonly CelFunction[] = [{ takes: ['string', 'string'], gives: () => BOOL, price: allChars }]
const CASES: readonly CelFunction[] = [{ takes: ['string'], gives: sameText, price: allChars, ascii: true }]

/** Called as `receiver.name(arguments)`. */
export const METHODS: ReadonlyMap<string, readonly CelFunction[]> = new Map([
  ['size', SIZES],
  ['startsWith', TESTS],
  ['endsWith', TESTS],
  ['contains', [{ takes: ['string', 'string'], gives: () => BOOL, price: search }]],
  ['lowerAscii', CASES],
  ['upperAscii', CASES],
  ['trim', CASES],
  ['indexOf', [{ takes: ['string', 'string'], gives: found, price: search, ascii: true }]],
  ['lastIndexOf', [{ takes: ['string', 'string'], gives: found, price: searchBack, ascii: true }]],
  [
    'substring',
    [
      { takes: ['string', 'int'], gives: sameText, price: allChars, ascii: true, fails: true },
      { takes: ['string', 'int', 'int'], gives: sameText, price: allChars, ascii: true, fails: true },
    ],
  ],
  [
    'split',
    [
      {
        takes: ['string', 'string'],
        gives: pieces,
        price: (args) => search(args) + (args[0]!.chars + 1) * PER_ITEM,
        separator: true,
      },
    ],
  ],
  [
    'join',
    [
      {
        takes: ['list(string)'],
        gives: joined,
        price: (args) => joined(args).chars + args[0]!.items * PER_ITEM,
      },
      {
        takes: ['list(string)', 'string'],
        gives: joined,
        price: (args) => joined(args).chars + args[0]!.items * PER_ITEM,
      },
    ],
  ],
])

const NUMBER_DIGITS = 20

/** Called as `name(arguments)`. */
export const FUNCTIONS: ReadonlyMap<string, readonly CelFunction[]> = new Map([
  ['size', SIZES],
  [
    'string',
    [
      { takes: ['string'], gives: sameText, price: free },
      { takes: ['bool'], gives: () => text(5), price: free },
      { takes: ['int'], gives: () => text(NUMBER_DIGITS), price: () => PER_ITEM },
      { takes: ['uint'], gives: () => text(NUMBER_DIGITS), price: () => PER_ITEM },
    ],
  ],
  [
    'bool',
    [
      { takes: ['bool'], gives: () => BOOL, price: free },
      { takes: ['string'], gives: () => BOOL, price: free, fails: true },
    ],
  ],
  ['int', [{ takes: ['int'], gives: ([same]) => same!, price: free }]],
  [
    'uint',
    [
      { takes: ['uint'], gives: () => UINT, price: free },
      { takes: ['int'], gives: () => UINT, price: () => PER_ITEM, fails: true },
    ],
  ],
  [
    'double',
    [
      { takes: ['double'], gives: () => DOUBLE, price: free },
      { takes: ['int'], gives: () => DOUBLE, price: free },
      { takes: ['uint'], gives: () => DOUBLE, price: free },
    ],
  ],
])

/** The overload that takes these arguments. */
export function overload(choices: readonly CelFunction[], args: readonly Facts[]): CelFunction | undefined {
  return choices.find(
    ({ takes }) => takes.length === args.length && takes.every((type, index) => isOf(type, args[index]!)),
  )
}

function isOf(type: string, facts: Facts): boolean {
  return type === facts.kind || type === typeName(facts)
}
