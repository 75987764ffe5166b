/** A native server with one event stream under test, and producers that write numbered events into it. */
import type { Test } from 'tap'
import type { ResponseSink, StreamResponseBody } from '../../../src/transport/exchange.js'
import type { UwsOptions } from '../../../src/transport/uws.js'
import type { RawConnection } from '../clients/raw-http.js'
import { eventually } from '../timing/eventually.js'
import { connected, startEdge, type TestEdge } from './native-edge.js'
import { Ledger, testRoute } from './test-routes.js'

export const FILLER = ': filler\n\n'
export const LAST_WORDS = 'event: error\ndata: cut\n\n'

/** What the stream under test does with its sink, and what it was told. */
export interface Producer {
  readonly sink: ResponseSink
  gone: number
  drains: number
}

interface StreamBench extends TestEdge {
  readonly ledger: Ledger
  readonly producers: Producer[]
}

interface StreamPlan {
  readonly start: (producer: Producer) => void
  readonly filler?: string
  readonly lastWords?: string
  readonly deadlineMs?: number
  readonly late?: boolean
  readonly options?: Partial<UwsOptions>
}

/** Serves the stream as `/stream`, and `/ping`, until the test ends. */
export async function streamBench(t: Test, plan: StreamPlan): Promise<StreamBench> {
  const { start, filler = FILLER, lastWords = LAST_WORDS, deadlineMs = 30_000, late = false } = plan
  const ledger = new Ledger()
  const producers: Producer[] = []
  const body: StreamResponseBody = {
    heartbeat: filler,
    padding: filler,
    closingFrame: lastWords,
    start: (sink) => {
      const producer: Producer = { sink, gone: 0, drains: 0 }
      producers.push(producer)
      sink.onAbort(() => producer.gone++)
      start(producer)
    },
  }
  const reply = { status: 200, headers: [['Content-Type', 'text/event-stream']] as const, body }
  const answer = () =>
    late ? new Promise<typeof reply>((resolve) => setImmediate(() => resolve(reply))) : reply
  const routes = [
    testRoute(ledger, 'GET', '/stream', answer, { deadlineMs }),
    testRoute(ledger, 'GET', '/ping', () => ({ status: 200, headers: [], body: 'pong' })),
  ]
  return { ...(await startEdge(t, routes, plan.options)), ledger, producers }
}

/** Asks for the stream; resolves when its producer has started. */
export async function listening(t: Test, all: StreamBench): Promise<RawConnection> {
  const count = all.producers.length
  const connection = await connected(t, all.port, { target: '/stream' })
  await eventually(() => all.producers.length > count)
  return connection
}

/** One event of about so many bytes that tells its number. */
export function event(n: number, bytes = 16_000): string {
  return `data: ${String(n).padStart(8, '0')} ${'x'.repeat(bytes)}\n\n`
}

/** Numbers of the events in the order in which they arrived; throws on anything else that is not filler. */
export function numbers(text: string): number[] {
  return text
    .split('\n\n')
    .filter((part) => part !== '' && `${part}\n\n` !== FILLER)
    .map((part) => {
      const found = /^data: (\d{8}) x*$/.exec(part)
      if (found === null) throw new Error(`between events: ${JSON.stringify(part.slice(0, 100))}`)
      return Number(found[1])
    })
}

/** What a producer was told. */
export interface Told {
  refusals: number
}

/** Writes `count` events, stops at every refusal, and goes on when told to (`pace` says how soon). */
export function produce(count: number, bytes: number, told: Told, pace: (go: () => void) => void) {
  return (producer: Producer): void => {
    const { sink } = producer
    let n = 0
    const go = (): void => {
      while (n < count) {
        if (sink.write(event(n++, bytes))) continue
        told.refusals++
        return
      }
      sink.end()
    }
    sink.onDrain(() => {
      producer.drains++
      pace(go)
    })
    go()
  }
}
