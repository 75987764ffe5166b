/** Which model a conversation has had so far, and how a choice keeps to it. */
import type { ModelPins } from '../../routing/model-pins.js'
import type { RouteChoice } from '../port/plugin.js'
import type { RoutableRequest } from './candidates.js'

/** A choice, and every other model that could have been chosen. */
export interface OpenChoice extends RouteChoice {
  readonly eligible: ReadonlySet<string>
}

/** The model that an echoed answer of the conversation names, else the one of its session, or null. */
export function pinnedModel(
  pins: ModelPins,
  request: RoutableRequest,
  organizationId: string,
): string | null {
  const said = request.messages?.findLast(
    ({ role, model }) => role === 'assistant' && typeof model === 'string',
  )
  if (said !== undefined) return said.model as string
  const session = sessionName(request, organizationId)
  return session === null ? null : pins.find(session)
}

/** The choice with the model that the conversation has had so far first, as long as it could still be chosen. */
export function keepPinned(
  pins: ModelPins,
  { eligible, ...choice }: OpenChoice,
  request: RoutableRequest,
  organizationId: string,
): RouteChoice {
  const pinned = pinnedModel(pins, request, organizationId)
  if (pinned === null || !eligible.has(pinned)) return choice
  const others = choice.models.filter((model) => model !== pinned)
  return { ...choice, models: [pinned, ...others], reason: `${pinned} has answered before and is pinned` }
}

/** Remembers a model for the session, where the request names one. */
export function pinModel(
  pins: ModelPins,
  model: string,
  request: RoutableRequest,
  organizationId: string,
): void {
  const session = sessionName(request, organizationId)
  if (session !== null) pins.pin({ session, model })
}

/** Sessions of two organizations have nothing to do with each other. */
function sessionName({ session_id: id }: RoutableRequest, organizationId: string): string | null {
  return id === undefined || id === '' ? null : `${organizationId} ${id}`
}
