import { test } from 'tap'
import { poolThreadsFor, workersFor } from '../../src/process/topology.js'

const TABLE = [
  { cores: 1, workers: 1, poolThreads: 1 },
  { cores: 2, workers: 2, poolThreads: 1 },
  { cores: 3, workers: 3, poolThreads: 1 },
  { cores: 4, workers: 4, poolThreads: 1 },
  { cores: 8, workers: 6, poolThreads: 1 },
  { cores: 16, workers: 12, poolThreads: 1 },
  { cores: 64, workers: 48, poolThreads: 1 },
]

for (const { cores, workers, poolThreads } of TABLE) {
  test(`${cores} cores take ${workers} workers with ${poolThreads} pool thread each`, async (t) => {
    t.equal(workersFor(cores), workers)
    t.equal(poolThreadsFor(cores, workers), poolThreads)
  })
}

test('fewer workers have larger pools, which never use more than the cores and never less than one', async (t) => {
  t.equal(poolThreadsFor(16, 1), 16)
  t.equal(poolThreadsFor(16, 4), 4)
  t.equal(poolThreadsFor(16, 5), 3)
  t.equal(poolThreadsFor(2, 8), 1)
  t.equal(workersFor(0), 1)
})

test('more cores never mean fewer workers', async (t) => {
  for (let cores = 1; cores < 256; cores++) t.ok(workersFor(cores + 1) >= workersFor(cores), `${cores}`)
})
