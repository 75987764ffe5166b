/**
 * The functions a condition may call, each with its types, its price and what it does: those of standard CEL and no
 * others (contract/decisions 54). `matches` is not here by the product's rule; `type` and `has` need more than the
 * values of their arguments and stand in `compile.ts`.
 */
import {
  type AbstractValue,
  BOOL_VALUE,
  bytesValue,
  DOUBLE_VALUE,
  DURATION_VALUE,
  INT_VALUE,
  TIMESTAMP_VALUE,
  textValue,
  UINT_VALUE,
} from './abstract-value.js'
import {
  boolOfText,
  CALENDAR,
  calendarPart,
  doubleOfText,
  durationOfText,
  durationPart,
  intOfDouble,
  intOfText,
  secondsOfTimestamp,
  textOfBytes,
  textOfDouble,
  textOfDuration,
  textOfTimestamp,
  timestampOfNanos,
  timestampOfText,
  UTC,
  uintOfDouble,
  uintOfText,
  type ZoneClock,
} from './conversions.js'
import {
  type CelMap,
  type CelValue,
  type Duration,
  intOf,
  type Timestamp,
  type Uint,
  uintOf,
} from './value.js'

/** Prices are estimates in nanoseconds, on the high side. */
const PER_CHAR = 1
const PER_CODE_POINT = 4
const PER_NUMBER = 500
const PER_TIME = 3_000
/** Measured 5 to 10 µs; looking a zone up, once for a thread, takes a quarter of a millisecond. */
const PER_ZONE = 100_000
/** Longest text of a number, a time or a duration. */
const NUMBER_CHARS = 40

type CelArguments = readonly AbstractValue[]
type CelFunction = (first: CelValue, second: CelValue) => CelValue

interface CelOverload {
  /** Types of the receiver, if it is a method, and of the arguments. */
  readonly takes: readonly string[]
  readonly gives: (args: CelArguments) => AbstractValue
  readonly run: CelFunction
  /** Beyond the price of the call itself. */
  readonly cost: (args: CelArguments) => number
  /** Some arguments make it fail. */
  readonly fails: boolean
  /** Where the last argument names a time zone: a literal, because a name costs much to look up. */
  readonly inZone?: (clock: ZoneClock) => CelFunction
}

interface CelOverloadRules {
  readonly cost?: CelOverload['cost'] | number
  readonly fails?: boolean
  readonly inZone?: NonNullable<CelOverload['inZone']>
}

/** @param takes the types, with spaces between them */
function overload<A extends CelValue, B extends CelValue>(
  takes: string,
  gives: AbstractValue | CelOverload['gives'],
  run: (first: A, second: B) => CelValue,
  { cost = 0, fails = false, ...rules }: CelOverloadRules = {},
): CelOverload {
  return {
    takes: takes.split(' '),
    gives: typeof gives === 'function' ? gives : () => gives,
    run: run as unknown as CelFunction,
    cost: typeof cost === 'function' ? cost : () => cost,
    fails,
    ...rules,
  }
}

const identity = (value: CelValue): CelValue => value
const sameValue = ([value]: CelArguments): AbstractValue => value!
const costOfChars = (args: CelArguments): number => args.reduce((sum, { chars }) => sum + chars, 0) * PER_CHAR
/** Measured: 6 ns a unit for short needles; the worst long ones cost a small share of the product. */
const costOfSearch = (args: CelArguments): number =>
  8 * costOfChars(args) + args[0]!.chars * args[1]!.chars * 0.08
const CHARS = { cost: costOfChars }
const NUMBER = { cost: PER_NUMBER }
const NUMBER_OF_TEXT = { cost: PER_NUMBER, fails: true }
const TIME_OF_TEXT = { cost: PER_TIME, fails: true }
const numberText = textValue(NUMBER_CHARS)

function countCodePoints(text: string): bigint {
  let count = text.length
  for (let at = 0; at < text.length; at++) if ((text.charCodeAt(at) & 0xfc00) === 0xdc00) count--
  return BigInt(count)
}

const SIZES = [
  overload('string', INT_VALUE, countCodePoints, { cost: ([whole]) => whole!.chars * PER_CODE_POINT }),
  overload('bytes', INT_VALUE, (bytes: Uint8Array) => BigInt(bytes.length)),
  overload('list', INT_VALUE, (list: readonly CelValue[]) => BigInt(list.length)),
  overload('map', INT_VALUE, (map: CelMap) => BigInt(map.size)),
]

export type CelFunctionTable = ReadonlyMap<string, readonly CelOverload[]>

const DURATION_PARTS = [
  ['getHours', 'hours'],
  ['getMinutes', 'minutes'],
  ['getSeconds', 'seconds'],
  ['getMilliseconds', 'milliseconds'],
] as const

