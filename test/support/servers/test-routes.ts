/** Routes made by hand, without the pipeline, and a ledger of what the transport tells them. */
import type { FaultKind } from '../../../src/base/fault.js'
import type { Reply, Route } from '../../../src/transport/exchange.js'
import { eventually } from '../timing/eventually.js'

/** One call of `settled`. */
interface Settlement {
  /** Method and path pattern of the route. */
  readonly route: string
  readonly status: number
  readonly bytesIn: number
  readonly bytesOut: number
  readonly aborted: boolean
}

/** Counts arrivals and ends. */
export class Ledger {
  arrived = 0
  readonly settlements: Settlement[] = []

  /** Calls that have arrived and have not ended. Below zero when one ended twice. */
  get open(): number {
    return this.arrived - this.settlements.length
  }

  get last(): Settlement | undefined {
    return this.settlements.at(-1)
  }

  /** Resolves when everything that has arrived has ended, at least `count` calls. */
  balanced(count = 1, deadlineMs = 5_000): Promise<true> {
    return eventually((): true => {
      if (this.open === 0 && this.arrived >= count) return true
      throw new Error(`${this.arrived} arrived, ${this.settlements.length} settled`)
    }, deadlineMs)
  }
}

const STATUS: Partial<Record<FaultKind, number>> = {
  'bad-request': 400,
  'request-timeout': 408,
  'payload-too-large': 413,
  'deadline-exceeded': 504,
}

/** A JSON reply. */
export function jsonReply(status: number, value: unknown): Reply {
  return { status, headers: [['Content-Type', 'application/json']], body: JSON.stringify(value) }
}

/** What the test routes say when the transport finds a fault. */
const faultReply = (kind: FaultKind): Reply => jsonReply(STATUS[kind] ?? 500, { fault: kind })

export const NO_CONTENT: Reply = { status: 204, headers: [], body: null }

/**
 * A route with the defaults of a small read: 1 000 bytes of body at most, nothing read, 5 s.
 * `answer` comes from the test; everything else can be overridden.
 */
export function testRoute(
  ledger: Ledger,
  method: string,
  path: string,
  answer: Route['answer'],
  overrides: Partial<Route> = {},
): Route {
  return {
    method,
    path,
    bodyLimit: 1_000,
    readsBody: false,
    readsQuery: false,
    readsAddress: false,
    headers: [],
    deadlineMs: 5_000,
    onArrival: () => {
      ledger.arrived++
    },
    admit: () => null,
    answer,
    refuse: faultReply,
    onSettled: (_arrivedAt, status, bytesIn, bytesOut, aborted) => {
      ledger.settlements.push({ route: `${method} ${path}`, status, bytesIn, bytesOut, aborted })
    },
    ...overrides,
  }
}
