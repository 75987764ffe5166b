/** The ledger that machines share: each row once whatever fails, sums that are the sum of rows, one answer everywhere. */
import fc from 'fast-check'
import { type Test, t } from 'tap'
import { systemClock } from '../../../src/base/clock.js'
import { Fault } from '../../../src/base/fault.js'
import { newGenerationId } from '../../../src/base/ids.js'
import { createLog } from '../../../src/base/log.js'
import { openFleetLedger } from '../../../src/compose/fleet-ledger.js'
import { type LedgerIntake, openLedger } from '../../../src/compose/ledger.js'
import { FaultProxy } from '../../../src/drill/fleet/fault-proxy.js'
import { JournalWriter } from '../../../src/ledger/journal/journal-writer.js'
import { journalName } from '../../../src/ledger/journal/segment-format.js'
import { JournalIngest } from '../../../src/ledger/journal-ingest.js'
import {
  encodeClosedLine,
  encodeLostLine,
  encodeOpenLine,
  encodePayerLine,
} from '../../../src/store/ledger/row-text.js'
import {
  inclusivePayer,
  type LedgerPayer,
  type LedgerRow,
  type LostAttemptRow,
  type Spending,
} from '../../../src/store/ledger-store.js'
import type { Database } from '../../../src/store/postgres/database.js'
import { openPostgresLedgerReader } from '../../../src/store/postgres/ledger.js'
import { ledgerRow } from '../../support/arbitraries/ledger-rows.js'
import { hashOf, idOf } from '../../support/data/accounts.js'
import { tempFolder } from '../../support/data/temp-folder.js'
import { WITHOUT_POSTGRES } from '../../support/servers/postgres-cluster.js'
import { type LedgerFleet, SharedLedgers } from '../../support/servers/shared-ledger.js'
import { eventually } from '../../support/timing/eventually.js'

/** Nobody has this process id. */
const NOBODY = 2 ** 22 + 1
const SILENT = createLog('silent' as 'fatal', 'test')
const NOW = Date.parse('2026-11-20T12:00:00Z')
const DAY_MS = 24 * 60 * 60 * 1000

/** How a statement of the intake ends: as it should, without having reached the database, or without its answer. */
type Ending = 'answered' | 'unsent' | 'unheard'

/** A database whose statements of the intake end as `endings` says, in turn, and well from then on. */
function failing(database: Database, endings: Ending[]): Database {
  const query: Database['query'] = async (sql, values, options) => {
    const ending = sql.includes('take_journals') ? (endings.shift() ?? 'answered') : 'answered'
    if (ending === 'unsent') throw new Fault('unavailable')
    const rows = await database.query(sql, values, options)
    if (ending === 'unheard') throw new Fault('unavailable')
    return rows as never
  }
  return { ...database, query, isAway: false, isPooled: false }
}

/** One machine: a worker's journal at a time, and the supervisor that brings it in. */
class Machine {
  readonly endings: Ending[] = []
  readonly #open: () => LedgerIntake
  #ingest: JournalIngest
  #journals = ''
  #writer: JournalWriter
  #name = ''
  #lives = 0

  constructor(t: Test, open: (dataDir: string, endings: Ending[]) => LedgerIntake) {
    const dataDir = tempFolder(t)
    this.#open = () => open(dataDir, this.endings)
    this.#ingest = this.#start()
    this.#writer = this.#newWriter()
  }

  write(row: LedgerRow, ...lines: readonly string[]): void {
    for (const line of lines) this.#writer.append(line, encodePayerLine(row))
  }

  sync(): Promise<boolean> {
    this.#writer.flush()
    return this.#ingest.sync()
  }

  /** The machine dies and comes back with the same disk. */
  async restart(): Promise<void> {
    this.#writer.flush()
    this.#writer.close()
    this.#ingest = this.#start()
    await this.#ingest.start()
    this.#writer = this.#newWriter()
  }

