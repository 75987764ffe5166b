/** Why a request would go where it would go: the plan, without calling anyone. */
import { z } from 'zod'
import { Fault, type Issue } from '../../base/fault.js'
import type { Catalog, ModelEndpoint } from '../../gateway/catalog/catalog.js'
import type { RoutedRequest } from '../../gateway/formats/canonical.js'
import { writesText } from '../../gateway/metering/format.js'
import { type Explanation, explain } from '../../gateway/routing/explain.js'
import type { Situation } from '../../gateway/routing/plan.js'
import { gateway } from '../../http/dialects/gateway.js'
import { type Endpoint, endpoint } from '../../http/endpoint.js'
import { string } from '../../http/fields.js'
import { named } from '../../http/named-schema.js'
import { json } from '../../http/reply.js'
import { validate } from '../../http/validate.js'
import { identity, modelId, routing } from '../../inference-http/request-members.js'
import { contradiction } from '../../inference-http/routing-rules.js'

export interface RoutingPorts extends Situation {
  /** The catalogue of this moment. */
  readonly catalog: () => Catalog
}

/** A chat or a messages request; only what routing reads is looked at. */
const RequestToExplain = named(
  'RequestToExplain',
  z.looseObject({
    model: modelId.exactOptional(),
    ...routing,
    ...identity,
    service_tier: string(1, 64).nullable().exactOptional(),
  }),
)

const identified = { model: z.string(), provider: z.string(), slug: z.string(), upstream_model: z.string() }
const figure = z.number().nullable()

const RoutingExplanation = named(
  'RoutingExplanation',
  z.object({
    data: z.object({
      requested: z.string(),
      total: z.int(),
      endpoints: z.array(
        z.object({
          position: z.int(),
          ...identified,
          state: z.enum(['closed', 'half-open', 'open', 'cooling']),
          price: z.number(),
          latency_ms: figure,
          tokens_per_second: figure,
          service_tier: z.string().nullable(),
          why: z.array(z.string()),
        }),
      ),
      excluded: z.array(z.object({ ...identified, why: z.string() })),
    }),
  }),
)

export const routingEndpoints = (ports: RoutingPorts): Endpoint[] => [
  endpoint({
    name: 'explain_routing',
    method: 'POST',
    path: '/api/v1/routing/explain',
    summary: 'Tell which endpoints would serve a request, in which order and why, without calling any',
    tag: 'models',
    dialect: gateway,
    access: 'management',
    body: RequestToExplain,
    replies: {
      200: { description: 'The plan, as the worker that answers sees it', schema: RoutingExplanation },
    },
    faults: ['item-not-found'],
    handle: ({ body, caller }) => {
      const request = body as RoutedRequest
      const data: Explanation = explain(ports.catalog(), agreeing(request), caller, servesFor(request), ports)
      return json(200, { data })
    },
  }),
]

/**
 * A value of unknown shape as a request that can be explained. Throws `invalid-input` or `bad-request` for what the
 * operation would refuse.
 */
export function requestToExplain(value: unknown): RoutedRequest {
  const issues: Issue[] = []
  const request = validate(RequestToExplain, value, issues)
  if (issues.length > 0) throw new Fault('invalid-input', { issues })
  return agreeing(request as RoutedRequest)
}

/** A request without a contradiction, and with a model. */
function agreeing(request: RoutedRequest): RoutedRequest {
  if (request.model === undefined && (request.models?.length ?? 0) === 0) throw NO_MODEL
  const issue = contradiction(request)
  if (issue !== null) throw new Fault('invalid-input', { issues: [issue] })
  return request
}

/** A request with messages wants text; of any other the body does not say what it is meant for. */
export function servesFor(request: RoutedRequest): (endpoint: ModelEndpoint) => boolean {
  return 'messages' in request ? writesText : () => true
}

const NO_MODEL = new Fault('bad-request', { note: 'The request names neither model nor models' })
