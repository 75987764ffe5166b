/** What becomes of the parts of a request that the other format cannot say. */
import { Fault } from '../../base/fault.js'
import { failingLater } from '../providers/port/failing-later.js'
import type { Flow, ProviderFailure } from '../providers/port/provider.js'

/** Keeps account of one request on its way into the other format. */
export class Crossing {
  /** `lost` is the list of the call: names of fields, each once. */
  constructor(private readonly lost: string[]) {}

  /** The field changes nothing that the caller could not do without: it is left out and named. */
  lose(field: string): void {
    if (!this.lost.includes(field)) this.lost.push(field)
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
export function unlessRefused(receiver: { failed(failure: ProviderFailure): void }, begin: () => Flow): Flow {
  try {
    return begin()
  } catch (error) {
    if (error instanceof Fault) return failingLater(error, receiver)
    throw error
  }
}

type Compact<T> = { [K in keyof T]: Exclude<T[K], undefined> }

/** An object without the members that are undefined. A copy: one whose members are deleted is slow ever after. */
export function compact<T extends object>(members: T): Compact<T> {
  const all = members as Record<string, unknown>
  const told: Record<string, unknown> = {}
  for (const name in all) if (all[name] !== undefined) told[name] = all[name]
  return told as Compact<T>
}
