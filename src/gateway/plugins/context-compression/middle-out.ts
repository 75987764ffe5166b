/**
 * Makes a conversation fit: whole units are left out, from the middle outwards, and then the longest texts of what has
 * to stay lose their middle. What the system says stays as it is, so do the first unit, the latest words of the user
 * and the last unit.
 */

import { contentText } from '../../formats/content-parts.js'
import { asList, asObject } from '../../formats/json-values.js'
import { ATTACHMENT_TOKENS, MESSAGE_TOKENS } from '../../metering/format.js'
import { cutIntoUnits, isUserSaying, mapTexts, type TalkMessage, type Unit } from './units.js'

/** Tokens of each text. */
type Count = (texts: readonly string[]) => Promise<readonly number[]>

interface Fitted<M> {
  readonly messages: readonly M[]
  /** Messages that were left out. */
  readonly dropped: number
  /** Texts that have lost their middle. */
  readonly shortened: number
  /** Tokens before and after. */
  readonly from: number
  readonly to: number
}

/** A text is not cut below this many characters: what is left would say nothing. */
const SHORTEST = 200
/** Where a text was cut. */
const GAP = '\n[…]\n'
/** Rounds of cutting and counting again. */
const ROUNDS = 6

/** Share of the room that is used by what was compressed: every model cuts text into tokens in its own way. */
const USED_ROOM = 0.9

/** The messages within `space` tokens; null where they fit already, `unfit` where what has to stay is too much. */
export async function fitMiddleOut<M extends TalkMessage>(
  messages: readonly M[],
  space: number,
  count: Count,
): Promise<Fitted<M> | null | 'unfit'> {
  const sizes = await sizesOf(messages, count)
  const from = sum(sizes)
  if (from <= space) return null
  const room = Math.floor(space * USED_ROOM)
  const { kept, to } = dropUnits(messages, sizes, room)
  const dropped = messages.length - kept.length
  if (to <= room) return { messages: kept, dropped, shortened: 0, from, to }
  const cut = await shortenTexts(kept, room, count)
  return cut === null ? 'unfit' : { ...cut, dropped, from }
}

/** Of more messages the tokens are guessed, and rather too many: a count for each would take too long. */
const MOST_COUNTED = 2_000
const GUESSED_BYTES_PER_TOKEN = 3

async function sizesOf(messages: readonly TalkMessage[], count: Count): Promise<readonly number[]> {
  const texts = messages.map(messageText)
  const counts =
    texts.length <= MOST_COUNTED
      ? await count(texts)
      : texts.map((text) => Math.ceil(Buffer.byteLength(text) / GUESSED_BYTES_PER_TOKEN))
  return messages.map(
    (message, at) => counts[at]! + MESSAGE_TOKENS + ATTACHMENT_TOKENS * attachments(message),
  )
}

/** More tokens than messages can have: a token has at least a byte, and a character at most three of them. */
export function mostTokens(messages: readonly TalkMessage[]): number {
  return sum(
    messages.map(
      (message) =>
        3 * messageText(message).length + MESSAGE_TOKENS + ATTACHMENT_TOKENS * attachments(message),
    ),
  )
}

function messageText({ content, tool_calls: calls }: TalkMessage): string {
  const text = contentText(content)
  return calls === undefined || calls === null ? text : `${text}${JSON.stringify(calls)}`
}

const TEXTS: ReadonlySet<unknown> = new Set([
  'text',
  'tool_result',
  'tool_use',
  'thinking',
  'redacted_thinking',
])

function attachments({ content }: TalkMessage): number {
  return asList(content).filter((part) => !TEXTS.has(asObject(part)?.type)).length
}

function sum(figures: readonly number[]): number {
  return figures.reduce((total, each) => total + each, 0)
}

// ── Whole units ─────────────────────────────────────────────────────────────

function dropUnits<M extends TalkMessage>(
  messages: readonly M[],
  sizes: readonly number[],
  room: number,
): { readonly kept: readonly M[]; readonly to: number } {
  const gone = new Set<number>()
  let to = sum(sizes)
  for (const unit of droppable(messages)) {
    if (to <= room) break
    for (let at = unit.from; at <= unit.to; at++) {
      if (isSystem(messages[at]!)) continue
      gone.add(at)
      to -= sizes[at]!
    }
  }
  return { kept: messages.filter((_, at) => !gone.has(at)), to }
}

function isSystem({ role }: TalkMessage): boolean {
  return role === 'system' || role === 'developer'
}

/** What may be left out, the middle of the conversation first. */
function droppable(messages: readonly TalkMessage[]): readonly Unit[] {
  const units = cutIntoUnits(messages).filter(({ from, to }) =>
    messages.slice(from, to + 1).some((message) => !isSystem(message)),
  )
  const asked = messages.findLastIndex(isUserSaying)
  const middle = (units.length - 1) / 2
  return units
    .map((unit, at) => ({
      unit,
      distance: Math.abs(at - middle),
      isEnd: at === 0 || at === units.length - 1,
    }))
    .filter(({ unit: { from, to }, isEnd }) => !isEnd && !(from <= asked && asked <= to))
    .toSorted((one, other) => one.distance - other.distance)
    .map(({ unit }) => unit)
}

// ── Long texts ──────────────────────────────────────────────────────────────

/** Null where it does not fit even so. */
async function shortenTexts<M extends TalkMessage>(
  messages: readonly M[],
  room: number,
  count: Count,
): Promise<Pick<Fitted<M>, 'messages' | 'shortened' | 'to'> | null> {
  let longest = messages.reduce(
    (most, each) => (isSystem(each) ? most : Math.max(most, longestText(each))),
    0,
  )
  for (let round = 0; round < ROUNDS && longest > SHORTEST; round++) {
    const before = sum(
      await sizesOf(
        messages.map((each) => cutMessage(each, longest).message),
        count,
      ),
    )
    // By length as tokens go by length, and a little less: what is counted again has to fit.
    longest = Math.max(SHORTEST, Math.floor(longest * Math.min(0.9, (room / before) * 0.95)))
    const cut = messages.map((each) => cutMessage(each, longest))
    const to = sum(
      await sizesOf(
        cut.map(({ message }) => message),
        count,
      ),
    )
    if (to <= room)
      return { messages: cut.map(({ message }) => message), shortened: sum(cut.map((each) => each.cuts)), to }
  }
  return null
}

function longestText(message: TalkMessage): number {
  let longest = 0
  mapTexts(message, (text) => {
    longest = Math.max(longest, text.length)
    return text
  })
  return longest
}

function cutMessage<M extends TalkMessage>(message: M, most: number): { message: M; cuts: number } {
  if (isSystem(message)) return { message, cuts: 0 }
  let cuts = 0
  const cut = mapTexts(message, (text) => {
    if (text.length <= most) return text
    cuts++
    const half = Math.floor((most - GAP.length) / 2)
    return `${text.slice(0, half).toWellFormed()}${GAP}${text.slice(-half).toWellFormed()}`
  })
  return { message: cut, cuts }
}
