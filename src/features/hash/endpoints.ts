import { z } from 'zod'
import type { Principal } from '../../base/principal.js'
import { practice } from '../../http/dialects/practice.js'
import { type Endpoint, endpointGroup, type HttpCall } from '../../http/endpoint.js'
import { boundedInteger, boundedString } from '../../http/fields.js'
import { nameSchema } from '../../http/json-schema.js'
import { jsonReply } from '../../http/reply.js'

const operation = endpointGroup({ tag: 'Practice API', dialect: practice })

/** Derives a key off the event loop. Fails with `unavailable` when too much work waits, most of all the caller's. */
export type DeriveKey = (
  data: string,
  rounds: number,
  caller: Principal,
  call: Pick<HttpCall, 'address' | 'onAbort'>,
) => Promise<{ readonly hash: string; readonly elapsedMs: number; readonly waitMs: number }>

const HashIn = nameSchema(
  'HashIn',
  z.object({ data: boundedString(0, 1000), rounds: boundedInteger(1, 200_000).default(10_000) }),
)

const HashOut = nameSchema(
  'HashOut',
  z.object({
    hash: z.string().meta({ description: 'PBKDF2-HMAC-SHA-256, 32 bytes, lower-case hex' }),
    rounds: z.int(),
    elapsed_ms: z.number().meta({ description: 'Time spent deriving in the pool thread' }),
  }),
)

/** The CPU-bound operation (contract/practice 4). */
export const hashEndpoints = (derive: DeriveKey): Endpoint[] => [
  operation('hash', 'POST /api/v1/hash', {
    summary: 'Derive a key with PBKDF2 in the CPU pool',
    body: HashIn,
    examples: { quick: { data: 'x', rounds: 10_000 } },
    readsAddress: true,
    replies: {
      200: {
        description: 'The derived key',
        schema: HashOut,
        headers: { 'Server-Timing': 'Time in the queue and in the derivation' },
      },
    },
    faults: ['unavailable'],
    // No async function: a refusal then stays in the turn it was made in, which is half its cost.
    handle: ({ body: { data, rounds }, caller }, call) =>
      derive(data, rounds, caller, call).then(({ hash, elapsedMs, waitMs }) => {
        const timing = `queue;dur=${waitMs.toFixed(3)}, pbkdf2;dur=${elapsedMs.toFixed(3)}`
        return jsonReply(200, { hash, rounds, elapsed_ms: elapsedMs }, [['Server-Timing', timing]])
      }),
  }),
]
