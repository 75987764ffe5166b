/** Profiles of the practice API. Durations are those of a first look; `--scale` stretches them. */
import type { PracticeProfile, PracticeStage } from './profile.js'

const RAMP = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1]

type StageMore = Partial<Omit<PracticeStage, 'label' | 'load' | 'seconds'>>

/** So many requests per second, evenly spaced. */
const open = (label: string, rate: number, seconds: number, more: StageMore = {}): PracticeStage => ({
  label,
  load: { kind: 'open', rate, pattern: 'constant' },
  seconds,
  ...more,
})

/** So many connections, each of which asks again when it has its answer. */
const closed = (connections: number, seconds: number, more: StageMore = {}): PracticeStage => ({
  label: `closed ${connections}`,
  load: { kind: 'closed', connections },
  seconds,
  ...more,
})

const NOTHING_BAD: PracticeProfile['passes'][number] = { stage: '*', figure: 'bad', max: 0 }

const capacity = (connections: number, mix?: PracticeStage['mix']): PracticeStage => ({
  ...closed(connections, 4, mix && { mix }),
  label: 'capacity',
})

const share = (of: number, pattern: 'constant' | 'poisson' = 'constant', seconds = 6): PracticeStage => ({
  label: `${Math.round(of * 100)} %${pattern === 'poisson' ? ' Poisson' : ''}`,
  load: { kind: 'share', share: of, pattern },
  seconds,
})

