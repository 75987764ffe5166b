import { test } from 'tap'
import { judgeObservation } from '../../../src/drill/fleet/fleet-drill.js'
import type { FleetObservation, FleetScenario } from '../../../src/drill/fleet/fleet-scenario.js'
import type { FleetCall } from '../../../src/drill/fleet/load.js'

const SCENARIO: FleetScenario = {
  ...{ id: 'F99', row: 'machine-killed', name: 'a machine', about: '', lastsMs: 1_000 },
  strike: async () => () => {},
  serving: [0, 2],
  struck: 1,
}

const call = (more: Partial<FleetCall>): FleetCall => {
  return {
    machine: 0,
    sentAt: 1_500,
    endedAt: 1_510,
    status: 200,
    id: 'gen-1',
    hasRetryAfter: false,
    said: '',
    ...more,
  }
}

const judge = (more: Partial<FleetObservation>, scenario: Partial<FleetScenario> = {}) =>
  judgeObservation(
    { ...SCENARIO, ...scenario },
    {
      calls: [call({})],
      outage: { from: 1_000, to: 2_000 },
      recoveryMs: 10,
      meanwhile: [],
      books: [],
      ...more,
    },
  ).map(({ severity, sentence }) => `${severity}: ${sentence}`)

test('all is well', async (t) => {
  t.strictSame(judge({}), [])
  const refusal = call({ machine: 1, status: 503, hasRetryAfter: true, said: 'busy' })
  t.strictSame(
    judge({ calls: [refusal, call({ machine: 1, status: 0 })] }),
    [],
    'the struck machine may refuse and break off',
  )
})

test('machines that have to serve', async (t) => {
  const refusal = call({ machine: 2, status: 503, hasRetryAfter: true, said: 'busy' })
  t.strictSame(judge({ calls: [refusal] }), [
    'outcome: 1 calls were not served by machines that had to: 503 of machine 3 (1); the first said busy',
  ])
  t.strictSame(judge({ calls: [{ ...refusal, sentAt: 2_100, endedAt: 2_110 }] }), [], 'afterwards they may')
})

test('what no machine may answer', async (t) => {
  t.strictSame(judge({ calls: [call({ machine: 1, status: 500 })] }), [
    'outcome: calls came to nothing: 500 of machine 2 (1)',
  ])
  t.strictSame(judge({ calls: [call({ machine: 1, status: 402 })] }), [
    'harm: 1 calls were answered with 402, and there were credits',
  ])
  t.strictSame(judge({ calls: [call({ machine: 1, status: 503 })] }), [
    'truth: 1 answers of 503 did not say when to come again',
  ])
  const lost = call({ machine: 0, status: 0, sentAt: 2_500, endedAt: 2_600 })
  t.strictSame(judge({ calls: [lost] }), ['outcome: calls came to nothing: none of machine 1 (1)'])
  t.strictSame(judge({ calls: [lost] }, { breaksAll: true }), [])
})

test('who is left waiting', async (t) => {
  const late = call({ endedAt: 7_500 })
  t.strictSame(judge({ calls: [late] }), ['harm: 1 calls took longer than 4500 ms, up to 6000'])
  t.strictSame(
    judge({ calls: [{ ...late, machine: 1 }] }),
    [],
    'calls of a machine that stands still wait with it',
  )
})

test('how it comes back', async (t) => {
  t.strictSame(judge({ recoveryMs: 5_001 }), ['outcome: all machines served again 5001 ms after it was over'])
  t.strictSame(judge({ recoveryMs: null }), ['harm: not all machines served again within 30 s'])
})

test('books and what was asked meanwhile', async (t) => {
  t.strictSame(judge({ books: ['a'], meanwhile: ['b'] }), ['harm: a', 'outcome: b'])
})
