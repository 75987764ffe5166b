/**
 * The functions a condition may call, each with its types and its price. What is not listed is refused: `matches`
 * by the product's rule, the rest of the library's set because it is of no use here (times, bytes), hides types
 * (`dyn`, `type`), or is wrong in the library (`int` of a text takes '' for 0).
 */
import {
  type AbstractValue,
  BOOL_VALUE,
  collectionValue,
  DOUBLE_VALUE,
  intValue,
  textValue,
  typeName,
  UINT_VALUE,
} from './abstract-value.js'

/** Prices are estimates in nanoseconds, on the high side. */
const PER_CHAR = 1
const PER_CODE_POINT = 12
const PER_ITEM = 40
const NUMBER_DIGITS = 20

type CelArguments = readonly AbstractValue[]

interface CelOverloadRules {
  /** Some arguments make it fail. */
  readonly fails?: true
  /** The library counts or maps UTF-16 units where the language means code points: right for ASCII alone. */
  readonly ascii?: true
  /** The last argument has to be a literal text that is not empty. */
  readonly separator?: true
}

interface CelOverload extends CelOverloadRules {
  /** Types of the receiver, if it is a method, and of the arguments; as `typeName` tells them. */
  readonly takes: readonly string[]
  readonly gives: (args: CelArguments) => AbstractValue
  /** Beyond the price of the call itself. */
  readonly cost: (args: CelArguments) => number
}

/** @param takes the types, with spaces between them */
function overload(
  takes: string,
  gives: CelOverload['gives'],
  cost: CelOverload['cost'] = () => 0,
  rules: CelOverloadRules = {},
): CelOverload {
  return { takes: takes.split(' '), gives, cost, ...rules }
}

const costOfItem = () => PER_ITEM
const costOfChars = (args: CelArguments) => args.reduce((sum, { chars }) => sum + chars, 0) * PER_CHAR
/** Measured: 6 ns a unit for short needles; the worst long ones cost a small share of the product, backwards all. */
const costOfSearch = (args: CelArguments) => 8 * costOfChars(args) + args[0]!.chars * args[1]!.chars * 0.08
const costOfSearchBackwards = (args: CelArguments) =>
  costOfChars(args) + args[0]!.chars * args[1]!.chars * 1.5
const costOfSplit = (args: CelArguments) => costOfSearch(args) + (args[0]!.chars + 1) * PER_ITEM
const costOfJoin = (args: CelArguments) => joinedText(args).chars + args[0]!.items * PER_ITEM

const givesBool = () => BOOL_VALUE
const givesUint = () => UINT_VALUE
const givesDouble = () => DOUBLE_VALUE
const givesSameValue = ([value]: CelArguments) => value!
const textOfSameSize = ([whole]: CelArguments) => textValue(whole!.chars)
const numberText = () => textValue(NUMBER_DIGITS)
const countOf = ([whole]: CelArguments) =>
  intValue(0n, BigInt(Math.ceil(whole!.kind === 'string' ? whole!.chars : whole!.items)))
const indexIn = ([whole]: CelArguments) => intValue(-1n, BigInt(Math.ceil(whole!.chars)))
const splitPieces = ([whole]: CelArguments) =>
  collectionValue('list', 'string', whole!.chars + 1, whole!.chars, whole!.chars)
const joinedText = ([parts, by]: CelArguments) => textValue(parts!.chars + parts!.items * (by?.chars ?? 0))

const ASCII = { ascii: true } as const
const FAILS = { fails: true } as const
const SUBSTRING = { ...ASCII, ...FAILS }

const SIZES = [
  overload('string', countOf, ([whole]) => whole!.chars * PER_CODE_POINT),
  overload('list', countOf),
  overload('map', countOf, ([whole]) => whole!.items * PER_ITEM),
]
const TESTS = [overload('string string', givesBool, costOfChars)]
const CASES = [overload('string', textOfSameSize, costOfChars, ASCII)]

export type CelFunctionTable = ReadonlyMap<string, readonly CelOverload[]>

/** Called as `receiver.name(arguments)`. */
export const METHODS: CelFunctionTable = new Map([
  ['size', SIZES],
  ['startsWith', TESTS],
  ['endsWith', TESTS],
  ['contains', [overload('string string', givesBool, costOfSearch)]],
  ['lowerAscii', CASES],
  ['upperAscii', CASES],
  ['trim', CASES],
  ['indexOf', [overload('string string', indexIn, costOfSearch, ASCII)]],
  ['lastIndexOf', [overload('string string', indexIn, costOfSearchBackwards, ASCII)]],
  [
    'substring',
    [
      overload('string int', textOfSameSize, costOfChars, SUBSTRING),
      overload('string int int', textOfSameSize, costOfChars, SUBSTRING),
    ],
  ],
  ['split', [overload('string string', splitPieces, costOfSplit, { separator: true })]],
  [
    'join',
    [
      overload('list(string)', joinedText, costOfJoin),
      overload('list(string) string', joinedText, costOfJoin),
    ],
  ],
])

/** Called as `name(arguments)`. */
export const FUNCTIONS: CelFunctionTable = new Map([
  ['size', SIZES],
  [
    'string',
    [
      overload('string', textOfSameSize),
      overload('bool', () => textValue(5)),
      overload('int', numberText, costOfItem),
      overload('uint', numberText, costOfItem),
    ],
  ],
  ['bool', [overload('bool', givesBool), overload('string', givesBool, undefined, FAILS)]],
  ['int', [overload('int', givesSameValue)]],
  ['uint', [overload('uint', givesUint), overload('int', givesUint, costOfItem, FAILS)]],
  ['double', [overload('double', givesDouble), overload('int', givesDouble), overload('uint', givesDouble)]],
])

/** The overload that takes these arguments. */
export function selectOverload(
  overloads: readonly CelOverload[],
  args: CelArguments,
): CelOverload | undefined {
  return overloads.find(
    ({ takes }) => takes.length === args.length && takes.every((type, index) => hasType(type, args[index]!)),
  )
}

function hasType(type: string, value: AbstractValue): boolean {
  return type === value.kind || type === typeName(value)
}
