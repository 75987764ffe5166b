import { Fault, invalidInput } from '../../base/fault.js'
import { mapMaybe } from '../../base/maybe-promise.js'
import type { Principal } from '../../base/principal.js'
import type { Catalog } from '../../gateway/catalog/catalog.js'
import { FILE_PROVIDERS, ownFileAccount } from '../../gateway/files/own-account.js'
import { gateway } from '../../http/dialects/gateway.js'
import { type Endpoint, endpointGroup, type HttpCall } from '../../http/endpoint.js'
import {
  choiceParam,
  type FieldValues,
  idParam,
  integerParam,
  optionalUuidParam,
  parsedParam,
  type TextField,
} from '../../http/params.js'
import { jsonReply } from '../../http/reply.js'
import type { OwnProviderKey } from '../../identity/provider-keys.js'
import type { AccountStore } from '../../store/account-store.js'
import type { FileListQuery, FileStore } from '../../store/file-store.js'
import type { Spool } from '../../store/spool.js'
import { accountFilePlace } from './account-files.js'
import { DOWNLOAD_HEADERS } from './download.js'
import { keptFiles } from './kept-files.js'
import type { FilePlace } from './place.js'
import {
  DeletedFile,
  ENCODING_HEADERS,
  FileAnswer,
  FileListAnswer,
  fileEncodingFor,
  UPLOAD_FORM,
} from './schema.js'

const operation = endpointGroup({ tag: 'Files', dialect: gateway, access: 'own-key' })

export interface FilePorts {
  readonly files: FileStore
  readonly accounts: AccountStore
  /** What callers have of keys with providers, for files that lie there. */
  readonly keysOf: (caller: Principal) => readonly OwnProviderKey[]
  readonly catalog: () => Catalog
  /** For uploads on their way to a provider. */
  readonly spool: Spool
  /** Most bytes of a file. */
  readonly fileBytes: number
  /** Most time for an upload or a download. */
  readonly deadlineMs: number
}

/** What a form adds to its file. */
const FORM_BYTES = 1024 * 1024
const PATH = '/api/v1/files'
const FileId = { file_id: idParam('Id of the file.') }

const FILE_ID = /^[\w-]{1,256}$/

/** A place in a list. It need not exist any more. */
function fileIdText(description: string): TextField<string | null> {
  const schema = { type: 'string', pattern: FILE_ID.source, description }
  return parsedParam(schema, null, 'must be the id of a file', (text) => (FILE_ID.test(text) ? text : null))
}

/** Whose files: every operation takes these. */
const SCOPE_QUERY = {
  workspace_id: optionalUuidParam('Workspace of the files; the caller’s default one when absent.'),
  provider: choiceParam(
    FILE_PROVIDERS,
    null,
    'Files that lie with a provider of this kind, in the account of a key of your own for it.',
  ),
}

const LIST_QUERY = {
  ...SCOPE_QUERY,
  limit: integerParam({ minimum: 1, maximum: 1000, default: 100, description: 'Most files of the answer.' }),
  order: choiceParam(['asc', 'desc'], 'desc', 'By time of creation; newest first when absent.'),
  cursor: fileIdText('As `after`.'),
  after: fileIdText('Only files that follow this one in the list.'),
  after_id: fileIdText('As `after`.'),
  page: fileIdText('As `after`.'),
  before_id: fileIdText('Only files that stand before this one in the list.'),
}

/** How a provider fails, where files lie with it. */
const PROVIDER_FAULTS = ['rate-limited', 'provider-failed'] as const

