import { setTimeout as sleep } from 'node:timers/promises'
import type { HttpResponse } from '../../harness/http/connection.js'
import { Connection, ConnectionLost } from '../../harness/http/connection.js'
import { runPaced } from '../../harness/http/pacer.js'
import type { SluiceServer } from '../../harness/server/sluice-server.js'
import { callBytes, chatWithKey, MANAGEMENT_KEY } from '../../performance/gateway/calls.js'
import { sweepStats } from '../stats-body.js'
import { atLeast, exactly, figure, type Trial, type TrialContext, type TrialOutcome } from '../trial.js'
import { stageGateway } from './gateway-stage.js'

const WORKERS = 2
const PER_SECOND = 100
const CONNECTIONS = 64
const GRACE_MS = 100
/** Each state of the key lasts so long. */
const STATE_MS = 1_000

interface TimedCall {
  readonly sentAt: number
  readonly status: number
}

/** From the acknowledged change of the key to the next one. */
interface KeyPeriod {
  readonly disabled: boolean
  readonly acknowledgedAt: number
}

interface KeyDisableRound {
  readonly calls: readonly TimedCall[]
  readonly periods: readonly KeyPeriod[]
  readonly lost: number
}

async function manageRequest(
  port: number,
  method: string,
  path: string,
  body: unknown,
): Promise<HttpResponse> {
  const text = JSON.stringify(body)
  const lines = [
    `${method} ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    `Authorization: Bearer ${MANAGEMENT_KEY}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(text)}`,
  ]
  const connection = await Connection.open(port)
  try {
    return await connection.send(Buffer.from(`${lines.join('\r\n')}\r\n\r\n${text}`))
  } finally {
    connection.drop()
  }
}

async function createKey(port: number): Promise<{ hash: string; key: string }> {
  const answer = await manageRequest(port, 'POST', '/api/v1/keys', { name: 'used while it is disabled' })
  const said = answer.body.toString()
  if (answer.status !== 201) throw new Error(`a key was not created: ${answer.status} ${said.slice(0, 300)}`)
  const { data, key } = JSON.parse(said) as { data: { hash: string }; key: string }
  return { hash: data.hash, key }
}

/** Calls at a fixed rate over connections taken by turns, which reach both workers. */
async function callSteadily(
  port: number,
  request: Buffer,
  calls: TimedCall[],
  running: () => boolean,
): Promise<number> {
  const connections = await Promise.all(Array.from({ length: CONNECTIONS }, () => Connection.open(port)))
  let next = 0
  let lost = 0
  const one = async (slot: number): Promise<void> => {
    if (!connections[slot]!.usable) connections[slot] = await Connection.open(port)
    const sentAt = performance.now()
    const { status } = await connections[slot]!.send(request)
    calls.push({ sentAt, status })
  }
  const pending = new Set<Promise<void>>()
  await runPaced({ perSecond: PER_SECOND, precise: true, running }, () => {
    const slot = next++ % CONNECTIONS
    // A connection that still waits for its last answer is as good as lost at this rate.
    if (connections[slot]!.busy) {
      lost++
      return
    }
    const call = one(slot).catch((error: unknown) => {
      if (!(error instanceof ConnectionLost)) throw error
      lost++
    })
    pending.add(call)
    void call.finally(() => pending.delete(call))
  })
  await Promise.all(pending)
  for (const connection of connections) connection.drop()
  return lost
}

async function setDisabled(port: number, hash: string, disabled: boolean): Promise<KeyPeriod> {
  const answer = await manageRequest(port, 'PATCH', `/api/v1/keys/${hash}`, { disabled })
  if (answer.status !== 200) throw new Error(`the key was not changed: ${answer.status} ${answer.body}`)
  return { disabled, acknowledgedAt: performance.now() }
}

async function callWhileChanging(server: SluiceServer, turns: number): Promise<KeyDisableRound> {
  const { port } = server
  const { hash, key } = await createKey(port)
  const calls: TimedCall[] = []
  let running = true
  const periods: KeyPeriod[] = [{ disabled: false, acknowledgedAt: performance.now() }]
  const calling = callSteadily(port, callBytes(chatWithKey(key), 'bench/json'), calls, () => running)
  for (let turn = 0; turn < turns; turn++) {
    await sleep(STATE_MS)
    periods.push(await setDisabled(port, hash, turn % 2 === 0))
  }
  await sleep(STATE_MS)
  running = false
  return { calls, periods, lost: await calling }
}

/** Calls that began in a period, from `GRACE_MS` after its change was acknowledged to the next change. */
function* callsInPeriods({
  calls,
  periods,
}: KeyDisableRound): Generator<{ call: TimedCall; disabled: boolean }> {
  for (const [index, { disabled, acknowledgedAt }] of periods.entries()) {
    const from = acknowledgedAt + GRACE_MS
    // The next change is on its way before it is acknowledged: calls of that moment may meet either state.
    const to = (periods[index + 1]?.acknowledgedAt ?? Number.POSITIVE_INFINITY) - GRACE_MS
    for (const call of calls) if (call.sentAt >= from && call.sentAt < to) yield { call, disabled }
  }
}

/** The latest success of a call begun after an acknowledged disabling, milliseconds after it; 0 when there is none. */
function latestSuccess({ calls, periods }: KeyDisableRound): number {
  const after = periods.flatMap(({ disabled, acknowledgedAt }, index) => {
    const to = (periods[index + 1]?.acknowledgedAt ?? Number.POSITIVE_INFINITY) - GRACE_MS
    if (!disabled) return []
    return calls
      .filter(({ sentAt, status }) => status === 200 && sentAt > acknowledgedAt && sentAt < to)
      .map(({ sentAt }) => sentAt - acknowledgedAt)
  })
  return Math.max(0, ...after)
}

async function run(context: TrialContext): Promise<TrialOutcome> {
  const stage = await stageGateway(context, { workers: WORKERS })
  const round = await callWhileChanging(stage.server, 2 * context.rounds)
  const { workers } = await sweepStats(stage.server.port, WORKERS)
  const busiest = workers.map(({ requests }) => requests.total)
  await stage.stop()
  const all = [...callsInPeriods(round)]
  const count = (disabled: boolean, good: (status: number) => boolean): number =>
    all.filter((one) => one.disabled === disabled && good(one.call.status)).length
  const others = count(true, (status) => status !== 200 && status !== 401)
  return {
    bars: [
      exactly(
        `calls that succeeded ${GRACE_MS} ms after the key was disabled, or later`,
        count(true, (status) => status === 200),
        0,
      ),
      exactly('calls answered with neither 200 nor 401 then', others, 0),
      exactly(
        `calls that failed ${GRACE_MS} ms after it was enabled, or later`,
        count(false, (status) => status !== 200),
        0,
      ),
      atLeast(
        'calls refused (else nothing was tried)',
        count(true, (status) => status === 401),
        context.rounds,
      ),
      atLeast('requests of the less used worker', Math.min(...busiest), 10),
      exactly('calls without an answer', round.lost, 0),
    ],
    figures: [
      figure('times disabled', context.rounds),
      figure('calls', round.calls.length),
      figure('latest success of a call begun after the acknowledgement', latestSuccess(round), 'ms'),
    ],
    notes: [],
  }
}

export const gatewayKeyDisable: Trial = {
  name: 'gateway-key-disable',
  summary:
    'a key disabled and enabled while 100 calls a second use it over two workers: no success 100 ms later',
  rounds: 5,
  roundLimitS: 30,
  run,
}
