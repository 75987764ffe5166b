/** One request of a directory, as far as resources are concerned, and what becomes of its changes. */

import type { MaybePromise } from '../../base/maybe-promise.js'
import type {
  DirectoryLookup,
  DirectoryPage,
  DirectoryWrite,
  ScimDocument,
  WriteRefusal,
} from '../../store/directory-store.js'
import type { ScimActor } from '../../store/scim-store.js'
import { ScimError } from '../scim/errors.js'
import type { Quirks } from '../scim/quirks.js'
import type { ResourceName } from '../scim/schema.js'

/** Whose resources they are; connections do not see each other's. */
interface Scope {
  readonly organizationId: string
  readonly connectionId: string
}

export interface Visit {
  readonly scope: Scope
  readonly actor: ScimActor
  /** What was understood although the standard has it otherwise. */
  readonly quirks: Quirks
  /** Whether a resource of this version may be changed (RFC 7644 section 3.14). */
  readonly allows: (version: number) => boolean
  /** Whether nobody waits for the answer any more. */
  readonly isOver: () => boolean
}

interface Placed {
  readonly organizationId: string
  readonly connectionId: string | null
}

/** What all resources have. */
export interface Stored {
  readonly id: string
  readonly version: number
}

/** What can be done with resources of a kind. Refusals are values. */
export interface ResourceKind<T extends Stored = Stored> {
  readonly name: ResourceName
  /** The attribute that lists others; it is read only where it is asked for. */
  readonly list: 'groups' | 'members'
  /** Whether it is not there or another connection's, callers cannot tell. */
  read(visit: Visit, id: string): T | ScimError
  page(scope: Scope, lookup: DirectoryLookup, offset: number, limit: number): DirectoryPage<T>
  create(visit: Visit, body: unknown): Promise<T | ScimError>
  replace(visit: Visit, id: string, body: unknown): Promise<T | ScimError>
  patch(visit: Visit, id: string, body: unknown): Promise<T | ScimError>
  remove(visit: Visit, id: string): Promise<T | ScimError>
  /** The whole resource, with or without its list. */
  render(record: T, withList: boolean): MaybePromise<ScimDocument>
  /** Whether it has this member; people have none. */
  hasMember(record: T, id: string): boolean
  /** How long its list is, where that is worth knowing before it is read. */
  weigh(record: T): number
}

export const ABSENT = new ScimError(404, null, 'There is no such resource.')
const CHANGED = new ScimError(412, null, 'The resource has another version than the request names.')

/** The resource after a change, or why there is none. Throws what went wrong inside the transaction. */
export function outcomeOf<T>(
  write: DirectoryWrite<T, ScimError | Error>,
  whenTaken: ScimError | null = null,
): T | ScimError {
  if ('done' in write) return write.done
  if ('absent' in write) return ABSENT
  if ('conflict' in write) return whenTaken ?? ABSENT
  if (write.refused instanceof ScimError) return write.refused
  throw write.refused
}

/** Whether a resource that was found may be changed by a request; otherwise what the request is told. */
export function refusalOf(visit: Visit, current: Stored & Placed): ScimError | null {
  if (!isOfScope(current, visit.scope)) return ABSENT
  return visit.allows(current.version) ? null : CHANGED
}

export function isOfScope({ organizationId, connectionId }: Placed, scope: Scope): boolean {
  return organizationId === scope.organizationId && connectionId === scope.connectionId
}

/** A change as the store takes it: what it throws is carried out of the transaction, which an exception would harm. */
export function guarded<A, T extends object>(
  change: (current: A) => T | ScimError,
): (current: A) => T | WriteRefusal<ScimError | Error> {
  return (current) => {
    try {
      const changed = change(current)
      return changed instanceof ScimError ? { refused: changed } : changed
    } catch (error) {
      return { refused: error instanceof Error ? error : new Error(String(error)) }
    }
  }
}

/** A removal as the store takes it. */
export function removalCheck(visit: Visit): (current: Stored & Placed) => WriteRefusal<ScimError> | null {
  return (current) => {
    const refused = refusalOf(visit, current)
    return refused && { refused }
  }
}
