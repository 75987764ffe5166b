import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { HeatMap } from '../../bench/loadlab/drivers/heat.js'
import { kneeText } from '../../bench/loadlab/profiles/criteria.js'
import {
  kindCycle,
  newItemIds,
  practiceRequests,
  zipfIdSource,
} from '../../bench/loadlab/profiles/practice-requests.js'
import type { PracticeProfile } from '../../bench/loadlab/profiles/profile.js'
import { readProfileOptions } from '../../bench/loadlab/profiles/profile-command.js'
import { type PracticeResult, recoveryMs, waitRatio } from '../../bench/loadlab/profiles/run-practice.js'
import { PROFILES } from '../../bench/loadlab/profiles.js'
import { mockModel } from '../../bench/performance/gateway/mock-models.js'
import { seededRandom } from '../../src/base/random.js'
import { formatArrivals } from '../../src/tape/arrivals.js'
import { makeFolder } from '../support/data/temp-folder.js'

test('both services have the profiles that were promised', async (t) => {
  const promised = `read-heavy write search cpu slow-backend stall errors mixed spike soak churn idle-crowd
    chat chat-stream paced messages gateway/mixed gateway/spike abort slow-reader trace fragmentation`
  for (const name of promised.split(/\s+/)) t.ok(PROFILES.has(name), name)
})

test('every criterion is about a stage and a load that its profile has', async (t) => {
  for (const [name, profile] of PROFILES) {
    const fragments = profile.service === 'gateway' && profile.fragments ? ['fragments'] : []
    const labels = [...profile.stages.map(({ label }) => label), ...fragments]
    t.equal(new Set(labels).size, labels.length, `${name}: labels are unique`)
    t.ok(profile.passes.length > 0, `${name} can be missed`)
    for (const { stage, min, max } of profile.passes) {
      t.ok(stage === '*' || labels.includes(stage), `${name}: ${stage}`)
      t.ok(min !== undefined || max !== undefined, `${name}: ${stage} has a bound`)
    }
  }
})

test('shares of a capacity come behind the stage that measures it', async (t) => {
  for (const [name, profile] of PROFILES) {
    if (profile.service !== 'practice') continue
    const kinds = profile.stages.map(({ load }) => load.kind)
    const first = kinds.findIndex((kind) => kind === 'share' || kind === 'spike')
    if (first < 0) continue
    const measured = profile.stages.findIndex(({ label }) => label === 'capacity')
    t.ok(measured >= 0 && measured < first, name)
  }
})

test('the models of the gateway’s profiles are those of the mock', async (t) => {
  for (const [name, profile] of PROFILES) {
    if (profile.service !== 'gateway') continue
    for (const { model } of profile.stages.flatMap(({ loads }) => loads))
      t.ok(mockModel(model), `${name}: ${model}`)
  }
})

test('kinds come by their weights, in an order that the seed decides', async (t) => {
  const mix = { get: 60, list: 15, create: 10, 'search-few': 10, report: 4, 'hash-1k': 1 } as const
  const cycle = kindCycle(mix, 3)
  t.equal(cycle.length, 1_000)
  t.equal(cycle.filter((kind) => kind === 'get').length, 600)
  t.equal(cycle.filter((kind) => kind === 'hash-1k').length, 10)
  t.same(kindCycle(mix, 3), cycle)
  t.not(kindCycle(mix, 4).join(), cycle.join())
})

test('ids by Zipf are hot in few places and never out of range', async (t) => {
  const next = zipfIdSource(10_000, seededRandom(1))
  const counts = new Map<number, number>()
  for (let i = 0; i < 100_000; i++) {
    const id = next()
    counts.set(id, (counts.get(id) ?? 0) + 1)
  }
  const shares = [...counts.values()].sort((a, b) => b - a)
  t.ok([...counts.keys()].every((id) => id >= 1 && id <= 10_000))
  // The sum of k^-1.1 over 10,000 ranks is about 6.6: the first rank has about 15 % of all.
  t.ok(Math.abs(shares[0]! / 100_000 - 0.15) < 0.02, `${shares[0]}`)
  const ratio = shares[0]! / shares[1]!
  t.ok(ratio > 1.8 && ratio < 2.6, 'the second half as often, to the power of 1.1')
})

test('deletes eat ids one after the other, in the half that nothing reads', async (t) => {
  const ids = newItemIds(100)
  const { request, kinds } = practiceRequests({ get: 1, update: 1, delete: 1 }, ids, 1, 'host')
  const seen = new Map<string, number[]>()
  for (let i = 0; i < 90; i++) {
    const { head, kind } = request(i)
    const id = Number(/items\/(\d+) /.exec(head)![1])
    seen.set(kinds[kind]!, [...(seen.get(kinds[kind]!) ?? []), id])
  }
  const deleted = seen.get('delete')!
  t.ok(deleted.length > 10)
  t.ok(deleted.every((id, i) => id === 51 + i))
  t.ok([...seen.get('get')!, ...seen.get('update')!].every((id) => id >= 1 && id <= 50))
})

