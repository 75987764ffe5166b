/**
 * Rows of the ledger as lines of text. What the books need stands in front, in fields without spaces, so that they
 * need not parse the rest; that is JSON. A line is also how a row is kept for good.
 *
 *     P key organization workspace
 *     O id estimate coverage model provider api byokEstimate
 *     L id upstreamCost promptTokens completionTokens [detail …]
 *     C id cost coverage outcome promptTokens completionTokens byokCost [detail …]
 *
 * The two figures of `byok` are there only in lines of calls that went on the caller's own account and cost something
 * there; the detail of a C line says by a last member that it did.
 *
 * The payer of a call, which is a third of what there is to say of it, stands in the nearest P line before it. When
 * it was dispatched is what its id says.
 */
import {
  LEDGER_OUTCOMES,
  type LedgerRow,
  type LedgerRowContent,
  type LostAttemptEntry,
  type LostAttemptOfRow,
  NOTHING_TOLD,
  type OpenLedgerEntry,
} from '../ledger-store.js'
import { decodeCoverage, encodeCoverage } from './coverage.js'
import { readGenerationTime } from './generation-time.js'
import { rememberLatest } from './latest-text.js'
import { quoteName } from './quoted-names.js'
import { decodeWhy, encodeWhy } from './row-why.js'

/** Where a field must not be empty. */
const EMPTY_FIELD = '-'

/** Who pays for a call. */
type PayerIds = Pick<LedgerRow, 'keyHash' | 'organizationId' | 'workspaceId'>

let lastPayers: PayerIds = { keyHash: '', organizationId: '', workspaceId: null }
let lastPayerLine = ''

/** Equal payers in a row have the very same text. */
export function encodePayerLine(payers: PayerIds): string {
  const { keyHash, organizationId, workspaceId } = payers
  const is = lastPayers
  if (is.keyHash !== keyHash || is.organizationId !== organizationId || is.workspaceId !== workspaceId) {
    lastPayerLine = `P ${keyHash} ${organizationId} ${encodeField(workspaceId ?? '')}\n`
    lastPayers = { keyHash, organizationId, workspaceId }
  }
  return lastPayerLine
}

export function encodeOpenLine(entry: OpenLedgerEntry): string {
  const { id, estimate, coverage, model, provider, api, byokEstimate } = entry
  const byok = byokEstimate === undefined ? '' : ` ${byokEstimate}`
  return `O ${id} ${estimate} ${encodeCoverage(coverage)} ${encodeFields(model, provider, api, '')}${byok}\n`
}

const encodeFields = rememberLatest(
  (model: string, provider, api) => `${encodeField(model)} ${encodeField(provider)} ${encodeField(api)}`,
)

export function encodeLostLine(lost: LostAttemptEntry): string {
  const { id, upstreamCost, promptTokens, completionTokens, model, provider } = lost
  const detail = [model, provider, lost.status, lost.fault, lost.estimated ? 1 : 0, lost.durationMs]
  if (lost.byok === true) detail.push(1)
  return `L ${id} ${upstreamCost} ${promptTokens} ${completionTokens} ${JSON.stringify(detail)}\n`
}

export function encodeClosedLine(row: LedgerRowContent): string {
  const { id, cost, coverage, outcome, promptTokens, completionTokens, byokCost } = row
  const front = `C ${id} ${cost} ${encodeCoverage(coverage)} ${LEDGER_OUTCOMES.indexOf(outcome)}`
  const figures = `${front} ${promptTokens} ${completionTokens}${byokField(byokCost)}`
  return `${figures} ${encodeDetail(row)}\n`
}

/** The figure of a C line in front of its detail, with the blank that parts it. */
export function byokField(byokCost: number | undefined): string {
  return byokCost === undefined || byokCost === 0 ? '' : ` ${byokCost}`
}

/** What the detail of a C line says went on the caller's own account; undefined where nothing did. */
export function byokCostIn(detail: string): number | undefined {
  if (!/,\d+\]$/.test(detail)) return undefined
  const last = (JSON.parse(detail) as unknown[])[1 + DETAIL_MEMBERS.length]
  return typeof last === 'number' ? last : undefined
}

/** Stands for a text that is the same as the one it is compared with. */
const SAME_TEXT = 0

/**
 * Positional JSON, put together by hand, because a row is written for every call: `JSON.stringify` of the whole takes
 * three times as long. In the order of `DETAIL_MEMBERS`.
 */
