/** Whose files a call is about. */
import { Fault, ValidationIssue } from '../../base/fault.js'
import type { Principal } from '../../base/principal.js'
import type { FieldValues } from '../../http/params.js'
import type { AccountStore } from '../../store/account-store.js'
import type { FileRecord, FileStore } from '../../store/file-store.js'
import type { SCOPE_QUERY } from './query.js'

const OTHER_WORKSPACE = new Fault('forbidden', { note: 'The key does not belong to this workspace' })
/** Keys of callers for providers are not kept by this server, so nobody has one. */
const NO_OWN_KEY = new Fault('invalid-input', {
  issues: [
    new ValidationIssue(
      ['query', 'provider'],
      'other',
      undefined,
      'needs a key of your own for this provider',
    ),
  ],
})
const NOT_FOUND = new Fault('item-not-found')

/**
 * The workspace that was asked for, or the caller's default one: a management key's is the organization's first.
 * Fails with `forbidden` when the key cannot act there; what other organizations have is not told from what is not.
 */
export function workspaceOf(
  caller: Principal,
  { workspace_id: asked, provider }: FieldValues<typeof SCOPE_QUERY>,
  accounts: AccountStore,
): string {
  const { workspaceId: own, organizationId } = caller
  if (asked !== null && asked !== own) {
    const isOwn = own === null && accounts.workspace(asked)?.organizationId === organizationId
    if (!isOwn) throw OTHER_WORKSPACE
  }
  if (provider !== null) throw NO_OWN_KEY
  const workspace = asked ?? own ?? accounts.workspacesOf(organizationId)[0]?.id
  if (workspace === undefined) throw OTHER_WORKSPACE
  return workspace
}

/** Fails with `item-not-found` also when the file lies in another workspace. */
export function findFileIn(workspaceId: string, id: string, files: FileStore): FileRecord {
  const file = files.file(id)
  if (file === null || file.workspaceId !== workspaceId) throw NOT_FOUND
  return file
}
