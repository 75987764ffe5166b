import { test } from 'tap'
import { AuditLogWriter } from '../../src/federation/audit-log-writer.js'
import type { FederationAuditRow } from '../../src/store/federation-store.js'
import { auditOf } from '../support/data/federation.js'
import { FakeClock } from '../support/timing/fake-clock.js'

function bench(append?: (rows: readonly FederationAuditRow[]) => Promise<void>) {
  const clock = new FakeClock()
  const written: (readonly FederationAuditRow[])[] = []
  const lost: number[] = []
  const trail = new AuditLogWriter({
    store: {
      appendAudit: async (rows) => {
        await append?.(rows)
        written.push(rows)
      },
    },
    clock,
    onLost: (rows) => void lost.push(rows),
  })
  return { clock, written, lost, trail }
}

void test('rows are written together, a twentieth of a second after the first', async (t) => {
  const { clock, written, trail } = bench()
  trail.append(auditOf(1))
  clock.advance(49)
  trail.append(auditOf(2))
  t.equal(written.length, 0)
  clock.advance(1)
  await trail.flush()
  t.strictSame(written, [[auditOf(1), auditOf(2)]])
  t.equal(clock.pending, 0)
})

void test('five hundred rows do not wait', async (t) => {
  const { written, trail, clock } = bench()
  for (let n = 0; n < 500; n++) trail.append(auditOf(n))
  t.equal(clock.pending, 0)
  await trail.flush()
  t.equal(written[0]?.length, 500)
})

void test('a close loses nothing', async (t) => {
  const { written, trail } = bench()
  trail.append(auditOf(1))
  await trail.close()
  t.equal(written.flat().length, 1)
  await trail.close()
})

void test('rows the store refuses are told, and later ones are written', async (t) => {
  let full = true
  const { written, lost, trail } = bench(async () => {
    if (full) throw new Error('disk full')
  })
  trail.append(auditOf(1))
  trail.append(auditOf(2))
  await trail.flush()
  t.strictSame(lost, [2])
  full = false
  trail.append(auditOf(3))
  await trail.flush()
  t.strictSame(written, [[auditOf(3)]])
})

void test('a store that does not keep up costs rows, not memory', async (t) => {
  let open: () => void = () => {}
  const gate = new Promise<void>((resolve) => (open = resolve))
  const { written, lost, trail } = bench(() => gate)
  for (let n = 0; n < 20_100; n++) trail.append(auditOf(n))
  t.equal(lost.length, 100)
  open()
  await trail.flush()
  t.equal(written.flat().length, 20_000)
  trail.append(auditOf(1))
  await trail.flush()
  t.equal(written.flat().length, 20_001)
})
