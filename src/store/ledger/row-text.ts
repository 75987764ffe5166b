/**
 * Rows of the ledger as lines of text. What the books need stands in front, in fields without spaces, so that they
 * need not parse the rest; that is JSON. A line is also how a row is kept for good.
 *
 *     P key organization workspace
 *     O id estimate coverage model provider api
 *     C id cost coverage outcome promptTokens completionTokens [detail …]
 *
 * The payer of a call, which is a third of what there is to say of it, stands in the nearest P line before it. When
 * it was dispatched is what its id says.
 */
import {
  type Coverage,
  LEDGER_OUTCOMES,
  type LedgerOutcome,
  type LedgerRow,
  type OpenEntry,
  type RowContent,
} from '../ledger-store.js'
import { timeIn } from './generation-time.js'

const PERIODS = ['never', 'daily', 'weekly', 'monthly'] as const
/** Where a field must not be empty. */
const NOBODY = '-'

/** Which limits cover a row, as one digit: twice the period of the key's limit, plus one for the organization's. */
function coverageCode({ key, organization }: Coverage): number {
  return (key === null ? 0 : 2 * (PERIODS.indexOf(key) + 1)) + (organization ? 1 : 0)
}

const COVERAGES: readonly Coverage[] = Array.from({ length: 2 * (PERIODS.length + 1) }, (_, code) =>
  Object.freeze({ key: code < 2 ? null : PERIODS[(code >> 1) - 1]!, organization: (code & 1) === 1 }),
)

/** Who pays for a call. */
interface Payers {
  readonly keyHash: string
  readonly organizationId: string
  readonly workspaceId: string | null
}

let lastPayers: Payers = { keyHash: '', organizationId: '', workspaceId: null }
let lastPayerLine = ''

/** Equal payers in a row have the very same text. */
export function payerLine(payers: Payers): string {
  const { keyHash, organizationId, workspaceId } = payers
  const is = lastPayers
  if (is.keyHash !== keyHash || is.organizationId !== organizationId || is.workspaceId !== workspaceId) {
    lastPayerLine = `P ${keyHash} ${organizationId} ${field(workspaceId ?? '')}\n`
    lastPayers = { keyHash, organizationId, workspaceId }
  }
  return lastPayerLine
}

export function openLine({ id, estimate, coverage, model, provider, api }: OpenEntry): string {
  return `O ${id} ${estimate} ${coverageCode(coverage)} ${field(model)} ${field(provider)} ${field(api)}\n`
}

export function closeLine(row: RowContent): string {
  const { id, cost, coverage, outcome, promptTokens, completionTokens } = row
  const front = `C ${id} ${cost} ${coverageCode(coverage)} ${LEDGER_OUTCOMES.indexOf(outcome)}`
  return `${front} ${promptTokens} ${completionTokens} ${tailOf(row)}\n`
}

/** Stands for a text that is the same as the one it is compared with. */
const SAME = 0

/**
 * Positional JSON, put together by hand, because a row is written for every call: `JSON.stringify` of the whole takes
 * three times as long. New members go to the end.
 */
function tailOf({ units, detail }: RowContent): string {
  const { model, requested, provider, api, durationMs, firstEventMs, sessionId } = detail
  const { finish, nativeFinish, serviceTier, mediaParts, audioParts } = detail
  const asked = requested === model ? SAME : quoted(requested)
  const names = `${quoted(model)},${asked},${quoted(provider)},${quoted(api)}`
  const counts = `${detail.streamed ? 1 : 0},${detail.attempts},${durationMs},${firstEventMs}`
  const session = sessionId === null ? 'null' : JSON.stringify(sessionId)
  const end = `${detail.estimated ? 1 : 0},${quoted(detail.fault)},${quoted(finish)}`
  const native = nativeFinish === finish ? SAME : quoted(nativeFinish)
  const more = `${native},${quoted(serviceTier)},${mediaParts},${audioParts}`
  return `[${unitsText(units)},${names},${counts},${session},${end},${more}]`
}

function unitsText(units: LedgerRow['units']): string {
  for (const _ in units) return JSON.stringify(units)
  return '{}'
}

/** JSON of names that come again and again. */
const QUOTED = new Map<string, string>()
const MOST_QUOTED = 1_000

function quoted(text: string | null): string {
  if (text === null) return 'null'
  let json = QUOTED.get(text)
  if (json === undefined) {
    json = JSON.stringify(text)
    if (QUOTED.size >= MOST_QUOTED) QUOTED.clear()
    QUOTED.set(text, json)
  }
  return json
}

type Tail = [
  units: Record<string, number>,
  model: string,
  requested: string | typeof SAME,
  provider: string,
  api: string,
  streamed: number,
  attempts: number,
  durationMs: number,
  firstEventMs: number | null,
  sessionId: string | null,
  estimated: number,
  fault: string | null,
  finish: string | null,
  nativeFinish: string | null | typeof SAME,
  serviceTier: string | null,
  mediaParts: number,
  audioParts: number,
]

