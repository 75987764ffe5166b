import type { Clock } from '../../base/clock.js'
import { Fault } from '../../base/fault.js'
import { gateway } from '../../http/dialects/gateway.js'
import { type Endpoint, endpointGroup } from '../../http/endpoint.js'
import { idParam, integerParam } from '../../http/params.js'
import { jsonReply } from '../../http/reply.js'
import { KEYS_PER_PAGE, KeyService } from '../../identity/key-service.js'
import type { AccountStore, ApiKey } from '../../store/account-store.js'
import { keyPayer, type Spending, type UsageLedger } from '../../store/ledger-store.js'
import {
  CreatedKey,
  CurrentKeyAnswer,
  DeletedKey,
  flagText,
  KeyAnswer,
  KeyChanges,
  KeyIn,
  KeyList,
  optionalText,
} from './schema.js'
import { encodeCurrentKey, encodeKey } from './views.js'

const operation = endpointGroup({ tag: 'keys', dialect: gateway })
const NOT_FOUND = new Fault('item-not-found')
const KeyHash = { hash: idParam('Hash of the key.') }

/** A key about itself, and management of an organization's keys (contract/gateway 11.2, 11.3). */
export const keyEndpoints = (accounts: AccountStore, ledger: UsageLedger, clock: Clock): Endpoint[] => {
  const spending = readSpendingAfterSync(ledger, clock)
  return [
    currentKeyEndpoint(accounts, spending),
    ...managementEndpoints(new KeyService(accounts, clock), spending),
  ]
}

/** What keys have spent, everything included that was answered before. */
type WithSpending = <T>(view: (spent: (key: ApiKey) => Spending) => T) => Promise<T>

function readSpendingAfterSync(ledger: UsageLedger, clock: Clock): WithSpending {
  return async (view) => {
    await ledger.sync()
    const now = clock.unixSeconds() * 1000
    return view(({ hash }) => ledger.spending(keyPayer(hash), now))
  }
}

function currentKeyEndpoint(accounts: AccountStore, spending: WithSpending): Endpoint {
  return operation('read_current_key', 'GET /api/v1/key', {
    summary: 'Read the key this call is made with',
    access: 'key',
    replies: { 200: { description: 'The key', schema: CurrentKeyAnswer } },
    faults: ['unavailable'],
    handle: ({ caller }) => {
      // It was there a moment ago, when the caller was let in, and records of keys stay.
      const key = accounts.key(caller.keyHash) ?? throwNotFound()
      const organization = accounts.organization(caller.organizationId)
      return spending((spent) => jsonReply(200, { data: encodeCurrentKey(key, organization, spent(key)) }))
    },
  })
}

const managementEndpoints = (keys: KeyService, spending: WithSpending): Endpoint[] => [
  operation('list_keys', 'GET /api/v1/keys', {
    summary: 'List the keys of the organization, oldest first',
    access: 'management',
    query: {
      offset: integerParam({
        min: 0,
        default: 0,
        description: `Keys to skip; an answer has at most ${KEYS_PER_PAGE}.`,
      }),
      include_disabled: flagText('Whether to list disabled keys as well.'),
      workspace_id: optionalText('Only keys of this workspace.'),
    },
    replies: { 200: { description: 'A page of keys', schema: KeyList } },
    faults: ['unavailable'],
    handle: ({ caller, query }) =>
      spending((spent) =>
        jsonReply(200, { data: keys.list(caller, query).map((key) => encodeKey(key, spent(key))) }),
      ),
  }),
  operation('create_key', 'POST /api/v1/keys', {
    summary: 'Create a key',
    access: 'management',
    body: KeyIn,
    replies: { 201: { description: 'The key, on disk; its text is shown once', schema: CreatedKey } },
    faults: ['unavailable'],
    handle: async ({ caller, body }) => {
      const { record, key } = await keys.create(caller, body)
      return jsonReply(201, { data: encodeKey(record, NOTHING_SPENT), key }, SECRET)
    },
  }),
  operation('read_key', 'GET /api/v1/keys/{hash}', {
    summary: 'Read one key',
    access: 'management',
    params: KeyHash,
    replies: { 200: { description: 'The key', schema: KeyAnswer } },
    faults: ['item-not-found', 'unavailable'],
    handle: ({ caller, params }) => {
      const key = keys.find(caller, params.hash) ?? throwNotFound()
      return spending((spent) => jsonReply(200, { data: encodeKey(key, spent(key)) }))
    },
  }),
  operation('update_key', 'PATCH /api/v1/keys/{hash}', {
    summary: 'Change, disable or enable a key',
    access: 'management',
    params: KeyHash,
    body: KeyChanges,
    replies: { 200: { description: 'The key as it is now, on disk', schema: KeyAnswer } },
    faults: ['item-not-found', 'unavailable'],
    handle: async ({ caller, params, body }) => {
      const key = (await keys.change(caller, params.hash, body)) ?? throwNotFound()
      return spending((spent) => jsonReply(200, { data: encodeKey(key, spent(key)) }))
    },
  }),
  operation('delete_key', 'DELETE /api/v1/keys/{hash}', {
    summary: 'Delete a key for good',
    access: 'management',
    params: KeyHash,
    replies: { 200: { description: 'The key counts no longer, on disk', schema: DeletedKey } },
    faults: ['item-not-found', 'unavailable'],
    handle: async ({ caller, params }) => {
      if ((await keys.remove(caller, params.hash)) === null) throwNotFound()
      return jsonReply(200, { deleted: true })
    },
  }),
]

const NOTHING_SPENT: Spending = Object.freeze({ total: 0, daily: 0, weekly: 0, monthly: 0 })

/** An answer that holds a key may be kept by nobody on its way. */
const SECRET = [['Cache-Control', 'no-store']] as const

function throwNotFound(): never {
  throw NOT_FOUND
}
