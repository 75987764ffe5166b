import { Fault } from '../../base/fault.js'
import { gateway } from '../../http/dialects/gateway.js'
import { type Endpoint, endpointGroup } from '../../http/endpoint.js'
import { idParam } from '../../http/params.js'
import { jsonReply } from '../../http/reply.js'
import type { AccountStore } from '../../store/account-store.js'
import type { FileStore } from '../../store/file-store.js'
import { DOWNLOAD_HEADERS, download } from './download.js'
import { fileListQuery, LIST_QUERY, SCOPE_QUERY } from './query.js'
import { DeletedFile, FileAnswer, FileListAnswer, UPLOAD_FORM } from './schema.js'
import { findFileIn, workspaceOf } from './scope.js'
import { receiveUpload } from './upload.js'
import { ENCODING_HEADERS, fileEncodingFor } from './views.js'

const operation = endpointGroup({ tag: 'files', dialect: gateway })

export interface FilePorts {
  readonly files: FileStore
  readonly accounts: AccountStore
  /** Most bytes of a file. */
  readonly fileBytes: number
  /** Most time for an upload or a download. */
  readonly deadlineMs: number
}

/** What a form adds to its file. */
const FORM_BYTES = 1024 * 1024
const PATH = '/api/v1/files'
const FileId = { file_id: idParam('Id of the file.') }
const NOT_FOUND = new Fault('item-not-found')

/** Files of a workspace (contract/gateway 8, contract/decisions 3, 32 and 33). */
export const fileEndpoints = (ports: FilePorts): Endpoint[] => [
  operation('create_file', `POST ${PATH}`, {
    summary: 'Upload a file',
    access: 'key',
    query: SCOPE_QUERY,
    upload: UPLOAD_FORM,
    headers: ENCODING_HEADERS,
    // To describe the operation there are no ports.
    ...(ports.fileBytes !== undefined && { bodyLimit: ports.fileBytes + FORM_BYTES }),
    ...(ports.deadlineMs !== undefined && { deadlineMs: ports.deadlineMs }),
    replies: { 200: { description: 'The file, on disk', schema: FileAnswer } },
    faults: ['forbidden', 'unavailable'],
    handle: async ({ caller, query }, call) => {
      const workspace = workspaceOf(caller, query, ports.accounts)
      return jsonReply(200, fileEncodingFor(call).file(await receiveUpload(call, caller, workspace, ports)))
    },
  }),
  operation('list_files', `GET ${PATH}`, {
    summary: 'List the files of a workspace',
    access: 'key',
    query: LIST_QUERY,
    headers: ENCODING_HEADERS,
    replies: { 200: { description: 'A page of files', schema: FileListAnswer } },
    faults: ['forbidden'],
    handle: ({ caller, query }, call) => {
      const workspace = workspaceOf(caller, query, ports.accounts)
      return jsonReply(200, fileEncodingFor(call).list(ports.files.filesOf(workspace, fileListQuery(query))))
    },
  }),
  operation('read_file', `GET ${PATH}/{file_id}`, {
    summary: 'Read what is known of a file',
    access: 'key',
    params: FileId,
    query: SCOPE_QUERY,
    headers: ENCODING_HEADERS,
    replies: { 200: { description: 'The file', schema: FileAnswer } },
    faults: ['forbidden', 'item-not-found'],
    handle: ({ caller, params, query }, call) => {
      const workspace = workspaceOf(caller, query, ports.accounts)
      return jsonReply(200, fileEncodingFor(call).file(findFileIn(workspace, params.file_id, ports.files)))
    },
  }),
  operation('delete_file', `DELETE ${PATH}/{file_id}`, {
    summary: 'Delete a file for good',
    access: 'key',
    params: FileId,
    query: SCOPE_QUERY,
    headers: ENCODING_HEADERS,
    replies: { 200: { description: 'It is gone, on disk', schema: DeletedFile } },
    faults: ['forbidden', 'item-not-found', 'unavailable'],
    handle: async ({ caller, params, query }, call) => {
      const workspace = workspaceOf(caller, query, ports.accounts)
      const { id } = findFileIn(workspace, params.file_id, ports.files)
      if (!(await ports.files.removeFile(id))) throw NOT_FOUND
      return jsonReply(200, fileEncodingFor(call).deleted(id))
    },
  }),
  operation('file-content', `GET ${PATH}/{file_id}/content`, {
    summary: 'Download a file that the server has made',
    access: 'admin',
    params: FileId,
    query: SCOPE_QUERY,
    headers: DOWNLOAD_HEADERS,
    ...(ports.deadlineMs !== undefined && { deadlineMs: ports.deadlineMs }),
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
    faults: ['forbidden', 'item-not-found', 'internal'],
    handle: ({ caller, params, query }, call) => {
      const workspace = workspaceOf(caller, query, ports.accounts)
      return download(findFileIn(workspace, params.file_id, ports.files), call, ports.files)
    },
  }),
]