test('requests carry what they need', async (t) => {
  const { request } = practiceRequests({ create: 1 }, newItemIds(0), 1, 'host:1')
  const { head, body } = request(0)
  t.match(head, /^POST \/api\/v1\/items HTTP\/1\.1\r\nHost: host:1\r\n/)
  t.match(head, new RegExp(`Content-Length: ${body!.length}\r\n$`))
  t.ok(body!.length > 150 && body!.length < 250)
})

test('recovery is the time until no step is worse than before the peak', async (t) => {
  const at = (dueMs: number): number => (dueMs < 5_000 ? 1 : dueMs < 10_000 ? 500 : dueMs < 10_600 ? 100 : 1)
  const samples = Array.from({ length: 1_500 }, (_, i): [number, number] => [i * 10, at(i * 10)])
  t.equal(recoveryMs(samples, 10_000, 15_000), 750)
  const calm = samples.map(([dueMs]): [number, number] => [dueMs, 1])
  t.equal(recoveryMs(calm, 10_000, 15_000), 0)
})

test('the heat map holds every sample once, in its step and band', async (t) => {
  const heat = new HeatMap(1_000)
  heat.record(0, 0, 0.001)
  heat.record(50, 0, 5)
  heat.record(950, 0, 5)
  heat.record(2_000, 0, 1e9)
  const { stepMs, edgesMs, counts } = heat.cells()
  t.equal(stepMs, 100)
  t.equal(counts.length, 10)
  t.ok(counts.every((step) => step.length === edgesMs.length - 1))
  const all = counts.flat().reduce((sum, count) => sum + count, 0)
  t.equal(all, 4)
  const band = counts[0]!.lastIndexOf(1)
  t.ok(edgesMs[band]! <= 5 && edgesMs[band + 1]! > 5)
})

test('the wait is held against that of a queue with even service', async (t) => {
  const load = { kind: 'share', share: 0.7, pattern: 'poisson', of: 'hash-10k' } as const
  const kinds = (mean: number) => ({ kinds: { 'hash-10k': { count: 1, mean, max: mean, percentiles: {} } } })
  // 200 a second are 5 ms each; at 0.7 the mean wait is 5.83 ms.
  t.ok(Math.abs(waitRatio(load, 200, kinds(5 + 5.8333))! - 1) < 0.001)
  t.ok(Math.abs(waitRatio(load, 200, kinds(5 + 2.9167))! - 0.5) < 0.001)
  t.equal(waitRatio({ kind: 'open', rate: 1, pattern: 'poisson' }, 200, kinds(5)), null)
})

test('the knee is the highest step that kept its p99', async (t) => {
  const profile = PROFILES.get('mixed') as PracticeProfile
  const step = (label: string, rate: number, p99: number, bad = 0) =>
    ({
      label,
      rate,
      drive: {
        report: { statuses: { '200': 9, ...(bad > 0 && { '503': bad }) }, errors: {} },
        kinds: { get: { percentiles: { p99 } } },
      },
    }) as unknown as PracticeResult
  const ramp = [step('10 %', 100, 2), step('50 %', 500, 9), step('70 %', 700, 9, 1), step('100 %', 1000, 40)]
  t.match(kneeText(profile, ramp), /^knee: 50 % \(500\/s\)/)
  t.match(kneeText(profile, [step('10 %', 100, 20)]), /not even the lowest/)
})

test('the profile of a trace plays the file that it is given, at its speed and to its end', async (t) => {
  const file = join(makeFolder(), 'trace.jsonl')
  const arrivals = [0, 10, 30_000].map((atMs) => ({ atMs, in: 3, out: 5 }))
  writeFileSync(file, formatArrivals(arrivals, 'mooncake'))
  const { profile } = readProfileOptions(['trace', '--arrivals', file, '--speed', '3'])!
  t.match(profile.stages, [{ loads: [{ load: { kind: 'arrivals', file, speed: 3 } }] }])
  t.ok(Math.abs(profile.stages[0]!.seconds - 10.001) < 1e-6)
})

for (const [why, args, told] of [
  ['without a file', ['trace'], /needs --arrivals/],
  ['with a file that is none', ['trace', '--arrivals', '/nowhere/at-all'], /ENOENT/],
  ['stretched', ['trace', '--arrivals', 'a', '--scale', '2'], /excludes --scale/],
  ['of something else', ['chat', '--speed', '2'], /for the profile trace, not for chat/],
] as const) {
  test(`a profile of a trace ${why} is refused`, async (t) => {
    t.throws(() => readProfileOptions(args), { message: told })
  })
}

test('a model of the mock answers as long as it is asked to', async (t) => {
  t.match(mockModel('bench/paced-asked', 7), { kind: 'paced', tokens: 7 })
  t.match(mockModel('bench/paced-64', 7), { tokens: 64 })
})
