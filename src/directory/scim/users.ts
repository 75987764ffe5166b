/** Users as bodies of POST, PUT and PATCH say them. */
import { isDeepStrictEqual } from 'node:util'
import type { Member, ScimDocument } from '../../store/directory-store.js'
import { refusal, ScimError, type ScimType } from './errors.js'
import { applyOperations, readResource } from './operations.js'
import type { Quirks } from './quirks.js'
import type { Draft } from './values.js'

/** What a directory says of a user. The document has everything but the other three. */
export type UserFields = Pick<Member, 'userName' | 'externalId' | 'active' | 'document'>

/** The user of a POST; active unless the body says otherwise. */
export function readUser(body: unknown, quirks: Quirks): UserFields | ScimError {
  return readWith(body, true, quirks)
}

/** The user of a PUT: what the body omits is cleared, except that it stays active or inactive. */
export function replaceUser(current: UserFields, body: unknown, quirks: Quirks): UserFields | ScimError {
  const draft = readResource(body, 'User', quirks)
  if (draft instanceof ScimError) return draft
  if (draft.active === undefined) quirks.add('put-without-active')
  return unchangedOr(current, fieldsOf(draft, current.active, 'invalidValue'))
}

/** The user after a PATCH; `current` itself when nothing changed. */
export function patchUser(current: UserFields, body: unknown, quirks: Quirks): UserFields | ScimError {
  const { userName, externalId, active, document } = current
  const draft: Draft = { ...(structuredClone(document) as Draft), userName, active }
  if (externalId !== null) draft.externalId = externalId
  const refused = applyOperations(draft, body, 'User', quirks)
  // A removal of `active` says nothing of what should follow, so that nobody is let in by it.
  return refused ?? unchangedOr(current, fieldsOf(draft, active, 'mutability'))
}

function readWith(body: unknown, active: boolean, quirks: Quirks): UserFields | ScimError {
  const draft = readResource(body, 'User', quirks)
  return draft instanceof ScimError ? draft : fieldsOf(draft, active, 'invalidValue')
}

function fieldsOf(draft: Draft, active: boolean, whenNameless: ScimType): UserFields | ScimError {
  const { userName, externalId, active: said, ...document } = draft
  if (typeof userName !== 'string' || userName.trim() === '')
    return refusal(whenNameless, 'A user needs a userName.')
  return {
    userName,
    externalId: typeof externalId === 'string' ? externalId : null,
    active: typeof said === 'boolean' ? said : active,
    document: document as ScimDocument,
  }
}

function unchangedOr(current: UserFields, next: UserFields | ScimError): UserFields | ScimError {
  if (next instanceof ScimError) return next
  const { userName, externalId, active, document } = current
  return isDeepStrictEqual({ userName, externalId, active, document }, next) ? current : next
}
