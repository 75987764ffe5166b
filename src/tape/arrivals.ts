/**
 * When calls came, and how long they were: schedules for load, from pace tapes and from the two public kinds of traces,
 * Mooncake's JSON lines and Azure's CSV of LLM inference.
 */
import { z } from 'zod'
import { readTape, TapeDefect, type TapedStream, UNITS_PER_MS } from './tape.js'

export interface Arrival {
  /** Milliseconds from the first on. */
  readonly atMs: number
  /** Tokens of the question and of the answer. */
  readonly in: number
  readonly out: number
  /** Blocks of the question that others have in common with it, as Mooncake numbers them. */
  readonly blocks?: readonly number[]
}

export const ARRIVAL_FORMATS = ['mooncake', 'azure'] as const
type ArrivalFormat = (typeof ARRIVAL_FORMATS)[number]

const LONGEST_FILE = 256 * 1024 * 1024
const MOST_ARRIVALS = 2_000_000

/** Of whichever kind the file is, in the order in which they came. Throws a `TapeDefect` that names the line. */
export function readArrivals(text: string): Arrival[] {
  if (text.length > LONGEST_FILE) throw new TapeDefect('the file has more than 256 MiB')
  const first = text.slice(0, text.indexOf('\n') + 1 || undefined).trim()
  const arrivals = first.startsWith('{')
    ? /"v"\s*:/.test(first)
      ? arrivalsOf(readTape(text))
      : readLines(text, 0, readMooncake)
    : readLines(text, 1, azureReader(first))
  if (arrivals.length === 0) throw new TapeDefect('nothing arrives in this file')
  arrivals.sort((one, other) => one.atMs - other.atMs)
  const begin = arrivals[0]!.atMs
  return arrivals.map((arrival) => ({ ...arrival, atMs: arrival.atMs - begin }))
}

/** Streams that were held back came when they came all the same. */
function arrivalsOf(tape: readonly TapedStream[]): Arrival[] {
  return tape.map(({ at, in: asked, out, tok }) => ({
    atMs: at / UNITS_PER_MS,
    in: asked ?? 0,
    out: out ?? tok.reduce((sum, tokens) => sum + tokens, 0),
  }))
}

function readLines(text: string, skipped: number, read: (line: string) => Arrival | string): Arrival[] {
  const arrivals: Arrival[] = []
  for (const [at, line] of text.split('\n').entries()) {
    if (at < skipped || line.trim() === '') continue
    if (arrivals.length >= MOST_ARRIVALS)
      throw new TapeDefect(`the file has more than ${MOST_ARRIVALS} arrivals`)
    const arrival = read(line)
    if (typeof arrival === 'string') throw new TapeDefect(`line ${at + 1}: ${arrival}`)
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
  return (line) => {
    const cells = line.split(',').map((cell) => cell.trim())
    const [time, asked, out] = places.map((at) => cells[at] ?? '') as [string, string, string]
    const [, day, second, fraction = ''] = AZURE_TIME.exec(time) ?? []
    const seconds = Date.parse(`${day}T${second}Z`)
    if (Number.isNaN(seconds)) return 'TIMESTAMP is no time'
    if (!/^\d{1,9}$/.test(asked) || !/^\d{1,9}$/.test(out)) return 'a count of tokens is no number'
    return { atMs: seconds + Number(`0${fraction}`) * 1000, in: Number(asked), out: Number(out) }
  }
}

/** From which an Azure trace that is written here counts: it has to have some day. */
const AZURE_DAY = Date.UTC(2000, 0, 1)
const TICKS_PER_MS = 10_000

export function formatArrivals(arrivals: readonly Arrival[], format: ArrivalFormat): string {
  const lines =
    format === 'mooncake' ? arrivals.map(mooncakeLine) : [AZURE_COLUMNS.join(','), ...arrivals.map(azureLine)]
  return `${lines.join('\n')}\n`
}

function mooncakeLine({ atMs, in: asked, out, blocks = [] }: Arrival): string {
  const lengths = { input_length: asked, output_length: out }
  return JSON.stringify({ timestamp: atMs, ...lengths, hash_ids: blocks })
}

function azureLine({ atMs, in: asked, out }: Arrival): string {
  const ticks = Math.round(atMs * TICKS_PER_MS)
  const second = new Date(AZURE_DAY + Math.floor(ticks / TICKS_PER_MS / 1000) * 1000).toISOString()
  const fraction = String(ticks % (1000 * TICKS_PER_MS)).padStart(7, '0')
  return `${second.slice(0, 19).replace('T', ' ')}.${fraction},${asked},${out}`
}
