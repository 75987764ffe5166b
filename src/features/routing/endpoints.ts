/** Why a request would go where it would go: the plan, without calling anyone. */
import { z } from 'zod'
import type { Catalog } from '../../gateway/catalog/catalog.js'
import type { RoutedRequest } from '../../gateway/formats/canonical.js'
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
}

const identified = { model: z.string(), provider: z.string(), slug: z.string(), upstream_model: z.string() }
const figure = z.number().nullable()

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
          state: z.enum(['closed', 'half-open', 'open', 'cooling']),
          price: z.number(),
          price_version: z.string(),
          latency_ms: figure,
          tokens_per_second: figure,
          service_tier: z.string().nullable(),
          probability: figure,
          why: z.array(z.string()),
        }),
      ),
      excluded: z.array(z.object({ ...identified, why: z.string() })),
    }),
  }),
)

export const routingEndpoints = (ports: RoutingPorts): Endpoint[] => [
  operation('explain_routing', 'POST /api/v1/routing/explain', {
    summary: 'Tell which endpoints would serve a request, in which order and why, without calling any',
    access: 'management',
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
    handle: ({ body, caller }) => {
      const request = body as RoutedRequest
      const data: RoutingExplanation = explainRouting(
        ports.catalog(),
        checkRoutedRequest(request),
        caller,
        endpointFilterFor(request),
        ports,
      )
      return jsonReply(200, { data })
    },
  }),
]
