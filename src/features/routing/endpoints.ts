/** Why a request would go where it would go: the plan, without calling anyone. */
import { z } from 'zod'
import type { Catalog } from '../../gateway/catalog/catalog.js'
import type { RoutedRequest } from '../../gateway/formats/canonical.js'
import type { LoopExplanation } from '../../gateway/loop/explain-loop.js'
import type { Loops } from '../../gateway/loop/loops.js'
import { explainRouting, type RoutingExplanation } from '../../gateway/routing/explain.js'
import type { RoutingState } from '../../gateway/routing/plan.js'
import { gateway } from '../../http/dialects/gateway.js'
import { type Endpoint, endpointGroup } from '../../http/endpoint.js'
import { nameSchema } from '../../http/json-schema.js'
import { jsonReply } from '../../http/reply.js'
import {
  checkRoutedRequest,
  endpointFilterFor,
  RequestToExplain,
} from '../../inference-http/request-to-explain.js'

const operation = endpointGroup({ tag: 'Models and routing', dialect: gateway })

interface RoutingPorts extends RoutingState {
  /** The catalogue of this moment. */
  readonly catalog: () => Catalog
  /** What of a request would be run here. */
  readonly loops: Pick<Loops, 'explain'>
}

const identified = {
  model: z.string(),
  provider: z.string(),
  slug: z.string(),
  tag: z.string().meta({ description: 'What names it in `provider` preferences.' }),
  upstream_model: z.string(),
}
const mergePatch = z.record(z.string(), z.unknown())
/** Of a request: what it could say instead. */
const changes = z.array(
  z.object({
    says: z.string(),
    request: mergePatch.meta({ description: 'Merge patch on the request (RFC 7396).' }),
  }),
)
/** Or what would have to come about besides. */
const changesAndCircumstances = z.array(
  z.object({
    says: z.string(),
    request: mergePatch.nullable().meta({
      description: 'Merge patch on the request (RFC 7396); null for what no request can bring about.',
    }),
  }),
)
const figure = z.number().nullable()

const dollars = z.number().min(0)

const loopSchema = z
  .object({
    tools: z.array(
      z.object({
        type: z.string(),
        name: z.string(),
        backend: z.string().meta({ description: 'What would run it.' }),
        functions: z.array(z.string()).meta({ description: 'What the model would be offered.' }),
        fee: dollars.meta({ description: 'Dollars that a call is charged at most.' }),
      }),
    ),
    plugins: z.array(
      z.object({
        id: z.string(),
        unasked: z
          .boolean()
          .meta({ description: 'It runs by configuration, or for other words of the request.' }),
      }),
    ),
    route: z
      .object({ id: z.string(), reason: z.string() })
      .nullable()
      .meta({ description: 'The plugin that has chosen the model, and why.' }),
    cost: z
      .object({
        turn: dollars.meta({ description: 'Set aside for the first turn.' }),
        most_turns: z.int(),
        most_calls: z.int(),
        most_fees: dollars,
        set_aside: dollars.meta({
          description: 'If every turn were like the first and every call the dearest.',
        }),
        max_cost: dollars.nullable().meta({
          description:
            'As the request has it; the turn that crosses it, its fees and a last turn may pass it.',
        }),
        most: dollars.nullable().meta({
          description: 'null where nothing bounds it: each turn is asked what the tools gave before.',
        }),
      })
      .meta({ description: 'Dollars.' }),
  })
  .nullable()
  .meta({ description: 'Server tools and plugins that would run; null where there are none.' })

const explanationSchema = nameSchema(
  'RoutingExplanation',
  z.object({
    data: z.object({
      requested: z.string(),
      config_version: z.string(),
      total: z.int(),
      endpoints: z.array(
        z.object({
          position: z.int(),
          ...identified,
          is_byok: z.boolean().meta({ description: "Goes on the caller's own account at the provider." }),
          state: z.enum(['closed', 'half-open', 'open', 'cooling']),
          price: z.number(),
          price_version: z.string(),
          latency_ms: figure,
          tokens_per_second: figure,
          service_tier: z.string().nullable(),
          probability: figure,
          why: z.array(z.string()),
          would_change: changesAndCircumstances.meta({
            description:
              'What would have it tried first, each by itself; of the first, what would take it that place. A changed request was planned before it is told; what does not stand in a request (a price, a speed, a breaker) follows from the ranks. Empty where nothing would do alone, and beyond 24 endpoints.',
          }),
        }),
      ),
      excluded: z.array(
        z.object({
          ...identified,
          why: z.string(),
          would_change: changes.meta({ description: 'What would have it planned; tried out as well.' }),
        }),
      ),
      loop: loopSchema,
    }),
  }),
)

/** Where a request would go, and what would be run around it. */
export type RequestExplanation = RoutingExplanation & { readonly loop: LoopExplanation | null }

export const routingEndpoints = (ports: RoutingPorts): Endpoint[] => [
  operation('explain_routing', 'POST /api/v1/routing/explain', {
    summary: 'Tell which endpoints would serve a request, in which order and why, without calling any',
    access: 'management',
    keepsRecords: true,
    body: RequestToExplain,
    examples: {
      chat: {
        model: 'sim/fast',
        messages: [{ role: 'user', content: 'Say hello.' }],
        provider: { sort: 'price' },
      },
    },
    replies: {
      200: { description: 'The plan, as the worker that answers sees it', schema: explanationSchema },
    },
    faults: ['item-not-found'],
    handle: async ({ body, caller }) => {
      const asked = checkRoutedRequest(body as RoutedRequest)
      const explained = await ports.loops.explain(asked, caller)
      const request = explained?.request ?? asked
      const plan = explainRouting(ports.catalog(), request, caller, endpointFilterFor(request), ports)
      const data: RequestExplanation = { ...plan, loop: explained?.loop ?? null }
      return jsonReply(200, { data })
    },
  }),
]