/** Ids of models and providers hold no spaces; whatever might must not break the line. */
function field(text: string): string {
  return text === '' ? NOBODY : /\s/.test(text) ? text.replaceAll(/\s/g, '_') : text
}

const PAYER_CODE = 0x50
const OPEN_CODE = 0x4f
const LINE_END = 0x0a
const PAYER_BEGIN = Buffer.from('\nP ')

export function isPayerLine(line: string): boolean {
  return line.charCodeAt(0) === PAYER_CODE
}

export function isOpenLine(line: string): boolean {
  return line.charCodeAt(0) === OPEN_CODE
}

/** Id of the generation of a line. */
export function lineId(line: string): string {
  return line.slice(ID_AT, line.indexOf(' ', ID_AT))
}

/** From a payer line. */
export function payersOf(line: string): Payers {
  const [, keyHash, organizationId, workspaceId] = line.split(' ') as [string, string, string, string]
  return { keyHash, organizationId, workspaceId: workspaceId === NOBODY ? null : workspaceId }
}

/** When a call was dispatched, from its line. */
export function lineTime(line: string): number {
  return timeIn(line, ID_AT)
}

/** What the sums need of a line that closes a call. `coverage` is the digit, so that equal ones can be told by it. */
export interface Figures {
  cost: number
  coverage: number
  promptTokens: number
  completionTokens: number
}

const ID_AT = 2
const SPACE = 0x20
const ZERO = 0x30

/** Reads them into `figures`, because this is done for every call. `idLength`: of the id in the line. */
export function readFigures(line: string, idLength: number, figures: Figures): void {
  let at = ID_AT + idLength + 1
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
  next()
  figures.promptTokens = next()
  figures.completionTokens = next()
}

/** What the digit of a line stands for. */
export function coverageOf(code: number): Coverage {
  return COVERAGES[code]!
}

/** The line, without its end, of a call that nobody lives to tell about: closed with what was estimated. */
export function abandonedLine(open: string): string {
  const [, id, estimate, coverage, model, provider, api] = open.split(' ') as string[]
  return closeLine({
    id: id!,
    cost: Number(estimate),
    coverage: coverageOf(Number(coverage)),
    outcome: 'aborted-estimated',
    promptTokens: 0,
    completionTokens: 0,
    units: {},
    detail: {
      model: model!,
      requested: model!,
      provider: provider!,
      api: api === NOBODY ? '' : api!,
      streamed: false,
      attempts: 1,
      durationMs: 0,
      firstEventMs: null,
      sessionId: null,
      estimated: true,
      fault: 'internal',
      finish: null,
      nativeFinish: null,
      serviceTier: null,
      mediaParts: 0,
      audioParts: 0,
    },
  }).slice(0, -1)
}

/** The row of a generation from a text of whole lines that begins with its payer; null when it is not in there. */
export function rowIn(block: Buffer, id: string): LedgerRow | null {
  // Ids are random enough to stand nowhere else.
  const start = block.indexOf(`\nC ${id} `)
  if (start < 0) return null
  const end = block.indexOf(LINE_END, start + 1)
  const payerAt = block.lastIndexOf(PAYER_BEGIN, start)
  const line = block.toString('utf8', start + 1, end < 0 ? block.length : end)
  const payers = payersOf(block.toString('utf8', payerAt + 1, block.indexOf(LINE_END, payerAt + 1)))
  return parsedRow(payers, line)
}

/** All rows of such a text. */
export function rowsIn(block: Buffer): LedgerRow[] {
  const rows: LedgerRow[] = []
  let payers: Payers | null = null
  for (const line of block.toString().split('\n')) {
    if (isPayerLine(line)) payers = payersOf(line)
    else rows.push(parsedRow(payers!, line))
  }
  return rows
}

function parsedRow(payers: Payers, line: string): LedgerRow {
  const tailAt = line.indexOf(' [')
  const [, id, cost, coverage, outcome, prompt, completion] = line.slice(0, tailAt).split(' ') as string[]
  const [units, model, requested, provider, api, streamed, attempts, ...rest] = JSON.parse(
    line.slice(tailAt + 1),
  ) as Tail
  const [durationMs, firstEventMs, sessionId, estimated, fault, finish, native, ...last] = rest
  const [serviceTier, mediaParts, audioParts] = last
  return Object.freeze({
    ...payers,
    id: id!,
    createdAt: lineTime(line),
    coverage: coverageOf(Number(coverage)),
    outcome: LEDGER_OUTCOMES[Number(outcome)] as LedgerOutcome,
    cost: Number(cost),
    promptTokens: Number(prompt),
    completionTokens: Number(completion),
    units,
    detail: {
      model,
      requested: requested === SAME ? model : requested,
      provider,
      api,
      streamed: streamed === 1,
      attempts,
      durationMs,
      firstEventMs,
      sessionId,
      estimated: estimated === 1,
      fault,
      finish,
      nativeFinish: native === SAME ? finish : native,
      serviceTier,
      mediaParts,
      audioParts,
    },
  })
}