function timeParts(): [string, CelOverload[]][] {
  return Object.keys(CALENDAR).map((name) => {
    const inZone = (clock: ZoneClock) => (at: CelValue) => calendarPart(name, at as Timestamp, clock)
    const overloads = [
      overload('timestamp', INT_VALUE, inZone(UTC), NUMBER),
      overload('timestamp string', INT_VALUE, inZone(UTC), { cost: PER_ZONE, inZone }),
    ]
    const part = DURATION_PARTS.find(([each]) => each === name)?.[1]
    if (part !== undefined) {
      overloads.push(overload('duration', INT_VALUE, (of: Duration) => durationPart(part, of), NUMBER))
    }
    return [name, overloads]
  })
}

/** Called as `receiver.name(arguments)`. */
export const METHODS: CelFunctionTable = new Map([
  ['size', SIZES],
  ['startsWith', [overload('string string', BOOL_VALUE, (a: string, b: string) => a.startsWith(b), CHARS)]],
  ['endsWith', [overload('string string', BOOL_VALUE, (a: string, b: string) => a.endsWith(b), CHARS)]],
  [
    'contains',
    [overload('string string', BOOL_VALUE, (a: string, b: string) => a.includes(b), { cost: costOfSearch })],
  ],
  ...timeParts(),
])

/** Called as `name(arguments)`. */
export const FUNCTIONS: CelFunctionTable = new Map([
  ['size', SIZES],
  // What it hides from the language's checker our walk still knows (contract/decisions 20).
  ['dyn', [overload('any', sameValue, identity)]],
  [
    'bool',
    [
      overload('bool', BOOL_VALUE, identity),
      overload('string', BOOL_VALUE, boolOfText, { cost: PER_NUMBER, fails: true }),
    ],
  ],
  [
    'bytes',
    [
      overload('bytes', sameValue, identity),
      overload(
        'string',
        ([text]) => bytesValue(3 * text!.chars),
        (text: string) => Buffer.from(text),
        {
          cost: ([text]) => 3 * text!.chars,
        },
      ),
    ],
  ],
  [
    'int',
    [
      overload('int', INT_VALUE, identity),
      overload('uint', INT_VALUE, ({ value }: Uint) => intOf(value), NUMBER_OF_TEXT),
      overload('double', INT_VALUE, intOfDouble, NUMBER_OF_TEXT),
      overload('string', INT_VALUE, intOfText, NUMBER_OF_TEXT),
      overload('timestamp', INT_VALUE, secondsOfTimestamp, NUMBER),
    ],
  ],
  [
    'uint',
    [
      overload('uint', UINT_VALUE, identity),
      overload('int', UINT_VALUE, uintOf, NUMBER_OF_TEXT),
      overload('double', UINT_VALUE, uintOfDouble, NUMBER_OF_TEXT),
      overload('string', UINT_VALUE, uintOfText, NUMBER_OF_TEXT),
    ],
  ],
  [
    'double',
    [
      overload('double', DOUBLE_VALUE, identity),
      overload('int', DOUBLE_VALUE, Number as (value: bigint) => number),
      overload('uint', DOUBLE_VALUE, ({ value }: Uint) => Number(value)),
      overload('string', DOUBLE_VALUE, doubleOfText, NUMBER_OF_TEXT),
    ],
  ],
  [
    'string',
    [
      overload('string', sameValue, identity),
      overload('bool', numberText, String as (value: boolean) => string),
      overload('int', numberText, String as (value: bigint) => string, NUMBER),
      overload('uint', numberText, ({ value }: Uint) => String(value), NUMBER),
      overload('double', numberText, textOfDouble, NUMBER),
      overload('timestamp', numberText, textOfTimestamp, { cost: PER_TIME }),
      overload('duration', numberText, textOfDuration, { cost: PER_TIME }),
      overload('bytes', ([bytes]) => textValue(bytes!.chars), textOfBytes, {
        cost: ([bytes]) => PER_NUMBER + 3 * bytes!.chars,
        fails: true,
      }),
    ],
  ],
  [
    'timestamp',
    [
      overload('timestamp', TIMESTAMP_VALUE, identity),
      overload('string', TIMESTAMP_VALUE, timestampOfText, TIME_OF_TEXT),
      overload('int', TIMESTAMP_VALUE, (seconds: bigint) => timestampOfNanos(seconds * 1_000_000_000n), {
        ...NUMBER,
        fails: true,
      }),
    ],
  ],
  [
    'duration',
    [
      overload('duration', DURATION_VALUE, identity),
      overload('string', DURATION_VALUE, durationOfText, TIME_OF_TEXT),
    ],
  ],
])

/** The overload that takes these arguments. */
export function selectOverload(
  overloads: readonly CelOverload[],
  args: CelArguments,
): CelOverload | undefined {
  return overloads.find(
    ({ takes }) =>
      takes.length === args.length &&
      takes.every((type, index) => type === 'any' || type === args[index]!.kind),
  )
}
