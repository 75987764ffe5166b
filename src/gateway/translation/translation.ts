/** What becomes of the parts of a request that the other format cannot say. */
import { Fault } from '../../base/fault.js'
import { rejectCall } from '../providers/port/failure.js'
import type { CallHandle, ProviderFailure } from '../providers/port/provider.js'

/** Keeps account of one request on its way into the other format. */
export class Translation {
  /** `lost` is the list of the call: names of fields, each once. */
  constructor(private readonly droppedFields: string[]) {}

  /** The field changes nothing that the caller could not do without: it is left out and named. */
  drop(field: string): void {
    if (!this.droppedFields.includes(field)) this.droppedFields.push(field)
  }

  /** Leaving the field out would change what was asked: the call ends before anything is sent. */
  refuse(field: string, why = 'cannot be carried out by this provider'): never {
    throw new Fault('bad-request', {
      note: `${field} ${why}`,
      metadata: { error_type: 'invalid_request' },
    })
  }
}

/** Runs `begin`; where it refuses, the receiver is told so in a later turn. */
export function rejectOnFault(
  receiver: { onFailure(failure: ProviderFailure): void },
  begin: () => CallHandle,
): CallHandle {
  try {
    return begin()
  } catch (error) {
    if (error instanceof Fault) return rejectCall(error, receiver)
    throw error
  }
}

type Defined<T> = { [K in keyof T]: Exclude<T[K], undefined> }

/** An object without the members that are undefined. A copy: one whose members are deleted is slow ever after. */
export function withoutUndefined<T extends object>(members: T): Defined<T> {
  const all = members as Record<string, unknown>
  const told: Record<string, unknown> = {}
  for (const name in all) if (all[name] !== undefined) told[name] = all[name]
  return told as Defined<T>
}
