/** Which files a call is about: its query (contract/gateway 8), and what the caller may see. */
import { Fault, invalidInput } from '../../base/fault.js'
import type { Principal } from '../../base/principal.js'
import {
  choiceParam,
  type FieldValues,
  integerParam,
  optionalUuidParam,
  parsedParam,
  type TextField,
} from '../../http/params.js'
import type { AccountStore } from '../../store/account-store.js'
import type { FileListQuery } from '../../store/file-store.js'

const FILE_ID = /^[\w-]{1,256}$/

/** A place in a list. It need not exist any more. */
function fileIdText(description: string): TextField<string | null> {
  const schema = { type: 'string', pattern: FILE_ID.source, description }
  return parsedParam(schema, null, 'must be the id of a file', (text) => (FILE_ID.test(text) ? text : null))
}

/** Whose files: every operation takes these. */
export const SCOPE_QUERY = {
  workspace_id: optionalUuidParam('Workspace of the files; the caller’s default one when absent.'),
  provider: choiceParam(
    ['openai', 'anthropic'],
    null,
    'Files that lie with this provider, with a key of your own for it.',
  ),
}

export const LIST_QUERY = {
  ...SCOPE_QUERY,
  limit: integerParam({ min: 1, max: 1000, default: 100, description: 'Most files of the answer.' }),
  order: choiceParam(['asc', 'desc'], 'desc', 'By time of creation; newest first when absent.'),
  cursor: fileIdText('As `after`.'),
  after: fileIdText('Only files that follow this one in the list.'),
  after_id: fileIdText('As `after`.'),
  before_id: fileIdText('Only files that stand before this one in the list.'),
}

/** Fails when the places contradict each other. */
export function fileListQuery(query: FieldValues<typeof LIST_QUERY>): FileListQuery {
  const { cursor, after, after_id, before_id, order, limit } = query
  const given = [cursor, after, after_id, before_id].filter((place) => place !== null)
  if (new Set(given).size > 1 || (before_id !== null && given.length > 1)) {
    const note = 'must not be combined with another place in the list'
    const name = before_id !== null ? 'before_id' : 'after'
    throw invalidInput(['query', name], note)
  }
  return { newestFirst: order === 'desc', after: cursor ?? after ?? after_id, before: before_id, limit }
}

const OTHER_WORKSPACE = new Fault('forbidden', { note: 'The key does not belong to this workspace' })
/** Keys of callers for providers are not kept by this server, so no caller has one. */
const NO_OWN_KEY = invalidInput(['query', 'provider'], 'needs a key of your own for this provider')

/**
 * The workspace that was asked for, or the caller's default one: a management key's is the organization's first.
 * Fails with `forbidden` when the key cannot act there; what other organizations have is not told from what is not.
 */
export function resolveWorkspace(
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
