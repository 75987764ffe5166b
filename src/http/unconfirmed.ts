/**
 * The answer to a change that stands and that not all machines have confirmed (contract/fleet 3.4): 202, and it names
 * them. This happens only where machines go on serving without the store.
 */
import type { AccessLevel } from '../base/access.js'
import { collectUnconfirmed } from '../base/unconfirmed-changes.js'
import type { HttpCall, Reply, Route } from '../transport/exchange.js'
import type { Endpoint, ReplyDoc } from './endpoint.js'

/** Whether an operation may change keys, policies, people, groups or organizations: what barriers are for. */
export function changesManagedRecords({
  method,
  access = 'anyone',
  keepsRecords = false,
}: Endpoint): boolean {
  return method !== 'GET' && !keepsRecords && !UNMANAGED.includes(access)
}

const UNMANAGED: readonly AccessLevel[] = ['anyone', 'key', 'own-key', 'caller']

/** The answer below, for the document. */
export const UNCONFIRMED_REPLY: ReplyDoc = {
  description:
    'As the answer otherwise, and the change stands; the machines named have not confirmed it, and serve without the database by what they had',
  schema: {
    type: 'object',
    properties: { unconfirmed_machines: { type: 'array', items: { type: 'string' }, minItems: 1 } },
    required: ['unconfirmed_machines'],
  },
}

/** As `answer`, and what has succeeded says who has not confirmed it. */
export function withUnconfirmed(answer: Route['answer'], mediaType = 'application/json'): Route['answer'] {
  return async (call: HttpCall) => {
    const { result: reply, machines } = await collectUnconfirmed(async () => answer(call))
    return isDone(reply) && machines.length > 0 ? acceptedReply(reply, machines, mediaType) : reply
  }
}

function isDone({ status }: Reply): boolean {
  return status >= 200 && status < 300
}

/** The body of the answer is kept: it may hold a key that is told only now. */
function acceptedReply({ headers, body }: Reply, names: readonly string[], mediaType: string): Reply {
  const member = `"unconfirmed_machines":${JSON.stringify(names)}`
  if (body === null) {
    return { status: 202, headers: [...headers, ['Content-Type', mediaType]], body: `{${member}}` }
  }
  const isObject = typeof body === 'string' && /^\{.*[^{]\}$/s.test(body)
  return { status: 202, headers, body: isObject ? `${body.slice(0, -1)},${member}}` : body }
}