  /** Its worker has died, and everything is brought in. */
  async finish(): Promise<void> {
    this.endings.length = 0
    this.#writer.close()
    this.#ingest.writerDied(this.#name)
    await this.#ingest.sync()
    if (!(await this.#ingest.sync())) throw new Error('not all was taken')
  }

  close(): Promise<void> {
    return this.#ingest.close()
  }

  get ledger() {
    return this.#ingest.ledger
  }

  #start(): JournalIngest {
    const intake = this.#open()
    this.#journals = intake.journals
    return new JournalIngest({
      ...intake,
      days: 30,
      // Nothing but what the test asks for.
      clock: { ...systemClock, runAfter: () => () => {} },
      log: SILENT,
      onCommitted: () => {},
      onFinished: () => {},
    })
  }

  #newWriter(): JournalWriter {
    // The processes of an earlier life are gone.
    this.#name = journalName(NOW, NOBODY, this.#lives++)
    this.#ingest.expectJournal(this.#name)
    return new JournalWriter({
      folder: this.#journals,
      journal: this.#name,
      onFailing: () => {},
      onRecovered: () => {},
      segmentBytes: 8 * 1024,
    })
  }
}

const lost: fc.Arbitrary<LostAttemptRow> = fc.record({
  model: fc.string({ unit: 'grapheme', maxLength: 9 }),
  provider: fc.string({ unit: 'binary', maxLength: 9 }),
  status: fc.nat(599),
  fault: fc.constantFrom('provider-failed', 'x'),
  upstreamCost: fc.nat(1_000_000),
  promptTokens: fc.nat(),
  completionTokens: fc.nat(),
  estimated: fc.boolean(),
  durationMs: fc.nat(),
})

/** A call on one of three machines: its row, what it has lost, how many parts it has, and when it is over. */
const call = fc.record({
  machine: fc.nat(2),
  row: ledgerRow,
  at: fc.constantFrom(0, 1, 40, 3_600_000, DAY_MS, 45 * DAY_MS),
  cost: fc.nat(1_000_000_000_000),
  key: fc.nat(3),
  lost: fc.array(lost, { maxLength: 2 }),
  parts: fc.nat(3),
  closes: fc.constantFrom('at once', 'later', 'never'),
})

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('call' as const), call }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('sync' as const),
      machines: fc.uniqueArray(fc.nat(2), { minLength: 1, maxLength: 3 }),
      ending: fc.constantFrom<Ending>('answered', 'unsent', 'unheard'),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const), machine: fc.nat(2) }) },
)

type CallPlan = typeof call extends fc.Arbitrary<infer C> ? C : never

/** The lines of a call, as its worker writes them; those that close it go to `later` unless it is over at once. */
function writeCall(plan: CallPlan, pair: readonly Machine[], later: Set<() => void>): LedgerRow {
  const { key, at, cost, parts } = plan
  const payers = { keyHash: hashOf(key), organizationId: idOf(key % 2), workspaceId: plan.row.workspaceId }
  const id = newGenerationId(NOW - at)
  const whole = { ...plan.row, ...payers, id, cost: parts === 0 ? cost : 0 }
  const partRows = Array.from({ length: parts }, (_, n) => ({
    ...whole,
    id: `${id}.${n + 1}`,
    cost: cost + n,
  }))
  const rows = [whole, ...partRows]
  const { model, provider, api } = plan.row.detail
  const write = (lines: readonly string[]): void => {
    for (const machine of pair) machine.write(whole, ...lines)
  }
  write(rows.map((row) => encodeOpenLine({ ...row, estimate: row.cost + 1, model, provider, api })))
  write(plan.lost.map((each) => encodeLostLine({ ...rows.at(-1)!, ...each })))
  const close = (): void => write(rows.toReversed().map(encodeClosedLine))
  if (plan.closes === 'at once') close()
  if (plan.closes === 'later') later.add(close)
  return whole
}

interface SumRow {
  readonly payer: string
  readonly cost: number
  readonly prompt: number
  readonly completion: number
  readonly calls: number
}

const FIGURES = (calls: string): string =>
  `sum(cost) AS cost, sum(prompt_tokens) AS prompt, sum(completion_tokens) AS completion, ${calls} AS calls`