function encodeDetail({ units, detail, byokCost }: LedgerRowContent): string {
  const { model, requested, provider, api, durationMs, firstEventMs, sessionId } = detail
  const { finish, nativeFinish, serviceTier, mediaParts, audioParts } = detail
  const names = encodeNames(model, requested, provider, api)
  const counts = `${detail.streamed ? 1 : 0},${detail.attempts},${durationMs},${firstEventMs}`
  const session = sessionId === null ? 'null' : JSON.stringify(sessionId)
  const end = `${detail.guessed ? GUESSED : detail.estimated ? 1 : 0},${quoteName(detail.fault)},${quoteName(finish)}`
  const native = nativeFinish === finish ? SAME_TEXT : quoteName(nativeFinish)
  const more = `${native},${quoteName(serviceTier)},${mediaParts},${audioParts}`
  const why = encodeWhy(detail.why)
  return `[${encodeUnits(units)},${names},${counts},${session},${end},${more},${why}${byokCost === undefined ? '' : `,${byokCost}`}]`
}

const encodeNames = rememberLatest((model: string, requested, provider, api) => {
  const asked = requested === model ? SAME_TEXT : quoteName(requested)
  return `${quoteName(model)},${asked},${quoteName(provider)},${quoteName(api)}`
})

function encodeUnits(units: LedgerRow['units']): string {
  for (const _ in units) return JSON.stringify(units)
  return '{}'
}

/** In place of the 1 of figures that are ours: they were guessed. */
const GUESSED = 2

/** Members of a row's detail behind its units, in the order in which they stand; `byokCost` comes behind them all. */
const DETAIL_MEMBERS: readonly (keyof LedgerRow['detail'])[] = [
  'model',
  'requested',
  'provider',
  'api',
  'streamed',
  'attempts',
  'durationMs',
  'firstEventMs',
  'sessionId',
  'estimated',
  'fault',
  'finish',
  'nativeFinish',
  'serviceTier',
  'mediaParts',
  'audioParts',
  'why',
]

/** Ids of models and providers hold no spaces; a text that does must not break the line. */
function encodeField(text: string): string {
  return text === '' ? EMPTY_FIELD : /\s/.test(text) ? text.replaceAll(/\s/g, '_') : text
}

const PAYER_CODE = 0x50
const OPEN_CODE = 0x4f
const LOST_CODE = 0x4c
const LINE_END = 0x0a
const PAYER_BEGIN = Buffer.from('\nP ')

export function isPayerLine(line: string): boolean {
  return line.charCodeAt(0) === PAYER_CODE
}

export function isOpenLine(line: string): boolean {
  return line.charCodeAt(0) === OPEN_CODE
}

export function isLostLine(line: string): boolean {
  return line.charCodeAt(0) === LOST_CODE
}

/** Id of the generation of a line. */
export function lineId(line: string): string {
  return line.slice(LINE_ID_AT, line.indexOf(' ', LINE_ID_AT))
}

/** From a payer line. */
export function readPayerIds(line: string): PayerIds {
  const [, keyHash, organizationId, workspaceId] = line.split(' ') as [string, string, string, string]
  return { keyHash, organizationId, workspaceId: workspaceId === EMPTY_FIELD ? null : workspaceId }
}

/** When a call was dispatched, from its line. */
export function lineTime(line: string): number {
  return readGenerationTime(line, LINE_ID_AT)
}

/** What the sums need of a line that closes a call. `coverage` is the number, so that equal ones can be told by it. */
interface ClosedLineFigures {
  cost: number
  coverage: number
  /** Its place among `LEDGER_OUTCOMES`. */
  outcome: number
  promptTokens: number
  completionTokens: number
  byok: number
  /** Where its detail begins. */
  detailAt: number
}

/** Where the id stands in a line. */
export const LINE_ID_AT = 2
const SPACE = 0x20
const BRACKET = 0x5b
const ZERO = 0x30

/** Reads them into `figures`, because this is done for every call. `idLength`: of the id in the line. */
export function readFigures(line: string, idLength: number, figures: ClosedLineFigures): void {
  let at = LINE_ID_AT + idLength + 1
  const next = (): number => {
    let number = 0
    while (at < line.length) {
      const code = line.charCodeAt(at++)
      if (code === SPACE) break
      number = number * 10 + (code - ZERO)
    }
    return number
  }
  figures.cost = next()
  figures.coverage = next()
  figures.outcome = next()
  figures.promptTokens = next()
  figures.completionTokens = next()
  figures.byok = line.charCodeAt(at) === BRACKET ? 0 : next()
  figures.detailAt = at
}

/** Lines that close the calls of a process that has died. @param open payer line and line, by id */
export function closeAbandonedLines(open: ReadonlyMap<string, string>): string[] {
  return [...open.values()].flatMap((both) => {
    const [payer, line] = both.split('\n') as [string, string]
    return [payer, closeAbandonedLine(line)]
  })
}

