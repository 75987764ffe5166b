import { Connection } from '../../harness/http/connection.js'
import {
  bodylessRequest,
  HEALTH,
  hashRequest,
  jsonRequest,
  REPORT,
  readItemRequest,
  STATS,
} from '../requests.js'
import { type StatsSweep, sumOverWorkers, sweepStats } from '../stats-body.js'
import { exactly, figure, type Trial, type TrialBar, type TrialContext, type TrialOutcome } from '../trial.js'

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

/** One lap over every operation with every kind of answer it can give. */
function requestLap(id: number): readonly CountedRequest[] {
  return [
    { operation: 'health', request: HEALTH, statuses: [200] },
    { operation: 'stats', request: STATS, statuses: [200] },
    { operation: 'list_items', request: bodylessRequest('GET', '/api/v1/items?limit=5'), statuses: [200] },
    { operation: 'list_items', request: bodylessRequest('GET', '/api/v1/items?limit=0'), statuses: [422] },
    { operation: 'create_item', request: jsonRequest('POST', '/api/v1/items', ITEM), statuses: [201] },
    {
      operation: 'create_item',
      request: jsonRequest('POST', '/api/v1/items', { price: -1 }),
      statuses: [422],
    },
    { operation: 'create_item', request: jsonRequest('POST', '/api/v1/items', '{"name":'), statuses: [422] },
    { operation: 'read_item', request: readItemRequest(id), statuses: [200, 404] },
    { operation: 'read_item', request: readItemRequest(-1), statuses: [404] },
    { operation: 'read_item', request: bodylessRequest('GET', '/api/v1/items/one'), statuses: [422] },
    {
      operation: 'update_item',
      request: jsonRequest('PUT', `/api/v1/items/${id}`, ITEM),
      statuses: [200, 404],
    },
    {
      operation: 'update_item',
      request: jsonRequest('PUT', '/api/v1/items/999999999', ITEM),
      statuses: [404],
    },
    { operation: 'update_item', request: jsonRequest('PUT', `/api/v1/items/${id}`, {}), statuses: [422] },
    {
      operation: 'delete_item',
      request: bodylessRequest('DELETE', `/api/v1/items/${id}`),
      statuses: [204, 404],
    },
    { operation: 'delete_item', request: bodylessRequest('DELETE', '/api/v1/items/x'), statuses: [422] },
    { operation: 'search_items', request: bodylessRequest('GET', '/api/v1/search?q=many'), statuses: [200] },
    { operation: 'search_items', request: bodylessRequest('GET', '/api/v1/search'), statuses: [422] },
    { operation: 'hash', request: hashRequest('counted', 10), statuses: [200] },
    { operation: 'hash', request: hashRequest('counted', 0), statuses: [422] },
    { operation: 'report', request: REPORT, statuses: [200] },
    { operation: 'report', request: bodylessRequest('GET', '/api/v1/report?items=101'), statuses: [422] },
    { operation: 'unmatched', request: bodylessRequest('GET', '/api/v1/nothing-here'), statuses: [404] },
    { operation: 'unmatched', request: bodylessRequest('PATCH', '/api/v1/items'), statuses: [405] },
    { operation: 'unmatched', request: jsonRequest('POST', '/api/v1/health', {}), statuses: [405] },
  ]
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

/** The sum over the workers may hold the reading requests that were still under way, one for each worker. */
function withReads(name: string, value: number, due: number, sweep: StatsSweep): TrialBar {
  const least = due + sweep.settled
  const most = due + sweep.asked
  return { name, value, unit: '', limit: `${least}..${most}`, met: value >= least && value <= most }
}

function compareCounts(account: ClientCounts, sweep: StatsSweep): TrialBar[] {
  const bars: TrialBar[] = []
  for (const [operation, due] of [...account.operations].sort()) {
    const name = `count of ${operation}`
    const counted = sumOverWorkers(sweep, (body) => body.operations[operation]?.count)
    bars.push(operation === 'stats' ? withReads(name, counted, due, sweep) : exactly(name, counted, due))
  }
  for (const kind of ['2xx', '3xx', '4xx', '5xx']) {
    const due = account.classes.get(kind) ?? 0
    const counted = sumOverWorkers(sweep, (body) => body.requests.by_status[kind])
    bars.push(
      kind === '2xx'
        ? withReads('answers 2xx', counted, due, sweep)
        : exactly(`answers ${kind}`, counted, due),
    )
  }
  const total = sumOverWorkers(sweep, (body) => body.requests.total)
  const counts = sumOverWorkers(sweep, (body) =>
    Object.values(body.operations).reduce((sum, row) => sum + row.count, 0),
  )
  return [
    ...bars,
    withReads('requests.total', total, account.answered, sweep),
    exactly('requests.total minus the sum of operations', total - counts, 0),
    exactly(
      'requests.aborted',
      sumOverWorkers(sweep, (body) => body.requests.aborted),
      0,
    ),
  ]
}

async function oneRound({ staging }: TrialContext): Promise<[ClientCounts, StatsSweep]> {
  const server = await staging.start({ workers: WORKERS, poolThreads: 1, seedItems: 100 })
  const account = new ClientCounts()
  await sendAll(server.port, account)
  const sweep = await sweepStats(server.port, WORKERS)
  await server.stop()
  return [account, sweep]
}

async function run(context: TrialContext): Promise<TrialOutcome> {
  const bars: TrialBar[] = []
  const notes: string[] = []
  let sweep: StatsSweep | undefined
  for (let round = 1; round <= context.rounds; round++) {
    const [account, swept] = await oneRound(context)
    sweep = swept
    const prefix = context.rounds === 1 ? '' : `round ${round}: `
    const found = [
      exactly('answers with a status the contract does not give', account.surprises.length, 0),
      ...compareCounts(account, swept),
    ]
    bars.push(...found.map((bar) => ({ ...bar, name: prefix + bar.name })))
    notes.push(...account.surprises.slice(0, 5))
    context.progress(`round ${round}/${context.rounds}: ${account.answered} requests compared`)
  }
  return {
    bars,
    figures: [
      figure('requests', REQUESTS),
      figure('stats requests to reach both workers', sweep?.asked ?? 0),
      figure('share of the busiest worker', busiestShare(sweep)),
    ],
    notes,
  }
}

function busiestShare(sweep: StatsSweep | undefined): number {
  const totals = sweep?.workers.map((body) => body.requests.total) ?? []
  return Math.max(...totals) / totals.reduce((sum, total) => sum + total, 0)
}

export const counters: Trial = {
  name: 'counters',
  summary: '20,000 requests of every kind over two workers: the sum of their counters is exactly that',
  rounds: 1,
  roundLimitS: 120,
  run,
}
