import { z } from 'zod'
import { type Clock, sleep } from '../../base/clock.js'
import { mapMaybe } from '../../base/maybe-promise.js'
import { practice } from '../../http/dialects/practice.js'
import { type Endpoint, endpointGroup } from '../../http/endpoint.js'
import { nameSchema } from '../../http/json-schema.js'
import { integerParam } from '../../http/params.js'
import { jsonReply, noContentReply } from '../../http/reply.js'
import type { ItemStore } from '../../store/store.js'
import type { DelayObserver, DelaySource } from './delays.js'

const operation = endpointGroup({ tag: 'Practice API', dialect: practice })

const Report = nameSchema(
  'Report',
  z.object({
    items: z.int().meta({ description: 'As many as were asked for, also when there are fewer rows' }),
    delay_ms: z.number().meta({ description: 'The delay that was drawn' }),
    generated_at: z.number().meta({ description: 'Unix time in seconds, with a fraction' }),
    rows: z.array(z.object({ id: z.int(), name: z.string(), price: z.number() })),
    total_price: z.number(),
  }),
)

type ReportRow = z.infer<typeof Report>['rows'][number]

/** The operation with a slow backend (contract/practice 4). The delay holds a timer, never a thread. */
export const reportEndpoints = (
  items: ItemStore,
  delays: DelaySource,
  clock: Clock,
  delayed?: DelayObserver,
): Endpoint[] => [
  operation('report', 'GET /api/v1/report', {
    summary: 'Report on the first items after a random delay',
    query: { items: integerParam({ minimum: 1, maximum: 100, default: 10 }) },
    replies: {
      200: {
        description: 'The report',
        schema: Report,
        headers: { 'Server-Timing': 'Time the backend took' },
      },
    },
    handle: async ({ query }, call) => {
      const delay = delays()
      const begun = clock.monotonicMs()
      // Not called off when the caller leaves: half a second of a timer is cheaper than watching every call.
      await sleep(delay, clock)
      delayed?.(call.arrivedAt, delay, clock.monotonicMs() - begun)
      if (call.aborted) return noContentReply()
      // Read before anything is waited for: the bytes are borrowed.
      const rows = await mapMaybe(items.list(0, query.items), reportRows)
      const body = {
        items: query.items,
        delay_ms: delay,
        generated_at: clock.unixSeconds(),
        rows,
        total_price: rows.reduce((total, row) => total + row.price, 0),
      }
      return jsonReply(200, body, [
        ['Server-Timing', `backend;dur=${(clock.monotonicMs() - begun).toFixed(3)}`],
      ])
    },
  }),
]

function reportRows(bytes: Uint8Array): ReportRow[] {
  const stored: ReportRow[] = JSON.parse(
    Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString(),
  )
  return stored.map(({ id, name, price }) => ({ id, name, price }))
}