/** The sums of payers and of hours are those of the rows, to the last nano-dollar. */
async function checkSums(
  t: Test,
  { database }: LedgerFleet,
): Promise<readonly Pick<SumRow, 'payer' | 'cost'>[]> {
  const payers = (table: string, calls: string, where: string): string =>
    `SELECT 'k' || key_hash AS payer, ${FIGURES(calls)} FROM sluice.${table} WHERE ${where} GROUP BY key_hash
     UNION ALL
     SELECT 'o' || organization_id, ${FIGURES(calls)} FROM sluice.${table} WHERE ${where} GROUP BY organization_id
     ORDER BY payer`
  const rows = await database.query<SumRow>(
    payers('ledger_rows', `count(*) FILTER (WHERE kind = 'call')`, `kind <> 'lost'`),
  )
  t.strictSame(await database.query(payers('ledger_hours', 'sum(calls)', 'true')), rows, 'hours')
  const sums = await database.query(
    `SELECT payer, cost, prompt_tokens AS prompt, completion_tokens AS completion, calls
     FROM sluice.ledger_sums WHERE period = 'never' AND payer NOT LIKE 'b%' ORDER BY payer`,
  )
  t.strictSame(sums, rows, 'payers')
  const own = await database.query<Pick<SumRow, 'payer' | 'cost'>>(
    `SELECT 'b' || key_hash AS payer, (sum(upstream_dollars) * 1000000000)::bigint AS cost FROM sluice.ledger
     WHERE kind <> 'lost' AND is_byok GROUP BY key_hash HAVING sum(upstream_dollars) > 0 ORDER BY payer`,
  )
  const ownSums = await database.query(
    `SELECT payer, cost FROM sluice.ledger_sums WHERE period = 'never' AND payer LIKE 'b%' ORDER BY payer`,
  )
  t.strictSame(ownSums, own, 'own accounts of callers')
  const [days] = await database.query<{ wrong: number }>(
    `SELECT count(*) AS wrong FROM (
       SELECT 'k' || key_hash AS payer, 'daily' || (extract(epoch FROM begun_at)::bigint / 86400) AS period,
         sum(cost) AS cost FROM sluice.ledger_rows GROUP BY 1, 2
     ) r FULL JOIN (SELECT * FROM sluice.ledger_sums WHERE payer LIKE 'k%' AND period LIKE 'daily%') s
       USING (payer, period)
     WHERE r.cost IS DISTINCT FROM s.cost AND coalesce(r.cost, 0) <> coalesce(s.cost, 0)`,
  )
  t.equal(days?.wrong, 0, 'days')
  return [...rows, ...own]
}

