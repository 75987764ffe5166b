import { test } from 'tap'
import { measureMonotonicOffset, processCpuMs } from '../../src/lab/lab-clock.js'

test('every reading of the offset is the same to some microseconds', async (t) => {
  const offsets = Array.from({ length: 20 }, () => measureMonotonicOffset())
  t.ok(
    Math.max(...offsets) - Math.min(...offsets) < 0.05,
    `${Math.max(...offsets) - Math.min(...offsets)} ms`,
  )
  const now = Number(process.hrtime.bigint()) / 1e6
  t.ok(Math.abs(performance.now() + offsets[0]! - now) < 50)
})

test('CPU time grows with work', async (t) => {
  const before = processCpuMs()
  while (processCpuMs() < before + 2);
  t.ok(processCpuMs() > before)
})
