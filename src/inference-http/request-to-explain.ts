/** A chat or messages request as routing reads it, from an operation or from the command line. */
import { z } from 'zod'
import { Fault, type ValidationIssue } from '../base/fault.js'
import type { ModelEndpoint } from '../gateway/catalog/catalog.js'
import type { RoutedRequest } from '../gateway/formats/canonical.js'
import type { JsonObject } from '../gateway/formats/json-values.js'
import { nativeToolName } from '../gateway/formats/native-tools.js'
import { type RequestedTool, serverToolName } from '../gateway/formats/tooling.js'
import { producesText } from '../gateway/metering/format.js'
import { boundedString, optional } from '../http/fields.js'
import { readBySchema } from '../http/input.js'
import { nameSchema } from '../http/json-schema.js'
import { identity, loopMembers, modelId, routing, routingContradiction } from './request-members.js'
import { type LoopBody, toolingMember } from './server-tools.js'

/** A chat or a messages request; only what routing reads is looked at. */
export const RequestToExplain = nameSchema(
  'RequestToExplain',
  z.looseObject(
    optional({
      model: modelId,
      ...routing,
      ...identity,
      ...loopMembers,
      service_tier: boundedString(1, 64).nullable(),
      messages: z.array(z.looseObject({})),
      tools: z.array(z.looseObject(optional({ type: z.string() }))),
    }),
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

interface BodyToExplain extends RoutedRequest, Omit<LoopBody, 'model' | 'models'> {
  readonly providers?: RoutedRequest['provider']
  readonly tools?: readonly JsonObject[]
}

/** A request without a contradiction, and with a model; `providers` has become `provider`. */
export function checkRoutedRequest(body: BodyToExplain): RoutedRequest {
  const { providers, ...rest } = body
  const request = { ...rest, ...toolingMember(body, serverTools(body)) }
  if (request.model === undefined && (request.models?.length ?? 0) === 0) throw NO_MODEL
  const issue = routingContradiction(body)
  if (issue !== null) throw new Fault('invalid-input', { issues: [issue] })
  return providers == null ? request : { ...request, provider: providers }
}

/** Tools that name the gateway, and those with a date of the messages format, which may come to be run here. */
function serverTools({ tools = [] }: BodyToExplain): readonly RequestedTool[] {
  return tools.flatMap((tool, at): RequestedTool[] => {
    const {
      type = '',
      parameters = {},
      ...members
    } = tool as {
      readonly type?: string
      readonly parameters?: JsonObject
    }
    const own = serverToolName(type)
    const name = own ?? nativeToolName(type)
    if (name === null) return []
    // A tool with a date says its own name once more.
    const { name: _, ...said } = members as JsonObject
    const given = own === null ? said : { ...members, ...parameters }
    return [{ name, parameters: given, type, place: ['tools', at], isNative: own === null }]
  })
}

/** A request with messages wants text; of any other the body does not say what it is meant for. */
export function endpointFilterFor(request: RoutedRequest): (endpoint: ModelEndpoint) => boolean {
  return 'messages' in request ? producesText : () => true
}

const NO_MODEL = new Fault('bad-request', { note: 'The request names neither model nor models' })
