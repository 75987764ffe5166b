/** A part of the disk stays free, and what is refused is told once a minute. */
import { type Test, test } from 'tap'
import { DiskReserve } from '../../src/store/disk-reserve.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { FakeClock } from '../support/timing/fake-clock.js'

function reserveOf(bytes: number, free: number | null) {
  const clock = new FakeClock()
  const disk = { free, looks: 0 }
  const told: number[] = []
  const reserve = new DiskReserve({
    folder: '/',
    bytes,
    clock,
    onRefused: (freeBytes) => void told.push(freeBytes),
    freeBytes: () => {
      disk.looks++
      return disk.free
    },
  })
  return { clock, disk, told, reserve }
}

test('what would go into the reserve is refused, and taken again when there is room', async (t: Test) => {
  const { clock, disk, told, reserve } = reserveOf(100, 150)
  t.ok(reserve.take(30))
  t.notOk(reserve.take(30), 'what was taken since the last look counts')
  t.ok(reserve.take(20))
  t.notOk(reserve.take(1))
  t.equal(disk.looks, 1)
  disk.free = 101
  clock.advance(100)
  t.ok(reserve.take(1))
  t.notOk(reserve.take(1))
  t.same(told, [120])
})

test('where others were deleted half of the reserve is enough', async (t) => {
  const { reserve } = reserveOf(100, 70)
  t.notOk(reserve.take(10))
  t.ok(reserve.take(10, true))
  t.notOk(reserve.take(11, true))
})

test('refusals are told once a minute', async (t) => {
  const { clock, told, reserve } = reserveOf(100, 10)
  for (let second = 0; second < 120; second++) {
    for (let n = 0; n < 50; n++) reserve.take(1)
    clock.advance(1_000)
  }
  t.equal(told.length, 2)
})

test('without a reserve, or where a disk does not say, nothing is refused', async (t) => {
  const none = reserveOf(0, 0)
  t.ok(none.reserve.take(1e12))
  t.equal(none.disk.looks, 0)
  t.ok(reserveOf(100, null).reserve.take(1e12))
})

test('the disk of a folder is asked', async (t) => {
  const clock = new FakeClock()
  const on = (bytes: number): DiskReserve =>
    new DiskReserve({ folder: tempFolder(t), bytes, clock, onRefused: () => {} })
  t.ok(on(1).take(1))
  t.notOk(on(2 ** 52).take(1))
})
