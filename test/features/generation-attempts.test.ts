import { test } from 'tap'
import { newGenerationId } from '../../src/base/ids.js'
import { encodeAttempts } from '../../src/features/generation/attempts.js'
import {
  type LedgerRow,
  type LostAttemptOfRow,
  NO_LIMIT_COVERAGE,
  NOTHING_TOLD,
  type RowAttempt,
} from '../../src/store/ledger-store.js'
import { hashOf, idOf } from '../support/data/accounts.js'

const ID = newGenerationId(1)

function rowOf(id: string, more: Partial<LedgerRow>, detail: Partial<LedgerRow['detail']> = {}): LedgerRow {
  return {
    ...{ id, keyHash: hashOf(1), organizationId: idOf(1), workspaceId: idOf(2), createdAt: 1 },
    ...{ coverage: NO_LIMIT_COVERAGE, outcome: 'settled', cost: 0, promptTokens: 0, completionTokens: 0 },
    ...{ units: {}, lost: [], parts: [] },
    detail: {
      ...{ model: 'acme/one', requested: 'acme/one', provider: 'North', api: 'turn', streamed: false },
      ...{ attempts: 1, durationMs: 90, firstEventMs: 40, sessionId: null, estimated: false, guessed: false },
      ...{
        fault: null,
        finish: 'stop',
        nativeFinish: 'stop',
        serviceTier: null,
        mediaParts: 0,
        audioParts: 0,
      },
      why: NOTHING_TOLD,
      ...detail,
    },
    ...more,
  }
}

function lostOf(id: string, upstreamCost: number, more: Partial<LostAttemptOfRow> = {}): LostAttemptOfRow {
  return {
    ...{ id, model: 'acme/one', provider: 'South', status: 0, fault: 'provider-failed', upstreamCost },
    ...{ promptTokens: 1, completionTokens: 0, estimated: true, durationMs: 20 },
    ...more,
  }
}

const answered: RowAttempt = {
  provider: 'North',
  model: 'acme/one',
  status: 200,
  fault: null,
  durationMs: 40,
}
const failed: RowAttempt = {
  ...answered,
  provider: 'South',
  status: 0,
  fault: 'provider-failed',
  durationMs: 20,
}
const refused: RowAttempt = { ...failed, status: 503, durationMs: 5 }
const listing = (attempts: readonly RowAttempt[], made = attempts.length): Partial<LedgerRow['detail']> => ({
  attempts: made,
  why: { ...NOTHING_TOLD, queueMs: 3, connectMs: 4, attempts },
})

test('attempts stand turn by turn, each with what it has lost or what was paid for it; tools have none', (t) => {
  const [first, tool, second, judge] = [1, 2, 3, 4].map((n) => `${ID}.${n}`) as [
    string,
    string,
    string,
    string,
  ]
  const whole = rowOf(ID, {
    lost: [lostOf(first, 7_000_000_000), lostOf(second, 9_000_000_000)],
    parts: [
      rowOf(first, { cost: 1_000_000_000 }, listing([failed, refused, answered])),
      rowOf(tool, { cost: 500 }, { api: 'tool', attempts: 0 }),
      rowOf(second, { cost: 2_000_000_000 }, { ...listing([failed, answered]), estimated: true }),
      rowOf(judge, { cost: 0, byokCost: 4_000_000_000 }, { api: 'judge' }),
    ],
  })
  const told = encodeAttempts(whole).map((each) => {
    const { row, kind, turn, error, queue, charged, upstream_cost: upstream, upstream_cost_basis: by } = each
    return [row, `${kind} ${turn}`, error, queue, charged, upstream, by]
  })
  t.strictSame(told, [
    [first, 'turn 1', 'provider-failed', null, 0, 7, 'estimated'],
    [first, 'turn 1', 'provider-failed', null, 0, 0, 'exact'],
    [first, 'turn 1', null, 3, 1, 1, 'exact'],
    [second, 'turn 2', 'provider-failed', null, 0, 9, 'estimated'],
    [second, 'turn 2', null, 3, 2, 2, 'estimated'],
    [judge, 'judge 1', null, 0, 0, 4, 'exact'],
  ])
  t.end()
})

test('what is lost is told also where no list of attempts has it', (t) => {
  const died = rowOf(ID, { outcome: 'aborted-estimated', cost: 30, lost: [lostOf(ID, 7_000_000_000)] })
  t.match(encodeAttempts(died), [{ row: ID, kind: 'turn', error: 'provider-failed', upstream_cost: 7 }])
  const beyond = lostOf(ID, 8_000_000_000, { durationMs: 21 })
  const long = rowOf(ID, { cost: 5_000_000_000, lost: [beyond] }, listing([refused, refused], 4))
  t.strictSame(
    encodeAttempts(long).map(({ charged, upstream_cost }) => [charged, upstream_cost]),
    [
      [0, 0],
      [0, 0],
      [0, 8],
    ],
    'the one that answered is not listed, so none of these is charged',
  )
  t.end()
})

test('an answer that broke off is what was paid for', (t) => {
  const broken = rowOf(ID, { outcome: 'failed', cost: 5_000_000_000 }, listing([refused, failed]))
  t.strictSame(
    encodeAttempts(broken).map(({ charged }) => charged),
    [0, 5],
  )
  t.end()
})
