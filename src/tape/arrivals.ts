/**
 * When calls came, and how long they were: schedules for load, from pace tapes and from the two public kinds of traces,
 * Mooncake's JSON lines and Azure's CSV of LLM inference.
 */
import { readFileSync, statSync } from 'node:fs'
import { z } from 'zod'
import {
  isLeftEmpty,
  LONGEST_TAPE,
  readTape,
  TapeDefect,
  type TapedStream,
  tokensOf,
  UNITS_PER_MS,
} from './tape.js'

export interface Arrival {
  /** Milliseconds from the first on, to 100 ns. */
  readonly atMs: number
  /** Tokens of the question; null where a tape does not tell, of calls that were refused for example. */
  readonly in: number | null
  /** Tokens of the answer. */
  readonly out: number
  /** Blocks of the question that others have in common with it, as Mooncake numbers them. */
  readonly blocks?: readonly number[]
  /** Of a pace tape. */
  readonly taped?: {
    readonly model: string
    /** Number of the stream on its tape, from 1 on. */
    readonly stream: number
    /** Of its events; `out` is what its provider has counted. */
    readonly tokens: number
    /** Its caller left before anything came: there is nothing to replay. */
    readonly isLeftEmpty: boolean
  }
}

export const ARRIVAL_FORMATS = ['mooncake', 'azure'] as const
type ArrivalFormat = (typeof ARRIVAL_FORMATS)[number]

const LONGEST_FILE = 256 * 1024 * 1024
const MOST_ARRIVALS = 2_000_000
/** Azure's traces count in 100 ns. */
const TICKS_PER_MS = 10_000

/** Of a file of whichever kind; how large it is, is seen first. Throws a `TapeDefect` that says why it is none. */
export function readArrivalsFile(path: string): Arrival[] {
  const found = statSync(path)
  if (!found.isFile()) throw new TapeDefect('it is no file')
  if (found.size > LONGEST_FILE) throw new TapeDefect('the file has more than 256 MiB')
  return readArrivals(readFileSync(path, 'utf8'))
}

/** Of whichever kind the text is, in the order in which they came. Throws a `TapeDefect` that names the line. */
export function readArrivals(text: string): Arrival[] {
  const first = text.slice(0, text.indexOf('\n') + 1 || undefined).trim()
  const arrivals = first.startsWith('{')
    ? /"v"\s*:/.test(first)
      ? arrivalsOf(readWholeTape(text))
      : readLines(text, 0, readMooncake)
    : readLines(text, 1, azureReader(first))
  if (arrivals.length === 0) throw new TapeDefect('nothing arrives in this file')
  arrivals.sort((one, other) => one.atMs - other.atMs)
  const begin = arrivals[0]!.atMs
  // A difference of doubles is off by less than a tick: rounded it is the very one.
  const since = (ms: number): number => Math.round((ms - begin) * TICKS_PER_MS) / TICKS_PER_MS
  return arrivals.map((arrival) => ({ ...arrival, atMs: since(arrival.atMs) }))
}

function readWholeTape(text: string): TapedStream[] {
  if (text.length > LONGEST_TAPE) throw new TapeDefect('the tape has more than 64 MiB')
  return readTape(text)
}

/** Streams that were held back came when they came all the same. */
function arrivalsOf(tape: readonly TapedStream[]): Arrival[] {
  return tape.map((stream, index) => ({
    atMs: stream.at / UNITS_PER_MS,
    in: stream.in,
    out: stream.out ?? tokensOf(stream),
    taped: {
      ...{ model: stream.model, stream: index + 1 },
      ...{ tokens: tokensOf(stream), isLeftEmpty: isLeftEmpty(stream) },
    },
  }))
}

