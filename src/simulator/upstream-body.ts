import type { ChatRequest } from '../gateway/formats/canonical.js'

/** What a real provider of this wire format would be sent: the request without what is meant for the gateway. */
export function upstreamBody(request: ChatRequest, upstreamModel: string): unknown {
  const { models, provider, route, plugins, session_id, user, metadata, trace, debug, ...rest } = request
  return { ...rest, model: upstreamModel }
}
