import { Connection } from '../../harness/http/connection.js'
import type { RequestSpec } from '../../harness/http/requests.js'
import { apiRequest } from '../requests.js'
import { type StatsSweep, sweepStats } from '../stats-body.js'
import { exactly, figure, over, playRounds, type Trial, type TrialBar } from '../trial.js'

const WORKERS = 2
const REQUESTS = 20_000
const LANES = 32
/** Requests on one connection vary from 1 to this, so that both fresh and kept connections are counted. */
const LONGEST_CONNECTION = 24

interface CountedRequest {
  readonly operation: string
  readonly request: Buffer
  /** Statuses the step may have: items are created and deleted all the time. */
  readonly statuses: readonly number[]
}

const ITEM = { name: 'counted', description: 'one of many', price: 2.5 }

type LapStep = readonly [
  operation: string,
  statuses: readonly number[],
  method: RequestSpec['method'],
  path: string,
  body?: unknown,
]

/** One lap over every operation with every kind of answer it can give. */
function requestLap(id: number): readonly CountedRequest[] {
  const steps: readonly LapStep[] = [
    ['health', [200], 'GET', '/health'],
    ['stats', [200], 'GET', '/stats'],
    ['list_items', [200], 'GET', '/items?limit=5'],
    ['list_items', [422], 'GET', '/items?limit=0'],
    ['create_item', [201], 'POST', '/items', ITEM],
    ['create_item', [422], 'POST', '/items', { price: -1 }],
    ['create_item', [422], 'POST', '/items', '{"name":'],
    ['read_item', [200, 404], 'GET', `/items/${id}`],
    ['read_item', [404], 'GET', '/items/-1'],
    ['read_item', [422], 'GET', '/items/one'],
    ['update_item', [200, 404], 'PUT', `/items/${id}`, ITEM],
    ['update_item', [404], 'PUT', '/items/999999999', ITEM],
    ['update_item', [422], 'PUT', `/items/${id}`, {}],
    ['delete_item', [204, 404], 'DELETE', `/items/${id}`],
    ['delete_item', [422], 'DELETE', '/items/x'],
    ['search_items', [200], 'GET', '/search?q=many'],
    ['search_items', [422], 'GET', '/search'],
    ['hash', [200], 'POST', '/hash', { data: 'counted', rounds: 10 }],
    ['hash', [422], 'POST', '/hash', { data: 'counted', rounds: 0 }],
    ['report', [200], 'GET', '/report'],
    ['report', [422], 'GET', '/report?items=101'],
    ['unmatched', [404], 'GET', '/nothing-here'],
    ['unmatched', [405], 'PATCH', '/items'],
    ['unmatched', [405], 'POST', '/health', {}],
  ]
  return steps.map(([operation, statuses, method, path, body]) => ({
    operation,
    statuses,
    request: apiRequest(method, path, body),
  }))
}

/** What the client knows: requests by operation and answers by status class. */
class ClientCounts {
  readonly operations = new Map<string, number>()
  readonly classes = new Map<string, number>()
  readonly surprises: string[] = []
  answered = 0

  book(step: CountedRequest, status: number): void {
    const kind = `${Math.floor(status / 100)}xx`
    this.answered++
    this.operations.set(step.operation, (this.operations.get(step.operation) ?? 0) + 1)
    this.classes.set(kind, (this.classes.get(kind) ?? 0) + 1)
    if (!step.statuses.includes(status)) this.surprises.push(`${step.operation} was answered with ${status}`)
  }
}

/** Sends exactly REQUESTS requests over many short connections. Faults: ConnectionLost when one is not answered. */
async function sendAll(port: number, account: ClientCounts): Promise<void> {
  let next = 0
  const lane = async (index: number): Promise<void> => {
    for (let turn = index; next < REQUESTS; turn++) {
      const connection = await Connection.open(port)
      for (
        let left = 1 + (turn % LONGEST_CONNECTION);
        left > 0 && next < REQUESTS && connection.usable;
        left--
      ) {
        const steps = requestLap(1 + (next % 400))
        const step = steps[next++ % steps.length]!
        account.book(step, (await connection.send(step.request)).status)
      }
      connection.drop()
    }
  }
  await Promise.all(Array.from({ length: LANES }, (_, index) => lane(index)))
}

/** Sums over the workers, held against what the client knows. */
function compareCounts(account: ClientCounts, sweep: StatsSweep): TrialBar[] {
  // Sums that hold the stats requests may lack those that were still under way, one for each worker.
  const withReads = (name: string, value: number, due: number): TrialBar => {
    const [least, most] = [due + sweep.settled, due + sweep.asked]
    return { name, value, unit: '', limit: `${least}..${most}`, met: value >= least && value <= most }
  }
  const { sum } = over(sweep.workers)
  const total = sum(({ requests }) => requests.total)
  const ofOperations = sum((body) =>
    Object.values(body.operations).reduce((count, row) => count + row.count, 0),
  )
  const aborted = sum(({ requests }) => requests.aborted)
  return [
    ...[...account.operations].sort().map(([operation, due]) => {
      const counted = sum(({ operations }) => operations[operation]?.count ?? 0)
      return (operation === 'stats' ? withReads : exactly)(`count of ${operation}`, counted, due)
    }),
    ...['2xx', '3xx', '4xx', '5xx'].map((kind) => {
      const counted = sum(({ requests }) => requests.by_status[kind] ?? 0)
      return (kind === '2xx' ? withReads : exactly)(
        `answers ${kind}`,
        counted,
        account.classes.get(kind) ?? 0,
      )
    }),
    withReads('requests.total', total, account.answered),
    exactly('requests.total minus the sum of operations', total - ofOperations, 0),
    exactly('requests.aborted', aborted, 0),
  ]
}

function busiestShare({ workers }: StatsSweep): number {
  const totals = workers.map((body) => body.requests.total)
  return Math.max(...totals) / totals.reduce((sum, total) => sum + total, 0)
}

export const counters: Trial = {
  name: 'counters',
  summary: '20,000 requests of every kind over two workers: the sum of their counters is exactly that',
  rounds: 1,
  roundLimitS: 120,
  run: async (context) => {
    const play = async () => {
      const server = await context.staging.start({ workers: WORKERS, seedItems: 100 })
      const account = new ClientCounts()
      await sendAll(server.port, account)
      const sweep = await sweepStats(server.port, WORKERS)
      await server.stop()
      return { account, sweep }
    }
    const all = await playRounds(context, play, ({ account }) => `${account.answered} requests compared`)
    const bars = all.flatMap(({ account, sweep }, index) => {
      const surprises = account.surprises.length
      const found = [
        exactly('answers with a status the contract does not give', surprises, 0),
        ...compareCounts(account, sweep),
      ]
      const prefix = all.length === 1 ? '' : `round ${index + 1}: `
      return found.map((bar) => ({ ...bar, name: prefix + bar.name }))
    })
    const { sweep } = all.at(-1)!
    return {
      bars,
      figures: [
        figure('requests', REQUESTS),
        figure('stats requests to reach both workers', sweep.asked),
        figure('share of the busiest worker', busiestShare(sweep)),
      ],
      notes: all.flatMap(({ account }) => account.surprises.slice(0, 5)),
    }
  },
}
