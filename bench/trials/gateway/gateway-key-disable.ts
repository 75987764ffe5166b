import { setTimeout as sleep } from 'node:timers/promises'
import { KeptConnections, type TimedResponse } from '../../harness/http/kept-connections.js'
import { runPacedCalls } from '../../harness/http/pacer.js'
import { AdminClient } from '../../performance/federation/trust.js'
import { callBytes, chatWithKey } from '../../performance/gateway/calls.js'
import { sweepStats } from '../stats-body.js'
import { atLeast, exactly, figure, over, type Trial } from '../trial.js'
import { stageGateway } from './gateway-stage.js'

const WORKERS = 2
const PER_SECOND = 100
const CONNECTIONS = 64
/** An answer that takes longer, as long as it takes to call on every connection once, is as good as none. */
const ANSWERED_WITHIN_MS = (1_000 * CONNECTIONS) / PER_SECOND
const GRACE_MS = 100
/** Each state of the key lasts so long. */
const STATE_MS = 1_000

type KeyDisableRound = Awaited<ReturnType<typeof callWhileChanging>>

async function callWhileChanging(port: number, turns: number) {
  const admin = new AdminClient(`http://127.0.0.1:${port}`)
  const { keyHash, key } = await admin.newKey({ name: 'used while it is disabled' })
  const request = callBytes(chatWithKey(key), 'bench/json')
  const connections = await KeptConnections.open(port, CONNECTIONS)
  const calls: TimedResponse[] = []
  let late = 0
  let running = true
  /** Each from the acknowledged change of the key to the next one. */
  const periods = [{ disabled: false, acknowledgedAt: performance.now() }]
  // The connections take turns and so reach both workers.
  const calling = runPacedCalls(
    { perSecond: PER_SECOND, precise: true, running: () => running },
    async () => {
      const answer = await connections.ask(request)
      if (answer === null) return
      calls.push(answer)
      if (performance.now() - answer.sentAt > ANSWERED_WITHIN_MS) late++
    },
  )
  for (let turn = 0; turn < turns; turn++) {
    await sleep(STATE_MS)
    const disabled = turn % 2 === 0
    await admin.requireSuccess('PATCH', `/keys/${keyHash}`, { disabled })
    periods.push({ disabled, acknowledgedAt: performance.now() })
  }
  await sleep(STATE_MS)
  running = false
  await calling
  connections.drop()
  return { calls, periods, lost: connections.lost + late }
}

/**
 * Calls that began in a period, which ends a little before the next change is acknowledged: that change is on its way
 * by then, and calls of that moment may meet either state.
 */
function callsInPeriods({ calls, periods }: KeyDisableRound) {
  return periods.flatMap(({ disabled, acknowledgedAt: from }, index) => {
    const to = (periods[index + 1]?.acknowledgedAt ?? Number.POSITIVE_INFINITY) - GRACE_MS
    const own = calls.filter(({ sentAt }) => sentAt > from && sentAt < to)
    // `afterMs`: from the acknowledged change to the sending.
    return own.map(({ sentAt, status }) => ({ status, disabled, afterMs: sentAt - from }))
  })
}

export const gatewayKeyDisable: Trial = {
  name: 'gateway-key-disable',
  summary:
    'a key disabled and enabled while 100 calls a second use it over two workers: no success 100 ms later',
  rounds: 5,
  roundLimitS: 30,
  run: async (context) => {
    const stage = await stageGateway(context, { workers: WORKERS })
    const round = await callWhileChanging(stage.server.port, 2 * context.rounds)
    const { leastRequests } = await sweepStats(stage.server.port, WORKERS)
    await stage.stop()
    const judged = callsInPeriods(round)
    const late = judged.filter(({ afterMs }) => afterMs >= GRACE_MS)
    const disabled = late.filter((call) => call.disabled).map(({ status }) => status)
    const succeeded = disabled.filter((status) => status === 200).length
    const refused = disabled.filter((status) => status === 401).length
    const failed = late.filter((call) => !call.disabled && call.status !== 200).length
    const successes = judged.filter((call) => call.disabled && call.status === 200)
    const latestSuccess = Math.max(0, over(successes).max('afterMs'))
    return {
      bars: [
        exactly(`calls that succeeded ${GRACE_MS} ms after the key was disabled, or later`, succeeded, 0),
        exactly('calls answered with neither 200 nor 401 then', disabled.length - succeeded - refused, 0),
        exactly(`calls that failed ${GRACE_MS} ms after it was enabled, or later`, failed, 0),
        atLeast('calls refused (else nothing was tried)', refused, context.rounds),
        atLeast('requests of the less used worker', leastRequests, 10),
        exactly(`calls without an answer in ${ANSWERED_WITHIN_MS} ms`, round.lost, 0),
      ],
      figures: [
        figure('times disabled', context.rounds),
        figure('calls', round.calls.length),
        figure('latest success of a call begun after the acknowledgement', latestSuccess, 'ms'),
      ],
    }
  },
}
