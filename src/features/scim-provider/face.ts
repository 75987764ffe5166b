/** What all operations of the provisioning service have in common. */
import type { Principal } from '../../base/principal.js'
import { scimV2 } from '../../http/dialects/scim-v2.js'
import { type Endpoint, type EndpointSpec, endpointGroup, type HttpMethod } from '../../http/endpoint.js'
import type { TextFields } from '../../http/params.js'
import { VERSION_HEADERS } from './handlers.js'
import type { RequestLog } from './request-log.js'

/** Where the service stands below the server's own address. */
export const BASE_PATH = '/api/v1/scim/v2'

const BODY_BYTES = 1024 * 1024

/** Lets a call of a connection through: null at once, or a promise, which rejects with `rate-limited`. */
export type ConnectionLimit = (connectionId: string) => Promise<void> | null

type FaceSpec<P extends TextFields, Q extends TextFields, B> = Omit<
  EndpointSpec<P, Q, B>,
  'name' | 'method' | 'path' | 'tag' | 'dialect' | 'limit' | 'answered'
>

/** Defines operations: of connections, limited and logged each. Routes begin behind the base path. */
export function faceOperation(log: RequestLog, limit: ConnectionLimit) {
  const operation = endpointGroup({ tag: 'Provisioning', dialect: scimV2, access: 'connection' })
  return <B = undefined, P extends TextFields = TextFields, Q extends TextFields = TextFields>(
    name: string,
    route: `${HttpMethod} /${string}`,
    spec: FaceSpec<P, Q, B>,
  ): Endpoint => {
    const [method, path] = route.split(' ') as [HttpMethod, string]
    const whole = `${method} ${BASE_PATH}${path}` as const
    return operation<B, P, Q>(name, whole, {
      ...spec,
      bodyLimit: BODY_BYTES,
      headers: VERSION_HEADERS,
      readsAddress: true,
      limit: (call) => limit((call.admission as Principal).connectionId ?? ''),
      answered: log.answered(whole),
    })
  }
}

export type FaceOperation = ReturnType<typeof faceOperation>