t.test('PostgreSQL', { skip: WITHOUT_POSTGRES }, async (t) => {
  const shared = await SharedLedgers.start(t)

  t.test(
    'whatever is lost on the way and whoever dies, each row is there once, as an embedded ledger has it',
    async (t) => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
          const fleet = await shared.fleet(t)
          const machines = ['a', 'b', 'c'].map(
            (machine) =>
              new Machine(t, (dataDir, endings) =>
                openFleetLedger({
                  ...{ machine, dataDir, epoch: () => 1, log: SILENT },
                  database: failing(fleet.database, endings),
                }),
              ),
          )
          // The same lines, brought into an embedded ledger of each machine.
          const twins = machines.map(() => new Machine(t, (dataDir) => openLedger(dataDir)))
          const pairOf = (machine: number): Machine[] => [machines[machine]!, twins[machine]!]
          const later = machines.map(() => new Set<() => void>())
          const written: { readonly id: string; readonly machine: number }[] = []
          for (const each of steps) {
            if (each.kind === 'call') {
              const { machine } = each.call
              written.push({ ...writeCall(each.call, pairOf(machine), later[machine]!), machine })
            } else if (each.kind === 'sync') {
              for (const machine of each.machines) machines[machine]!.endings.push(each.ending)
              await Promise.all(each.machines.map((machine) => machines[machine]!.sync()))
              // Calls that were under way in the meantime.
              for (const close of later[each.machines[0]!]!) close()
              later[each.machines[0]!]!.clear()
            } else {
              later[each.machine]!.clear()
              for (const one of pairOf(each.machine)) await one.restart()
            }
          }
          for (const machine of [...machines, ...twins]) await machine.finish()
          const reader = openPostgresLedgerReader(fleet.database)
          for (const { id, machine } of written) {
            const row = await reader.row(id)
            t.ok(row !== null)
            t.strictSame(row, await twins[machine]!.ledger.row(id), 'as the embedded one has it')
          }
          const sums = await checkSums(t, fleet)
          const payers = sums.map(({ payer }) => payer as LedgerPayer)
          const spent = await reader.spending(payers, NOW)
          const apart = await Promise.all(twins.map(({ ledger }) => ledger.spending(payers, NOW)))
          for (const [at, { total, daily, weekly, monthly }] of spent.entries()) {
            const sum = (of: (one: Spending) => number): number =>
              apart.reduce((all, each) => all + of(each[at]!), 0)
            t.strictSame(
              [total, daily, weekly, monthly],
              [
                sum((one) => one.total),
                sum((one) => one.daily),
                sum((one) => one.weekly),
                sum((one) => one.monthly),
              ],
            )
          }
          for (const hash of [0, 1, 2, 3].map((key) => hashOf(key))) {
            const both = sums.filter(({ payer }) => payer === `k${hash}` || payer === `b${hash}`)
            const inclusive = both.reduce((all, { cost }) => all + cost, 0)
            t.equal(await reader.spentIn(inclusivePayer(hash), null), inclusive)
            const parts = twins.map(({ ledger }) => ledger.spentIn(inclusivePayer(hash), null))
            t.equal(
              ((await Promise.all(parts)) as number[]).reduce((all, each) => all + each, 0),
              inclusive,
            )
          }
          t.strictSame(await fleet.sql('SELECT * FROM sluice.ledger_open_calls'), [])
          for (const machine of [...machines, ...twins]) await machine.close()
        }),
        { numRuns: 12 },
      )
    },
  )

  t.test('an answer that is cut off behind a commit is no second row', async (t) => {
    const fleet = await shared.fleet(t)
    const proxy = await FaultProxy.listen([shared.cluster.port])
    t.after(() => proxy.close())
    const url = new URL(fleet.url)
    url.port = String(proxy.port)
    const machine = new Machine(t, (dataDir) => fleet.intake('a', dataDir, url.href))
    for (let round = 0; round < 8; round++) {
      proxy.fault = { kind: 'cut-after-answer', to: 'take_journals' }
      writeCall(sampleCall(round), [machine], new Set())
      t.equal(await machine.sync(), false, 'nobody knows')
      writeCall(sampleCall(round + 100), [machine], new Set())
      proxy.fault = { kind: 'none' }
      await eventually(() => machine.sync())
    }
    t.ok(proxy.cuts >= 8)
    await machine.finish()
    const rows = await fleet.sql(`SELECT id FROM sluice.ledger_rows WHERE kind = 'call'`)
    t.equal(rows.length, 16)
    await checkSums(t, fleet)
    await machine.close()
  })

  t.test('PostgreSQL killed in the middle: everything is there once when it is back', async (t) => {
    const own = await SharedLedgers.start(t)
    const fleet = await own.fleet(t)
    const machines = ['a', 'b'].map((name) => new Machine(t, (dataDir) => fleet.intake(name, dataDir)))
    let calls = 0
    for (let round = 0; round < 4; round++) {
      const killed = own.cluster.kill()
      for (const machine of machines) {
        for (let n = 0; n < 50; n++) writeCall(sampleCall(calls++), [machine], new Set())
        void machine.sync()
      }
      await killed
      for (const machine of machines) t.equal(await machine.sync(), false)
      await own.cluster.start()
      for (const machine of machines) await eventually(() => machine.sync(), 20_000)
      // This time it is killed while it takes them.
      for (const machine of machines) {
        for (let n = 0; n < 50; n++) writeCall(sampleCall(calls++), [machine], new Set())
        void machine.sync()
      }
      await own.cluster.kill()
      await own.cluster.start()
      for (const machine of machines) await eventually(() => machine.sync(), 20_000)
    }
    const [count] = await fleet.sql<{ rows: number }>(
      `SELECT count(*)::int AS rows FROM sluice.ledger_rows WHERE kind = 'call'`,
    )
    t.equal(count?.rows, calls)
    await checkSums(t, fleet)
    for (const machine of machines) await machine.close()
  })
})

/** A call that is over at once and has parts and lost attempts now and then. */
function sampleCall(seed: number): CallPlan {
  const [plan] = fc.sample(call, { seed, numRuns: 1 })
  return { ...plan!, closes: 'at once' }
}
