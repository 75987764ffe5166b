/** What the log of a connection keeps of its requests: nothing that tells of a person (contract/directory 1). */
import { type Clock, unixMs } from '../../base/clock.js'
import { newUuidV7 } from '../../base/ids.js'
import type { Principal } from '../../base/principal.js'
import type { Quirks } from '../../directory/scim/quirks.js'
import type { HttpCall, Reply } from '../../http/endpoint.js'
import type { DirectoryConnections } from '../../store/directory-store.js'
import { toldTarget } from './request-target.js'

/** Rows are written when the answer is known; until then what was noted of a call stands here. */
export class RequestLog {
  readonly #noted = new WeakMap<HttpCall, Quirks>()
  readonly #written = new WeakSet<HttpCall>()

  constructor(
    private readonly connections: Pick<DirectoryConnections, 'logRequest'>,
    private readonly clock: Clock,
  ) {}

  /** The leniencies of a call, to be added to. */
  quirksOf(call: HttpCall): Quirks {
    let quirks = this.#noted.get(call)
    if (quirks === undefined) {
      quirks = new Set()
      this.#noted.set(call, quirks)
    }
    return quirks
  }

  /** Takes the answers of one operation. `route` is its method and path, parameters in braces. */
  answered(route: string): (call: HttpCall, reply: Reply) => void {
    const [method = '', path = ''] = route.split(' ')
    return (call, reply) => {
      const { connectionId, tokenId } = call.admission as Principal
      if (connectionId === undefined || tokenId === undefined || this.#written.has(call)) return
      this.#written.add(call)
      const at = unixMs(this.clock)
      this.connections.logRequest({
        ...{ id: newUuidV7(at), at, connectionId, tokenId, method },
        target: toldTarget(path, call),
        status: reply.status,
        scimType: scimTypeOf(reply),
        quirks: [...this.quirksOf(call)],
        requestId: call.requestId,
      })
    }
  }
}

/** What was told, not what was meant. */
function scimTypeOf({ status, body }: Reply): string | null {
  if (status < 400 || typeof body !== 'string') return null
  const { scimType } = JSON.parse(body) as { scimType?: string }
  return scimType ?? null
}