function readLines(text: string, skipped: number, read: (line: string) => Arrival | string): Arrival[] {
  const arrivals: Arrival[] = []
  let number = 0
  for (let from = 0; from < text.length; ) {
    const end = text.indexOf('\n', from)
    const line = text.slice(from, end === -1 ? text.length : end)
    from = end === -1 ? text.length : end + 1
    if (++number <= skipped || line.trim() === '') continue
    if (arrivals.length >= MOST_ARRIVALS)
      throw new TapeDefect(`the file has more than ${MOST_ARRIVALS} arrivals`)
    const arrival = read(line)
    if (typeof arrival === 'string') throw new TapeDefect(`line ${number}: ${arrival}`)
    arrivals.push(arrival)
  }
  return arrivals
}

const tokens = z.int().min(0).max(1e9)
/** Further members say nothing of when and how long. */
const mooncakeSchema = z.object({
  timestamp: z.number().min(0).max(1e15),
  input_length: tokens,
  output_length: tokens,
  hash_ids: z.array(z.int().min(0)).max(1_000_000).optional(),
})

function readMooncake(line: string): Arrival | string {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return 'no JSON'
  }
  const checked = mooncakeSchema.safeParse(value)
  if (!checked.success) {
    const { path, message } = checked.error.issues[0]!
    return `${[...path, ''].join(': ')}${message}`
  }
  const { timestamp, input_length, output_length, hash_ids } = checked.data
  const arrival = { atMs: timestamp, in: input_length, out: output_length }
  return hash_ids === undefined ? arrival : { ...arrival, blocks: hash_ids }
}

const AZURE_COLUMNS = ['TIMESTAMP', 'ContextTokens', 'GeneratedTokens'] as const
const AZURE_TIME = /^(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d)(\.\d{1,9})?(?:Z|\+00:00)?$/

/** `head`: the first line, which names the columns. */
function azureReader(head: string): (line: string) => Arrival | string {
  const names = head.split(',').map((name) => name.trim())
  const places = AZURE_COLUMNS.map((name) => names.indexOf(name))
  if (places.includes(-1))
    throw new TapeDefect(`line 1: neither JSON nor the columns ${AZURE_COLUMNS.join(', ')}`)
  /** Of the first line: a double holds the ticks of a trace, and not those since 1970. */
  let base: number | null = null
  return (line) => {
    const cells = line.split(',').map((cell) => cell.trim())
    const [time, asked, out] = places.map((at) => cells[at] ?? '') as [string, string, string]
    const [, day, second, fraction = ''] = AZURE_TIME.exec(time) ?? []
    const seconds = Date.parse(`${day}T${second}Z`)
    if (Number.isNaN(seconds)) return 'TIMESTAMP is no time'
    if (!/^\d{1,9}$/.test(asked) || !/^\d{1,9}$/.test(out)) return 'a count of tokens is no number'
    base ??= seconds
    return { atMs: seconds - base + Number(`0${fraction}`) * 1000, in: Number(asked), out: Number(out) }
  }
}

/** From which an Azure trace that is written here counts: it has to have some day. */
const AZURE_DAY = Date.UTC(2000, 0, 1)

/** An arrival that a trace can hold: both kinds want both lengths. */
type CountedArrival = Arrival & { readonly in: number }

export function isCounted(arrival: Arrival): arrival is CountedArrival {
  return arrival.in !== null
}

export function formatArrivals(arrivals: readonly CountedArrival[], format: ArrivalFormat): string {
  const lines =
    format === 'mooncake' ? arrivals.map(mooncakeLine) : [AZURE_COLUMNS.join(','), ...arrivals.map(azureLine)]
  return `${lines.join('\n')}\n`
}

function mooncakeLine({ atMs, in: asked, out, blocks = [] }: CountedArrival): string {
  const lengths = { input_length: asked, output_length: out }
  return JSON.stringify({ timestamp: atMs, ...lengths, hash_ids: blocks })
}

function azureLine({ atMs, in: asked, out }: CountedArrival): string {
  const ticks = Math.round(atMs * TICKS_PER_MS)
  const second = new Date(AZURE_DAY + Math.floor(ticks / TICKS_PER_MS / 1000) * 1000).toISOString()
  const fraction = String(ticks % (1000 * TICKS_PER_MS)).padStart(7, '0')
  return `${second.slice(0, 19).replace('T', ' ')}.${fraction},${asked},${out}`
}
