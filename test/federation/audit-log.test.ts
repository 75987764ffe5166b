import { test } from 'tap'
import { AuditLogWriter } from '../../src/federation/audit-log.js'
import type { FederationAuditRow } from '../../src/store/federation-store.js'
import { auditOf } from '../support/data/federation.js'
import { FakeClock } from '../support/timing/fake-clock.js'

function bench(append?: (rows: readonly FederationAuditRow[]) => Promise<void>) {
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
