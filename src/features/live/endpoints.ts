/** `GET /api/v1/live`: what happens at this moment, as server-sent events. */
import { mapMaybe } from '../../base/maybe-promise.js'
import type { CallerAuthority, Principal } from '../../base/principal.js'
import { gateway } from '../../http/dialects/gateway.js'
import { type Endpoint, endpointGroup, type HttpCall } from '../../http/endpoint.js'
import { EVENT_STREAM_HEADERS } from '../../http/event-stream.js'
import type { People } from '../../identity/people.js'
import { reachOf } from '../../identity/reach.js'
import { type LiveScope, scopeName } from '../../telemetry/live/live-report.js'
import type { LiveReaders } from './readers.js'
import { LiveEvent } from './schema.js'

/** After so long a reader is asked to connect again. */
const DEADLINE_MS = 60 * 60 * 1000
const ACCESS = 'member'
const NAME = 'watch_live'

export interface LivePorts {
  readonly readers: LiveReaders
  readonly people: People
  /** Asked anew for every text that a reader gets. */
  readonly authority: CallerAuthority
}

const operation = endpointGroup({ tag: 'Service', dialect: gateway, access: ACCESS })

export const liveEndpoints = ({ readers, people, authority }: LivePorts): Endpoint[] => [
  operation(NAME, 'GET /api/v1/live', {
    summary: 'Watch calls as they end, with rates and latencies',
    deadlineMs: DEADLINE_MS,
    vital: true,
    replies: {
      200: {
        description:
          'Events `sample` and `call`, two of each a second at most, and a last event `end`. The operator sees all calls and the machine that answers, management keys those of their organization, members those that they may read.',
        mediaType: 'text/event-stream',
        schema: LiveEvent,
      },
    },
    faults: ['rate-limited', 'unavailable'],
    handle: async ({ caller }, call) => {
      // The head alone needs no reader.
      if (call.headOnly) return { status: 200, headers: EVENT_STREAM_HEADERS, body: '' }
      const nameOf = (of: Principal): string => scopeName(scopeOf(of, people))
      const facts = {
        scope: nameOf(caller),
        caller: caller.keyHash || caller.userId!,
        renew: () => mapMaybe(authorize(authority, call), nameOf),
      }
      const body = await readers.open(facts, (callback) => call.onAbort(callback))
      return { status: 200, headers: EVENT_STREAM_HEADERS, body }
    },
  }),
]

/** As the call itself was admitted: by its key, or by its session. */
function authorize(authority: CallerAuthority, call: HttpCall) {
  const session = { method: 'GET', header: (name: string) => call.header(name) }
  return authority.authorize(call.header('authorization'), call.header('x-api-key'), NAME, ACCESS, session)
}

/** Whose calls a caller may read, as with a single generation (contract/gateway 11.4). */
function scopeOf(caller: Principal, { roles }: People): LiveScope {
  const { organizationId, kind, operator } = caller
  if (kind === 'management') return operator ? { of: 'machine' } : { of: 'organization', organizationId }
  const { userId, workspaces } = reachOf(caller, roles)
  const withRole = (role: string): string[] =>
    [...(workspaces as ReadonlyMap<string, string>)].flatMap(([id, has]) => (has === role ? [id] : [])).sort()
  return {
    of: 'person',
    organizationId,
    userId: userId!,
    adminOf: withRole('admin'),
    memberOf: withRole('member'),
  }
}