export const PRACTICE_PROFILES: readonly Omit<PracticeProfile, 'service'>[] = [
  {
    name: 'health',
    teaches: 'the ceiling of the generator and the floor of the loopback',
    reports: ['rate and latency at 1, 10, 64 and 256 connections', 'latency at 1,000, 5,000 and 10,000/s'],
    seedItems: 0,
    mix: { health: 1 },
    stages: [
      ...[1, 10, 64, 256].map((connections) => closed(connections, 4)),
      ...[1_000, 5_000, 10_000].map((rate) => open(`${rate}/s`, rate, 5)),
    ],
    passes: [NOTHING_BAD],
  },
  {
    name: 'read-heavy',
    teaches: 'hot keys: 95 % get with ids by Zipf 1.1, 5 % list, 10,000 items',
    reports: ['p50 and p99 by operation, constant and Poisson'],
    seedItems: 10_000,
    mix: { get: 95, list: 5 },
    stages: [capacity(64), share(0.5), share(0.7), share(0.7, 'poisson')],
    passes: [{ stage: '70 %', figure: 'p99', max: 2 }, NOTHING_BAD],
  },
  {
    name: 'write',
    teaches: 'writes, garbage and growth; as many deletes as creates, so that the store keeps its size',
    reports: ['p99 by operation', 'slope of resident memory'],
    seedItems: 20_000,
    mix: { create: 35, update: 30, delete: 35 },
    stages: [capacity(32), share(0.5, 'constant', 10), share(0.7, 'constant', 10)],
    passes: [
      { stage: '70 %', figure: 'p99', max: 30 },
      { stage: '70 %', figure: 'rssSlope', max: 20 },
      NOTHING_BAD,
    ],
  },
  {
    name: 'search',
    teaches: 'a scan of all items blocks the loop it runs on: what do the others feel?',
    reports: ['p50 of searches that find nothing, few and half', 'p99 of gets beside them'],
    seedItems: 10_000,
    mix: { 'search-none': 1, 'search-few': 1, 'search-half': 1, get: 7 },
    stages: [capacity(16), share(0.3), share(0.6, 'poisson')],
    passes: [NOTHING_BAD],
  },
  {
    name: 'cpu',
    teaches:
      'queueing at utilisations of 0.3 to 0.9 with Poisson arrivals, and whether health stays quick beside it',
    reports: ['mean wait beside that of M/D/1', 'p99 of health'],
    seedItems: 0,
    mix: { 'hash-10k': 1, health: 4 },
    stages: [
      capacity(8, { 'hash-10k': 1 }),
      ...[0.3, 0.5, 0.7, 0.9].map(
        (of): PracticeStage => ({
          label: `${Math.round(of * 100)} % Poisson`,
          load: { kind: 'share', share: of, pattern: 'poisson', of: 'hash-10k' },
          seconds: 15,
        }),
      ),
    ],
    passes: [
      { stage: '50 % Poisson', figure: 'waitRatio', min: 0.85, max: 1.15 },
      { stage: '70 % Poisson', figure: 'waitRatio', min: 0.85, max: 1.15 },
      { stage: '50 % Poisson', figure: 'p99', kind: 'health', max: 5 },
      NOTHING_BAD,
    ],
  },
  {
    name: 'slow-backend',
    teaches: 'Little’s law and the cap of connections: delays uniform over 100 to 500 ms',
    reports: ['rate and percentiles at 10, 50 and 200 connections', 'the same at 50, 100 and 500/s'],
    seedItems: 10,
    mix: { report: 1 },
    stages: [
      ...[10, 50, 200].map((connections) => closed(connections, 8, { quasi: true })),
      ...[50, 100, 500].map((rate) => open(`${rate}/s`, rate, 8, { quasi: true })),
    ],
    passes: [
      { stage: 'closed 50', figure: 'rps', min: 160, max: 170 },
      { stage: '500/s', figure: 'p50', min: 296, max: 304 },
      { stage: '500/s', figure: 'p90', min: 456, max: 464 },
      { stage: '500/s', figure: 'p99', min: 492, max: 500 },
    ],
  },
  {
    name: 'stall',
    teaches: 'what an outage of a second looks like to users, and what two short blocks a second apart do',
    reports: ['percentiles beside those that follow from the outage'],
    seedItems: 0,
    mix: { health: 1 },
    stages: [
      open('hold 1 s of 20', 200, 20, {
        faults: [{ kind: 'hold', op: 'health', afterMs: 10_000, forMs: 1_000 }],
      }),
      open('block 0.2 s of 2', 200, 10, {
        faults: [{ kind: 'block', op: '*', afterMs: 1_000, forMs: 200, everyMs: 2_000 }],
      }),
    ],
    passes: [
      { stage: 'hold 1 s of 20', figure: 'p99', min: 784, max: 816 },
      { stage: 'block 0.2 s of 2', figure: 'p99', min: 170, max: 200 },
      NOTHING_BAD,
    ],
  },
  {
    name: 'errors',
    teaches: 'accounting of failures: 1 % 503, 0.1 % reset, 1 % two seconds late',
    reports: ['failures the client counted beside the faults the server applied'],
    seedItems: 0,
    mix: { health: 1 },
    stages: [
      open('faults', 500, 10, {
        faults: [
          { kind: 'error', op: 'health', afterMs: 0, prob: 0.01, status: 503, seed: 11 },
          { kind: 'reset', op: 'health', afterMs: 0, prob: 0.001, seed: 12 },
          { kind: 'slow', op: 'health', afterMs: 0, prob: 0.01, addMs: 2_000, seed: 13 },
        ],
      }),
    ],
    passes: [{ stage: 'faults', figure: 'faultGap', min: 0, max: 0 }],
  },
  {
    name: 'mixed',
    teaches:
      'the knee: 60 get, 15 list, 10 create, 10 search, 4 report, 1 hash, from 10 to 110 % of capacity',
    reports: ['percentiles by operation at every step', 'the highest step whose gets keep a p99 of 10 ms'],
    seedItems: 10_000,
    mix: { get: 60, list: 15, create: 10, 'search-few': 10, report: 4, 'hash-1k': 1 },
    knee: { kind: 'get', p99: 10 },
    stages: [capacity(256), ...RAMP.map((of) => share(of, 'constant', 4))],
    passes: [
      { stage: '50 %', figure: 'p99', kind: 'get', max: 10 },
      { stage: '50 %', figure: 'bad', max: 0 },
    ],
  },
  {
    name: 'spike',
    teaches: 'five times the load for some seconds: how long until it is as before?',
    reports: ['time of recovery', 'greatest latency in the peak'],
    seedItems: 10_000,
    mix: { get: 95, list: 5 },
    stages: [
      capacity(64),
      { label: 'spike', load: { kind: 'spike', share: 0.2, factor: 5, peakS: 5 }, seconds: 15 },
    ],
    passes: [
      { stage: 'spike', figure: 'recoveryMs', max: 2_000 },
      { stage: 'spike', figure: 'bad', max: 0 },
    ],
  },
  {
    name: 'soak',
    teaches: 'leaks: half of the capacity for a long time (30 minutes with --scale 30)',
    reports: ['slope of resident memory', 'p99'],
    seedItems: 10_000,
    mix: { get: 80, list: 10, create: 5, delete: 5 },
    stages: [capacity(64), share(0.5, 'poisson', 60)],
    passes: [{ stage: '50 % Poisson', figure: 'rssSlope', max: 5 }, NOTHING_BAD],
  },
  {
    name: 'churn',
    teaches: 'the price of a connection: one request on each, then ten',
    reports: ['rate and latency beside kept connections'],
    seedItems: 10_000,
    mix: { get: 1 },
    stages: [
      open('kept', 1_000, 5),
      open('ten each', 1_000, 5, { requestsPerConnection: 10 }),
      open('one each', 1_000, 5, { requestsPerConnection: 1 }),
    ],
    passes: [NOTHING_BAD],
  },
  {
    name: 'idle-crowd',
    teaches: 'memory per connection: 10,000 that say nothing beside 1,000 requests a second',
    reports: ['bytes per idle connection', 'p99 beside the crowd'],
    seedItems: 10_000,
    mix: { get: 1 },
    stages: [open('alone', 1_000, 5), open('crowd', 1_000, 5, { idle: 10_000 })],
    passes: [NOTHING_BAD, { stage: 'crowd', figure: 'bytesPerIdle', max: 8_192 }],
  },
]