/** Files of a workspace (contract/gateway 8, contract/decisions 3, 32 and 33). */
export const fileEndpoints = (ports: FilePorts): Endpoint[] => [
  operation('create_file', `POST ${PATH}`, {
    summary: 'Upload a file',
    query: SCOPE_QUERY,
    upload: UPLOAD_FORM,
    headers: ENCODING_HEADERS,
    bodyLimit: ports.fileBytes + FORM_BYTES,
    deadlineMs: ports.deadlineMs,
    replies: { 200: { description: 'The file, on disk', schema: FileAnswer } },
    faults: ['forbidden', 'unavailable', ...PROVIDER_FAULTS],
    handle: async (input, call) => {
      const file = await placeOf(input, call, ports).create(call)
      return jsonReply(200, fileEncodingFor(call).file(file))
    },
  }),
  operation('list_files', `GET ${PATH}`, {
    summary: 'List the files of a workspace',
    query: LIST_QUERY,
    headers: ENCODING_HEADERS,
    replies: { 200: { description: 'A page of files', schema: FileListAnswer } },
    faults: ['forbidden', 'unavailable', ...PROVIDER_FAULTS],
    handle: (input, call) => {
      const encoding = fileEncodingFor(call)
      const page = placeOf(input, call, ports).list(fileListQuery(input.query))
      return mapMaybe(page, (told) => jsonReply(200, encoding.list(told)))
    },
  }),
  operation('read_file', `GET ${PATH}/{file_id}`, {
    summary: 'Read what is known of a file',
    params: FileId,
    query: SCOPE_QUERY,
    headers: ENCODING_HEADERS,
    replies: { 200: { description: 'The file', schema: FileAnswer } },
    faults: ['forbidden', 'item-not-found', 'unavailable', ...PROVIDER_FAULTS],
    handle: (input, call) => {
      const encoding = fileEncodingFor(call)
      const file = placeOf(input, call, ports).read(input.params.file_id)
      return mapMaybe(file, (told) => jsonReply(200, encoding.file(told)))
    },
  }),
  operation('delete_file', `DELETE ${PATH}/{file_id}`, {
    summary: 'Delete a file for good',
    params: FileId,
    query: SCOPE_QUERY,
    headers: ENCODING_HEADERS,
    replies: { 200: { description: 'It is gone, on disk', schema: DeletedFile } },
    faults: ['forbidden', 'item-not-found', 'unavailable', ...PROVIDER_FAULTS],
    handle: async (input, call) => {
      const id = input.params.file_id
      await placeOf(input, call, ports).remove(id)
      return jsonReply(200, fileEncodingFor(call).deleted(id))
    },
  }),
  operation('file-content', `GET ${PATH}/{file_id}/content`, {
    summary: 'Download a file that the server has made',
    access: 'management',
    params: FileId,
    query: SCOPE_QUERY,
    headers: DOWNLOAD_HEADERS,
    deadlineMs: ports.deadlineMs,
    replies: {
      200: { description: 'The content', mediaType: 'application/octet-stream', schema: { type: 'string' } },
      206: {
        description: 'The range of it that was asked for',
        mediaType: 'application/octet-stream',
        schema: { type: 'string' },
        headers: { 'Content-Range': 'Where the bytes stand' },
      },
      304: { description: 'It is what the caller has' },
      416: {
        description: 'The range lies behind the end',
        schema: { type: 'object', properties: { error: { type: 'object' } }, required: ['error'] },
        headers: { 'Content-Range': 'The size of the content' },
      },
    },
    faults: ['forbidden', 'item-not-found', 'internal', 'unavailable', ...PROVIDER_FAULTS],
    handle: async (input, call) => placeOf(input, call, ports).content(input.params.file_id, call),
  }),
]

/** Fails when the places contradict each other. */
function fileListQuery(query: FieldValues<typeof LIST_QUERY>): FileListQuery {
  const { cursor, after, after_id, page, before_id, order, limit } = query
  const given = [cursor, after, after_id, page, before_id].filter((place) => place !== null)
  if (new Set(given).size > 1 || (before_id !== null && given.length > 1)) {
    const note = 'must not be combined with another place in the list'
    const name = before_id !== null ? 'before_id' : 'after'
    throw invalidInput(['query', name], note)
  }
  const behind = cursor ?? after ?? after_id ?? page
  return { newestFirst: order === 'desc', after: behind, before: before_id, limit }
}

const OTHER_WORKSPACE = new Fault('forbidden', { note: 'The key does not belong to this workspace' })
const NO_OWN_KEY = invalidInput(
  ['query', 'provider'],
  'needs a key of your own for this provider: one of this workspace or, with a management key, of the organization. Without it the files of this server are meant',
)

interface FileCallInput {
  readonly caller: Principal
  readonly query: FieldValues<typeof SCOPE_QUERY>
}

/** The files that a call is about. Fails with `forbidden` and `invalid-input` where there are none such. */
function placeOf({ caller, query }: FileCallInput, call: HttpCall, ports: FilePorts): FilePlace {
  const workspaceId = resolveWorkspace(caller, query, ports.accounts)
  const { provider } = query
  if (provider === null) return keptFiles(caller.organizationId, workspaceId, ports)
  const keys = ports.keysOf({ ...caller, workspaceId })
  // A key of the whole organization opens an account in which files of all workspaces lie.
  const usable = caller.kind === 'management' ? keys : keys.filter((key) => key.workspaceId === workspaceId)
  const account = ownFileAccount(ports.catalog(), usable, provider)
  if (account === null) throw NO_OWN_KEY
  return accountFilePlace(account, caller, call, ports)
}

/**
 * The workspace that was asked for, or the caller's default one: a management key's is the organization's first.
 * Fails with `forbidden` when the key cannot act there; what other organizations have is not told from what is not.
 */
function resolveWorkspace(
  caller: Principal,
  { workspace_id: asked }: FieldValues<typeof SCOPE_QUERY>,
  accounts: AccountStore,
): string {
  const { workspaceId: own, organizationId } = caller
  if (asked !== null && asked !== own) {
    const isOwn = own === null && accounts.workspace(asked)?.organizationId === organizationId
    if (!isOwn) throw OTHER_WORKSPACE
  }
  const workspace = asked ?? own ?? accounts.workspacesOf(organizationId)[0]?.id
  if (workspace === undefined) throw OTHER_WORKSPACE
  return workspace
}
