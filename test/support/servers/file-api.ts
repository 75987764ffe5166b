/** Files and directory groups as they are served: real store, real pipeline, in-memory transport. */
import { fail } from 'node:assert/strict'
import { type FilePorts, fileEndpoints } from '../../../src/features/files/endpoints.js'
import { keyEndpoints } from '../../../src/features/keys/endpoints.js'
import { organizationEndpoints } from '../../../src/features/organizations/endpoints.js'
import { scimEndpoints } from '../../../src/features/scim/endpoints.js'
import { buildCatalog } from '../../../src/gateway/catalog/catalog.js'
import { BodyBudget } from '../../../src/http/body-budget.js'
import { createAuthority, type PermissionOverrides } from '../../../src/identity/authenticate.js'
import { peopleOf } from '../../../src/identity/people.js'
import type { FileRecord, NewFileDetails } from '../../../src/store/file-store.js'
import type { Store } from '../../../src/store/store.js'
import type { HttpReply } from '../clients/http-client.js'
import { type FormPart, formOf } from '../clients/incoming-body.js'
import { foundedStore } from '../data/founded-store.js'
import type { Lifetime } from '../data/temp-folder.js'
import { NO_USAGE } from '../models/no-usage.js'
import type { FakeClock } from '../timing/fake-clock.js'
import { pipelineOf } from './pipeline.js'

interface FileCall {
  readonly headers?: readonly (readonly [string, string])[]
  /** A value goes out as JSON, bytes as they are. */
  readonly body?: unknown
}

/** No test here is about the memory that bodies take. */
const LARGEST_BODIES = 64 * 1024 * 1024

export interface FileApi {
  readonly clock: FakeClock
  readonly store: Store
  readonly folder: string
  /** Of the first organization: its management key, a key of its first workspace, a personal one of `user_1`. */
  readonly managementKey: string
  readonly apiKey: string
  readonly personalKey: string
  readonly organizationId: string
  readonly workspaceId: string
  /** A second workspace of the first organization, and a key of it. */
  readonly otherWorkspaceId: string
  readonly otherKey: string
  /** Another organization. */
  readonly foreignManagementKey: string
  readonly foreignWorkspaceId: string
  readonly lines: readonly Record<string, unknown>[]
  call(key: string, method: string, path: string, more?: FileCall): Promise<HttpReply>
  upload(key: string, parts: readonly FormPart[], query?: string, agent?: string): Promise<HttpReply>
  /** A file that the server has made. */
  made(content: string | Uint8Array, more?: Partial<NewFileDetails>): Promise<FileRecord>
}

export const BOUNDARY = 'xxBOUNDARYxx'
export const FILE_LIMIT = 200_000

/** What lies at providers is tested against the built server. */
const NO_PROVIDERS: Pick<FilePorts, 'keysOf' | 'catalog' | 'spool'> = {
  keysOf: () => [],
  catalog: () => buildCatalog({ providers: {}, models: [], aliases: {} } as never, {} as never),
  spool: { beginWrite: () => fail('nothing is spooled') },
}

interface FileApiOptions {
  readonly permissions?: PermissionOverrides
  /** Puts something in front of the store. */
  readonly around?: (store: Store) => Pick<Store, 'files' | 'scim'>
}

/** As after a first start, with a second workspace and a second organization. */
export async function fileApi(t: Lifetime, options: FileApiOptions = {}): Promise<FileApi> {
  const operator = 'sk-operator-0123456789-0123456789'
  const { clock, folder, store, apiKey } = await foundedStore(t, operator)
  const { accounts } = store
  const people = peopleOf(store)
  const { files, scim } = options.around?.(store) ?? store
  const endpoints = [
    ...keyEndpoints(accounts, people, NO_USAGE, clock),
    ...organizationEndpoints(accounts, people, NO_USAGE, clock),
    ...fileEndpoints({ ...NO_PROVIDERS, files, accounts, fileBytes: FILE_LIMIT, deadlineMs: 10_000 }),
    ...scimEndpoints({ scim, directory: store.directory, accounts, clock }),
  ]
  const permissions = options.permissions ?? new Map()
  const { inject, lines } = pipelineOf(endpoints, {
    bodies: { practice: new BodyBudget(0, 0), gateway: new BodyBudget(LARGEST_BODIES, LARGEST_BODIES) },
    authority: createAuthority(accounts, clock, () => permissions, { people }),
    bodyLimit: 64 * 1024,
  })
  const call: FileApi['call'] = (key, method, url, { headers = [], body } = {}) => {
    const sent = body === undefined || body instanceof Uint8Array ? body : JSON.stringify(body)
    const bearer = key === '' ? [] : [['Authorization', `Bearer ${key}`] as const]
    const given = { method, url, headers: [...bearer, ...headers] }
    return inject(sent === undefined ? given : { ...given, body: sent as Uint8Array })
  }
  const made = async (key: string, path: string, body: object) =>
    (await call(key, 'POST', `/api/v1/${path}`, { body })).json
  const { organizationId } = accounts.keys()[0]!
  const [workspace] = accounts.workspacesOf(organizationId)
  // Ids of the same millisecond have no order.
  clock.advance(1)
  const other = (await made(operator, 'workspaces', { name: 'other' })).data
  const foreign = await made(operator, 'organizations', { name: 'foreign' })
  const keyOf = async (body: object): Promise<string> => (await made(operator, 'keys', body)).key
  return {
    clock,
    store,
    folder,
    managementKey: operator,
    apiKey,
    personalKey: await keyOf({ name: 'mine', creator_user_id: 'user_1' }),
    organizationId,
    workspaceId: workspace!.id,
    otherWorkspaceId: other.id,
    otherKey: await keyOf({ name: 'other', workspace_id: other.id }),
    foreignManagementKey: foreign.key,
    foreignWorkspaceId: accounts.workspacesOf(foreign.data.id)[0]!.id,
    lines,
    call,
    upload: (key, parts, query = '', agent = '') =>
      call(key, 'POST', `/api/v1/files${query}`, {
        headers: [
          ['Content-Type', `multipart/form-data; boundary=${BOUNDARY}`],
          ['User-Agent', agent],
        ],
        body: formOf(BOUNDARY, parts),
      }),
    made: (content, more = {}) =>
      store.files.createFile(
        {
          organizationId,
          workspaceId: workspace!.id,
          filename: 'made.txt',
          origin: 'created',
          purpose: null,
          ...more,
        },
        Buffer.from(content as string),
      ),
  }
}