/** The line, without its end, that closes a call whose process has died: with what was estimated. */
export function closeAbandonedLine(open: string): string {
  const [, id, estimate, coverage, model, provider, api, byok] = open.split(' ') as string[]
  return encodeClosedLine({
    id: id!,
    cost: Number(estimate),
    ...(byok !== undefined && { byokCost: Number(byok) }),
    coverage: decodeCoverage(Number(coverage)),
    outcome: 'aborted-estimated',
    promptTokens: 0,
    completionTokens: 0,
    units: {},
    detail: {
      model: model!,
      requested: model!,
      provider: provider!,
      api: api === EMPTY_FIELD ? '' : api!,
      streamed: false,
      attempts: 1,
      durationMs: 0,
      firstEventMs: null,
      sessionId: null,
      estimated: true,
      guessed: true,
      fault: 'internal',
      finish: null,
      nativeFinish: null,
      serviceTier: null,
      mediaParts: 0,
      audioParts: 0,
      why: NOTHING_TOLD,
    },
  }).slice(0, -1)
}

/** The row of a generation from a text of whole lines that begins with its payer; null when it is not in there. */
export function findRow(block: Buffer, id: string): LedgerRow | null {
  // Ids are random enough to stand nowhere else.
  const start = block.indexOf(`\nC ${id} `)
  return start < 0 ? null : rowAt(block, start)
}

/** The rows of the parts of a generation. */
export function findParts(block: Buffer, id: string): LedgerRow[] {
  return placesOf(block, `\nC ${id}.`).map((at) => rowAt(block, at))
}

/** The attempts that a generation and its parts have lost, from a text of whole lines. */
export function findLostAttempts(block: Buffer, id: string): LostAttemptOfRow[] {
  const places = [...placesOf(block, `\nL ${id} `), ...placesOf(block, `\nL ${id}.`)]
  return places.map((at) => parseLostLine(lineAt(block, at)))
}

function placesOf(block: Buffer, begin: string): number[] {
  const places: number[] = []
  for (let at = block.indexOf(begin); at >= 0; at = block.indexOf(begin, at + 1)) places.push(at)
  return places
}

/** The line behind the line end that stands there. */
function lineAt(block: Buffer, at: number): string {
  const end = block.indexOf(LINE_END, at + 1)
  return block.toString('utf8', at + 1, end < 0 ? block.length : end)
}

function rowAt(block: Buffer, at: number): LedgerRow {
  const payerAt = block.lastIndexOf(PAYER_BEGIN, at)
  return parseRow(readPayerIds(lineAt(block, payerAt)), lineAt(block, at))
}

export function parseLostLine(line: string): LostAttemptOfRow {
  const tailAt = line.indexOf(' [')
  const [, id, cost, prompt, completion] = line.slice(0, tailAt).split(' ')
  const [model, provider, status, fault, estimated, durationMs, byok] = JSON.parse(
    line.slice(tailAt + 1),
  ) as [string, string, number, string, number, number, number?]
  return Object.freeze({
    ...{ id: id!, model, provider, status, fault, durationMs },
    upstreamCost: Number(cost),
    promptTokens: Number(prompt),
    completionTokens: Number(completion),
    estimated: estimated === 1,
    ...(byok === 1 && { byok: true as const }),
  })
}

/** Without what the generation has lost and what it is made of, which stand in lines of their own. */
export function parseRow(payers: PayerIds, line: string): LedgerRow {
  const tailAt = line.indexOf(' [')
  const [, id, cost, coverage, outcome, prompt, completion] = line.slice(0, tailAt).split(' ') as string[]
  const [units, ...values] = JSON.parse(line.slice(tailAt + 1)) as [Record<string, number>, ...unknown[]]
  const byokCost = values[DETAIL_MEMBERS.length]
  return Object.freeze({
    ...payers,
    id: id!,
    createdAt: lineTime(line),
    coverage: decodeCoverage(Number(coverage)),
    outcome: LEDGER_OUTCOMES[Number(outcome)]!,
    cost: Number(cost),
    ...(typeof byokCost === 'number' && { byokCost }),
    promptTokens: Number(prompt),
    completionTokens: Number(completion),
    units,
    detail: decodeDetail(values),
    lost: [],
    parts: [],
  })
}

function decodeDetail(values: readonly unknown[]): LedgerRow['detail'] {
  const detail = Object.fromEntries(DETAIL_MEMBERS.map((name, at) => [name, values[at]]))
  return {
    ...detail,
    requested: detail.requested === SAME_TEXT ? detail.model : detail.requested,
    streamed: detail.streamed === 1,
    estimated: detail.estimated === 1 || detail.estimated === GUESSED,
    guessed: detail.estimated === GUESSED,
    nativeFinish: detail.nativeFinish === SAME_TEXT ? detail.finish : detail.nativeFinish,
    why: decodeWhy(detail.why),
  } as LedgerRow['detail']
}
