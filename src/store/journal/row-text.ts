/**
 * Rows of the ledger as lines of text. What the books need stands in front, in fields without spaces, so that they
 * need not parse the rest; that is JSON. A line is also how a row is kept for good.
 *
 *     O id key organization createdAt estimate coverage model provider
 *     C id key organization createdAt cost coverage outcome promptTokens completionTokens [detail …]
 */
import {
  type Coverage,
  LEDGER_OUTCOMES,
  type LedgerOutcome,
  type LedgerRow,
  type OpenEntry,
} from '../ledger-store.js'

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

export function openLine(entry: OpenEntry): string {
  const { id, keyHash, organizationId, createdAt, estimate, coverage, model, provider } = entry
  return `O ${id} ${keyHash} ${organizationId} ${createdAt} ${estimate} ${coverageCode(coverage)} ${field(model)} ${field(provider)}\n`
}

export function closeLine(row: LedgerRow): string {
  const { id, keyHash, organizationId, createdAt, cost, coverage, outcome } = row
  const front = `C ${id} ${keyHash} ${organizationId} ${createdAt} ${cost} ${coverageCode(coverage)}`
  const figures = `${LEDGER_OUTCOMES.indexOf(outcome)} ${row.promptTokens} ${row.completionTokens}`
  return `${front} ${figures} ${tailOf(row)}\n`
}

/**
 * Positional JSON, put together by hand, because a row is written for every call: `JSON.stringify` of the whole takes
 * three times as long. New members go to the end.
 */
function tailOf({ units, detail }: LedgerRow): string {
  const { model, requested, provider, workspaceId, api, durationMs, firstEventMs, sessionId, fault } = detail
  const names = `${quoted(model)},${quoted(requested)},${quoted(provider)},${quoted(workspaceId)},${quoted(api)}`
  const counts = `${detail.streamed ? 1 : 0},${detail.attempts},${durationMs},${firstEventMs}`
  const session = sessionId === null ? 'null' : JSON.stringify(sessionId)
  return `[${unitsText(units)},${names},${counts},${session},${detail.estimated ? 1 : 0},${quoted(fault)}]`
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
  requested: string,
  provider: string,
  workspaceId: string | null,
  api: string,
  streamed: number,
  attempts: number,
  durationMs: number,
  firstEventMs: number | null,
  sessionId: string | null,
  estimated: number,
  fault: string | null,
]

/** Ids of models and providers hold no spaces; whatever might must not break the line. */
function field(text: string): string {
  return text === '' ? NOBODY : /\s/.test(text) ? text.replaceAll(/\s/g, '_') : text
}

/** The front of a line. `coverage` is the digit, so that equal ones can be told by it. */
export interface LineFront {
  readonly kind: 'open' | 'close'
  readonly id: string
  readonly keyHash: string
  readonly organizationId: string
  readonly createdAt: number
  /** Of an open one the estimate. */
  readonly cost: number
  readonly coverage: number
  /** 0 of an open one. */
  readonly promptTokens: number
  readonly completionTokens: number
}

const CLOSE = 'C'
const OPEN_CODE = 0x4f
const ID_AT = 2

export function isOpenLine(line: string): boolean {
  return line.charCodeAt(0) === OPEN_CODE
}

/** Id of the generation of a line. */
export function lineId(line: string): string {
  return line.slice(ID_AT, line.indexOf(' ', ID_AT))
}

/** How the line begins that closes a generation. */
export function closeBegin(id: string): string {
  return `${CLOSE} ${id} `
}

export function lineFront(line: string): LineFront {
  const [mark, id, keyHash, organizationId, createdAt, cost, coverage, , prompt, completion] = line.split(
    ' ',
    10,
  ) as [string, string, string, string, string, string, string, string, string, string]
  const closed = mark === CLOSE
  return {
    kind: closed ? 'close' : 'open',
    id,
    keyHash,
    organizationId,
    createdAt: Number(createdAt),
    cost: Number(cost),
    coverage: Number(coverage),
    promptTokens: closed ? Number(prompt) : 0,
    completionTokens: closed ? Number(completion) : 0,
  }
}

/** What the digit of a line stands for. */
export function coverageOf(code: number): Coverage {
  return COVERAGES[code]!
}

/** The line, without its end, of a call that nobody lives to tell about: closed with what was estimated. */
export function abandonedLine(open: string): string {
  const [, id, keyHash, organizationId, createdAt, cost, coverage, model, provider] = open.split(
    ' ',
  ) as string[]
  const row: LedgerRow = {
    id: id!,
    keyHash: keyHash!,
    organizationId: organizationId!,
    createdAt: Number(createdAt),
    cost: Number(cost),
    coverage: coverageOf(Number(coverage)),
    outcome: 'aborted-estimated',
    promptTokens: 0,
    completionTokens: 0,
    units: {},
    detail: {
      model: model!,
      requested: model!,
      provider: provider!,
      workspaceId: null,
      api: '',
      streamed: false,
      attempts: 1,
      durationMs: 0,
      firstEventMs: null,
      sessionId: null,
      estimated: true,
      fault: 'internal',
    },
  }
  return closeLine(row).slice(0, -1)
}

/** A row from its line. */
export function parsedRow(line: string): LedgerRow {
  const front = lineFront(line)
  const tailAt = line.indexOf(' [')
  const outcome = line.slice(0, tailAt).split(' ')[7]
  const [units, model, requested, provider, workspaceId, api, streamed, attempts, ...rest] = JSON.parse(
    line.slice(tailAt + 1),
  ) as Tail
  const [durationMs, firstEventMs, sessionId, estimated, fault] = rest
  return Object.freeze({
    id: front.id,
    keyHash: front.keyHash,
    organizationId: front.organizationId,
    createdAt: front.createdAt,
    coverage: coverageOf(front.coverage),
    outcome: LEDGER_OUTCOMES[Number(outcome)] as LedgerOutcome,
    cost: front.cost,
    promptTokens: front.promptTokens,
    completionTokens: front.completionTokens,
    units,
    detail: {
      model,
      requested,
      provider,
      workspaceId,
      api,
      streamed: streamed === 1,
      attempts,
      durationMs,
      firstEventMs,
      sessionId,
      estimated: estimated === 1,
      fault,
    },
  })
}
