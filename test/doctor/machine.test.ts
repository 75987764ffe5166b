/** Each look of the doctor at its machine, well and not. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import {
  examineFileSystem,
  examineRoom,
  examineSync,
  judgeSync,
  nearestFolder,
} from '../../src/doctor/data-folder.js'
import { look, ok } from '../../src/doctor/finding.js'
import { examineClocks, examineMachine, type MachineFigures } from '../../src/doctor/machine.js'
import { judgeSandbox, judgeSkew } from '../../src/doctor/neighbours.js'
import { examineNativeStore, examineNode } from '../../src/doctor/runtime.js'
import { fileSystemOf } from '../../src/process/file-system.js'
import { tempFolder } from '../support/data/temp-folder.js'

const GIB = 2 ** 30
const GOOD: MachineFigures = {
  ...{ platform: 'linux', kernel: '6.1.0-18-amd64', cores: 4, cpuQuota: null, memoryBytes: 8 * GIB },
  ...{ memoryLimitBytes: null, openFiles: 65_536, backlog: 4_096, clockSource: 'tsc' },
}
const AUTO = { workers: 'auto', poolThreads: 'auto', maxConnections: 'auto', bodyMemory: GIB } as const

const notOk = (machine: MachineFigures, settings: Parameters<typeof examineMachine>[1] = AUTO) =>
  examineMachine(machine, settings).filter(({ verdict }) => verdict !== 'ok')

test('a machine that lacks nothing is well', async (t) => t.same(notOk(GOOD), []))

const LACKS: readonly (readonly [string, Partial<MachineFigures>, string, string])[] = [
  ['another system', { platform: 'darwin', kernel: '23.1' }, 'kernel', 'warn'],
  ['an old kernel', { kernel: '4.14.2' }, 'kernel', 'fail'],
  ['a short backlog', { backlog: 128 }, 'backlog', 'warn'],
  ['less than a core', { cpuQuota: 0.5 }, 'cpu', 'warn'],
  ['little memory', { memoryLimitBytes: 512 * 2 ** 20 }, 'memory', 'warn'],
  ['few open files', { openFiles: 1_024 }, 'open files', 'warn'],
  ['too few open files', { openFiles: 80 }, 'open files', 'fail'],
  ['a slow clock', { clockSource: 'hpet' }, 'clock source', 'warn'],
]

for (const [about, lack, check, verdict] of LACKS) {
  test(`a machine with ${about} is told by ${check} and what to do`, async (t) => {
    const [found, ...others] = notOk({ ...GOOD, ...lack })
    t.match(found, { check, verdict, remedy: /\w/ })
    t.same(others, [])
  })
}

test('more workers than the quota gives cores are told, with the number that fits', async (t) => {
  const [found] = notOk({ ...GOOD, cpuQuota: 2 }, { ...AUTO, workers: 4 })
  t.match(found, { check: 'cpu', verdict: 'warn', remedy: /SLUICE_WORKERS to 2/ })
})

test('request bodies are counted with the memory, and the setting that fits is told', async (t) => {
  const [found, ...others] = notOk(GOOD, { ...AUTO, workers: 2, bodyMemory: 16 * GIB })
  t.match(found, { check: 'memory', verdict: 'warn', found: /may take 32768 MiB/ })
  t.match(
    found?.remedy,
    `set SLUICE_BODY_MEMORY to ${3_712 * 2 ** 20} (3712 MiB) at most, or give it 33536 MiB`,
  )
  t.same(others, [])
  t.same(notOk(GOOD, { ...AUTO, workers: 2, bodyMemory: 3_712 * 2 ** 20 }), [])
  const scarce = { ...GOOD, memoryLimitBytes: 770 * 2 ** 20 }
  t.match(notOk(scarce, { ...AUTO, workers: 2 }), [{ remedy: /set SLUICE_WORKERS lower, or give it/ }])
})

test('the native store is tried where it may be: in the second place where the first takes nothing', async (t) => {
  const folder = tempFolder(t)
  const nowhere = join(folder, 'nowhere')
  t.match(await examineNativeStore([nowhere, folder]), { verdict: 'ok' })
  t.same(readdirSync(folder), [])
  t.match(await examineNativeStore([nowhere]), {
    verdict: 'warn',
    found: `not tried: nothing can be written to ${nowhere}`,
    remedy: /volume/,
  })
})

for (const [version, glibc, verdict, remedy] of [
  ['20.20.2', '2.36', 'warn', /Node 22/],
  ['20.20.2', '2.41', 'warn', /Node 24/],
  ['22.23.3', '2.36', 'ok', null],
  ['22.23.3', '2.41', 'ok', null],
  ['24.21.0', '2.41', 'ok', null],
  ['24.21.0', '2.36', 'fail', /2\.38/],
  ['23.1.0', '2.41', 'warn', /not tested/],
  ['22.23.3', null, 'fail', /musl/],
] as const) {
  test(`Node ${version} on ${glibc === null ? 'another C library' : `glibc ${glibc}`}: ${verdict}`, async (t) => {
    const found = examineNode(version, glibc)
    t.equal(found.verdict, verdict)
    if (remedy !== null) t.match(found.remedy, remedy)
  })
}

async function clocks(wallMoves: number, begin = Date.UTC(2027, 0, 1)) {
  let now = 0
  const sleep = async (ms: number): Promise<void> => {
    now += ms
  }
  const wallMs = () => begin + now + (now > 0 ? wallMoves : 0)
  return examineClocks({ wallMs, monotonicMs: () => now, sleep })
}

test('a wall clock that is set or of long ago is told', async (t) => {
  t.equal((await clocks(0)).verdict, 'ok')
  t.match(await clocks(-3_000), { verdict: 'warn', found: /-3000 ms/ })
  t.match(await clocks(0, 0), { verdict: 'fail', found: /1970/ })
})

test('the clock of the database counts as far as the way there lets it', async (t) => {
  t.equal(judgeSkew(10_000, 9_990, 10_020).verdict, 'ok')
  t.match(judgeSkew(10_000, 14_990, 15_010), { verdict: 'warn', found: /5000 ms ahead/ })
  t.match(judgeSkew(15_000, 9_990, 10_010), { verdict: 'warn', found: /5000 ms behind/ })
  t.equal(judgeSkew(10_000, 10_000, 14_000).verdict, 'ok', 'the answer took four seconds')
})

for (const [type, verdict] of [
  [0xef53, 'ok'],
  [0x6969, 'fail'],
  [-11317950, 'fail'],
  [0x01021994, 'warn'],
  [0x794c7630, 'warn'],
  [0x65735546, 'warn'],
] as const) {
  test(`a data folder on file system ${type}: ${verdict}`, async (t) => {
    const settings = { dataDir: tempFolder(t), diskReserveBytes: 0 }
    const kindOf = (folder: string) => fileSystemOf(folder, () => ({ type }))
    const found = examineFileSystem(settings, kindOf)
    t.equal(found.verdict, verdict)
    t.equal(found.remedy === null, verdict === 'ok')
  })
}

test('room beyond the reserve is well, the reserve itself is not', async (t) => {
  const settings = { dataDir: tempFolder(t), diskReserveBytes: GIB }
  const room = (gib: number) => examineRoom(settings, () => ({ bavail: gib * 2 ** 18, bsize: 4_096 }))
  t.equal(room(9).verdict, 'ok')
  t.match(room(1.5), { verdict: 'warn', remedy: /soon/ })
  t.match(room(0.5), { verdict: 'fail', remedy: /now/ })
})

test('the disk is timed where the folder is or would be, and nothing is left there', async (t) => {
  const folder = tempFolder(t)
  const dataDir = join(folder, 'a', 'b')
  t.equal(nearestFolder(dataDir), folder)
  const settings = { dataDir, diskReserveBytes: 0 }
  t.match(await examineSync(settings), { check: 'disk sync', found: /ms for a block/ })
  t.same(readdirSync(folder), [])
  t.equal(judgeSync([1, 90, 1]).verdict, 'ok')
  t.equal(judgeSync([25, 30, 1]).verdict, 'warn')
})

test('a folder that cannot be written to is told', async (t) => {
  t.match(await examineSync({ dataDir: '/proc/sluice', diskReserveBytes: 0 }), {
    ...{ verdict: 'fail', remedy: /SLUICE_DATA_DIR/ },
  })
})

test('a machine without bubblewrap needs a remote sandbox', async (t) => {
  const missing = ['the program bwrap is missing: install bubblewrap']
  t.match(judgeSandbox(missing), { verdict: 'fail', found: /bwrap/, remedy: /remote sandbox/ })
  t.equal(judgeSandbox([]).verdict, 'ok')
})

test('a look that throws, or does not end, is a finding', async (t) => {
  const about = { check: 'it', deadlineMs: 20, remedy: 'do this' }
  t.same(await look(about, () => ok('it', 'well')), [ok('it', 'well')])
  t.match(await look(about, () => new Promise(() => {})), [{ verdict: 'fail', found: /within 0.02 s/ }])
  t.match(await look(about, () => Promise.reject(new Error('broken'))), [
    { verdict: 'fail', found: 'broken', remedy: 'do this' },
  ])
})
