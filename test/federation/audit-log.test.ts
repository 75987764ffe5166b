import { test } from 'tap'
import { Fault } from '../../src/base/fault.js'
import { AuditLogWriter } from '../../src/federation/audit-log.js'
import type { FederationAuditRow } from '../../src/store/federation-store.js'
import { auditOf } from '../support/data/federation.js'
import { FakeClock } from '../support/timing/fake-clock.js'

function bench(append?: (rows: readonly FederationAuditRow[]) => Promise<void>, waitsForStore = false) {
  const clock = new FakeClock()
  const written: (readonly FederationAuditRow[])[] = []
  const lost: number[] = []
  const writer = new AuditLogWriter({
    store: {
      appendAudit: async (rows) => {
        await append?.(rows)
        written.push(rows)
      },
    },
    clock,
    waitsForStore,
    onLost: (rows) => void lost.push(rows),
  })
  return { clock, written, lost, writer }
}

void test('rows are written together, a twentieth of a second after the first', async (t) => {
  const { clock, written, writer } = bench()
  writer.append(auditOf(1))
  clock.advance(49)
  writer.append(auditOf(2))
  t.equal(written.length, 0)
  clock.advance(1)
  await writer.flush()
  t.strictSame(written, [[auditOf(1), auditOf(2)]])
  t.equal(clock.pending, 0)
})

void test('five hundred rows do not wait', async (t) => {
  const { written, writer, clock } = bench()
  for (let n = 0; n < 500; n++) writer.append(auditOf(n))
  t.equal(clock.pending, 0)
  await writer.flush()
  t.equal(written[0]?.length, 500)
})

void test('a flush at the end loses nothing', async (t) => {
  const { written, writer } = bench()
  writer.append(auditOf(1))
  await writer.flush()
  t.equal(written.flat().length, 1)
  await writer.flush()
})

void test('rows the store refuses are told, and later ones are written', async (t) => {
  let full = true
  const { written, lost, writer } = bench(async () => {
    if (full) throw new Error('disk full')
  })
  writer.append(auditOf(1))
  writer.append(auditOf(2))
  await writer.flush()
  t.strictSame(lost, [2])
  full = false
  writer.append(auditOf(3))
  await writer.flush()
  t.strictSame(written, [[auditOf(3)]])
})

void test('a store that does not keep up costs rows, not memory', async (t) => {
  let open: () => void = () => {}
  const gate = new Promise<void>((resolve) => (open = resolve))
  const { written, lost, writer } = bench(() => gate)
  for (let n = 0; n < 20_100; n++) writer.append(auditOf(n))
  t.equal(lost.length, 100)
  open()
  await writer.flush()
  t.equal(written.flat().length, 20_000)
  writer.append(auditOf(1))
  await writer.flush()
  t.equal(written.flat().length, 20_001)
})

/** Lets time pass in steps, with what follows from each. */
async function pass(clock: FakeClock, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 100) {
    clock.advance(100)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** A store that is away until it is told otherwise, and every attempt there was. */
function awayBench() {
  const attempts: string[] = []
  const state = { isAway: true }
  const parts = bench(async (rows) => {
    attempts.push(rows[0]!.id)
    if (state.isAway) throw new Fault('unavailable')
  }, true)
  return { ...parts, attempts, state }
}

void test('rows wait for a store that is away, in their order, and nobody who reads waits for them', async (t) => {
  const { clock, written, lost, writer, attempts, state } = awayBench()
  for (let second = 0; second < 10; second++) {
    writer.append(auditOf(second))
    await writer.flush()
    await pass(clock, 1_000)
  }
  t.strictSame([written, lost], [[], []])
  t.ok(attempts.length >= 10 && attempts.length <= 60, `${attempts.length} attempts`)
  t.ok(attempts.every((id) => id === auditOf(0).id))
  state.isAway = false
  await pass(clock, 1_000)
  await writer.flush()
  t.strictSame(
    written.flat(),
    Array.from({ length: 10 }, (_, second) => auditOf(second)),
  )
})

void test('an end does not wait for a store that is away: what waits is lost and told', async (t) => {
  const { lost, writer, attempts } = awayBench()
  for (let n = 0; n < 1_200; n++) writer.append(auditOf(n))
  await writer.flush()
  await writer.close()
  t.strictSame(lost, [500, 500, 200])
  t.equal(attempts.length, 2, 'once more, for all of them')
})

void test('a row that the store refuses for good does not hold up the others', async (t) => {
  let first = true
  const { written, lost, writer } = bench(async () => {
    if (first) {
      first = false
      throw new RangeError('a defect')
    }
  }, true)
  for (let n = 0; n < 600; n++) writer.append(auditOf(n))
  await writer.flush()
  t.strictSame(lost, [500])
  t.equal(written.flat().length, 100)
})
