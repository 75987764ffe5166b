import { CALL_NANOS, EXACT_MODEL, type FleetStage } from '../../../src/drill/fleet/stage.js'
import { medianInterval } from '../../harness/figures/statistics.js'
import { cpuMs, processTree } from '../../harness/machine/proc.js'
import { closedLoop, failedRequests } from '../load.js'
import { apiRequest } from '../requests.js'
import { createOrganization, exactEnvironment } from '../storage/ledger-stage.js'
import { atMost, exactly, figure, over, playRounds, type Trial } from '../trial.js'
import { withFleet } from './fleet-trial.js'

const CONNECTIONS = 8
const SECONDS = 3
/** Per cent. */
const MOST_MORE = 5
/** Dollars that both payers have: calls of both are held to credits. */
const CREDITS = 1_000_000

interface Side {
  readonly port: number
  readonly pid: number
  readonly request: Buffer
}

/** CPU of all its processes per call, PostgreSQL not among them, in microseconds, and the median latency in milliseconds. */
async function measure({ port, pid, request }: Side) {
  const processes = processTree(pid)
  const before = cpuMs(processes)
  const result = await closedLoop({ port, connections: CONNECTIONS, seconds: SECONDS, request })
  const cpuUs = ((cpuMs(processes) - before) * 1_000) / result.answered
  return { cpuUs, p50: result.latency.quantile(0.5), failed: failedRequests(result) }
}

const chatOf = (key: string, model: string): Buffer =>
  apiRequest(
    'POST',
    '/chat/completions',
    { model, max_tokens: 4, messages: [{ role: 'user', content: 'one call' }] },
    key,
  )

async function machineSide(stage: FleetStage): Promise<Side> {
  const payer = await stage.addPayer((CREDITS * 1e9) / CALL_NANOS)
  const [machine] = stage.fleet.machines
  return { port: machine!.port, pid: machine!.server.pid, request: chatOf(payer.key, EXACT_MODEL) }
}

export const fleetOverhead: Trial = {
  name: 'fleet-overhead',
  summary: 'chat on a machine of a fleet against an embedded machine, in paired rounds: CPU per call and p50',
  rounds: 12,
  roundLimitS: 60,
  pinned: true,
  run: (context) =>
    withFleet(context, { size: 1, pinned: true, proxied: false }, async (stage) => {
      const embedded = await context.staging.start({ environment: exactEnvironment(context.staging) })
      const { key } = await createOrganization(embedded.origin, CREDITS)
      const sides = [
        { port: embedded.port, pid: embedded.pid, request: chatOf(key, 'trial/exact') },
        await machineSide(stage),
      ] as const
      for (const side of sides) await measure(side)
      const all = await playRounds(
        context,
        async (number) => {
          // Who comes first changes with every round.
          const fleetFirst = number % 2 === 0
          const first = await measure(sides[fleetFirst ? 1 : 0])
          const second = await measure(sides[fleetFirst ? 0 : 1])
          const [alone, fleet] = fleetFirst ? [second, first] : [first, second]
          return { alone, fleet, failed: alone.failed + fleet.failed }
        },
        ({ alone, fleet }) =>
          `embedded ${alone.cpuUs.toFixed(1)} µs, ${alone.p50.toFixed(2)} ms; fleet ${fleet.cpuUs.toFixed(1)} µs, ${fleet.p50.toFixed(2)} ms`,
      )
      await embedded.stop()
      const more = (of: (side: { cpuUs: number; p50: number }) => number) =>
        medianInterval(all.map(({ alone, fleet }) => (of(fleet) / of(alone) - 1) * 100))!
      const cpu = more(({ cpuUs }) => cpuUs)
      const p50 = more((side) => side.p50)
      return {
        bars: [
          atMost('CPU per call more than embedded, upper end of the interval', cpu.high, MOST_MORE, '%'),
          atMost('p50 more than embedded, upper end of the interval', p50.high, MOST_MORE, '%'),
          exactly('calls that failed', over(all).sum('failed'), 0),
        ],
        figures: [
          figure('CPU per call more, median', cpu.median, '%'),
          figure('p50 more, median', p50.median, '%'),
          figure(
            'CPU per call embedded, median',
            over(all).median(({ alone }) => alone.cpuUs),
            'µs',
          ),
        ],
      }
    }),
}
