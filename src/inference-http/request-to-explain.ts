/** A chat or messages request as routing reads it, from an operation or from the command line. */
import { z } from 'zod'
import { Fault, type ValidationIssue } from '../base/fault.js'
import type { ModelEndpoint } from '../gateway/catalog/catalog.js'
import type { RoutedRequest } from '../gateway/formats/canonical.js'
import { producesText } from '../gateway/metering/format.js'
import { boundedString, optional } from '../http/fields.js'
import { readBySchema } from '../http/input.js'
import { nameSchema } from '../http/json-schema.js'
import { identity, modelId, routing, routingContradiction } from './request-members.js'

/** A chat or a messages request; only what routing reads is looked at. */
export const RequestToExplain = nameSchema(
  'RequestToExplain',
  z.looseObject(
    optional({ model: modelId, ...routing, ...identity, service_tier: boundedString(1, 64).nullable() }),
  ),
)

/**
 * A value of unknown shape as a request that can be explained. Throws `invalid-input` or `bad-request` for what the
 * operation would refuse.
 */
export function requestToExplain(value: unknown): RoutedRequest {
  const issues: ValidationIssue[] = []
  const request = readBySchema(RequestToExplain, value, issues)
  if (issues.length > 0) throw new Fault('invalid-input', { issues })
  return checkRoutedRequest(request as RoutedRequest)
}

/** A request without a contradiction, and with a model; `providers` has become `provider`. */
export function checkRoutedRequest(
  body: RoutedRequest & { readonly providers?: RoutedRequest['provider'] },
): RoutedRequest {
  const { providers, ...request } = body
  if (request.model === undefined && (request.models?.length ?? 0) === 0) throw NO_MODEL
  const issue = routingContradiction(body)
  if (issue !== null) throw new Fault('invalid-input', { issues: [issue] })
  return providers == null ? request : { ...request, provider: providers }
}

/** A request with messages wants text; of any other the body does not say what it is meant for. */
export function endpointFilterFor(request: RoutedRequest): (endpoint: ModelEndpoint) => boolean {
  return 'messages' in request ? producesText : () => true
}

const NO_MODEL = new Fault('bad-request', { note: 'The request names neither model nor models' })
