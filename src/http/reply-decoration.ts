/** What answers carry besides their own headers. */
import { mapMaybe } from '../base/maybe-promise.js'
import type { HttpCall, Reply, Route } from '../transport/exchange.js'
import type { Cors } from './cors.js'
import type { ErrorDialect } from './dialects/dialect.js'
import { personalReply } from './reply.js'

/**
 * What every answer of a route carries besides its own headers: the ids of its call, what a browser needs, and, of a
 * `personal` one, what a cache needs.
 */
export function decorateReplies(
  { requestIds }: ErrorDialect,
  cors: Cors | null,
  personal: boolean,
  route: Route,
): Route {
  if (requestIds.length === 0 && cors === null && !personal) return route
  const decorate = (reply: Reply, call: HttpCall): Reply => {
    const kept = personal ? personalReply(reply) : reply
    // Public clients read the call's id, and it finds the call in the log.
    const identified = requestIds.length === 0 ? kept : withRequestIds(kept, call, requestIds)
    return cors === null ? identified : cors.decorate(identified, call.header('origin'))
  }
  return {
    ...route,
    headers: cors === null ? route.headers : [...route.headers, 'origin'],
    admit: (call) => {
      const refusal = route.admit(call)
      if (refusal === null) return null
      return mapMaybe(refusal, (decided) => (decided === null ? null : decorate(decided, call)))
    },
    refuse: (kind, call) => decorate(route.refuse(kind, call), call),
    answer: (call) => {
      const reply = route.answer(call)
      return reply instanceof Promise ? reply.then((late) => decorate(late, call)) : decorate(reply, call)
    },
  }
}

function withRequestIds(reply: Reply, call: HttpCall, names: readonly string[]): Reply {
  const headers = [...reply.headers]
  for (const name of names) headers.push([name, call.requestId])
  return { status: reply.status, headers, body: reply.body }
}
