import type { Clock } from '../../base/clock.js'
import { throwFault } from '../../base/fault.js'
import { DeletedAnswer } from '../../http/answers.js'
import { gateway } from '../../http/dialects/gateway.js'
import { type Endpoint, endpointGroup, type Reply } from '../../http/endpoint.js'
import { flagParam, idParam, integerParam, optionalTextParam } from '../../http/params.js'
import { deletedReply, jsonReply, NO_STORE } from '../../http/reply.js'
import { KEYS_PER_PAGE, KeyService } from '../../identity/key-service.js'
import type { People } from '../../identity/people.js'
import type { AccountStore, ApiKey } from '../../store/account-store.js'
import { byokPayer, keyPayer, type Spending, type UsageLedger } from '../../store/ledger-store.js'
import {
  CreatedKey,
  CurrentKeyAnswer,
  encodeCurrentKey,
  encodeKey,
  KeyAnswer,
  KeyChanges,
  KeyIn,
  KeyList,
  type KeySpending,
} from './schema.js'

const operation = endpointGroup({ tag: 'Keys', dialect: gateway, access: 'member' })

const KEY_EXAMPLES = {
  limited: {
    name: 'nightly',
    limit: 5,
    limit_reset: 'monthly',
    rate_limit: { requests_per_minute: 60, concurrent: 10 },
  },
  personal: { name: 'laptop', creator_user_id: 'user_1', expires_at: '2030-01-31T12:00:00Z' },
}
const KeyHash = { hash: idParam('Hash of the key.') }
const NOTHING: Spending = Object.freeze({ total: 0, daily: 0, weekly: 0, monthly: 0 })
const NOTHING_SPENT: KeySpending = Object.freeze({ charged: NOTHING, byok: NOTHING })

/** A key about itself, and the keys that a caller manages (contract/gateway 11.2, 11.3, contract/directory 5). */
export const keyEndpoints = (
  accounts: AccountStore,
  people: People,
  ledger: UsageLedger,
  clock: Clock,
): Endpoint[] => {
  const keys = new KeyService(accounts, clock, people)
  /** What keys have spent; everything that was answered before `ledger.sync` is included. */
  const readSpending = async (keys: readonly ApiKey[]): Promise<readonly KeySpending[]> => {
    const payers = keys.flatMap(({ hash }) => [keyPayer(hash), byokPayer(hash)])
    const spent = await ledger.spending(payers, clock.unixSeconds() * 1000)
    return keys.map((_, at) => ({ charged: spent[2 * at]!, byok: spent[2 * at + 1]! }))
  }
  const keyReply = async (key: ApiKey | null): Promise<Reply> => {
    const found = key ?? throwFault('item-not-found')
    await ledger.sync()
    const [spent] = await readSpending([found])
    return jsonReply(200, { data: encodeKey(found, spent!) })
  }
  return [
    operation('read_current_key', 'GET /api/v1/key', {
      summary: 'Read the key this call is made with',
      access: 'key',
      replies: { 200: { description: 'The key', schema: CurrentKeyAnswer } },
      faults: ['unavailable'],
      handle: async ({ caller }) => {
        // It was there a moment ago, when the caller was let in, and records of keys stay.
        const key = accounts.key(caller.keyHash) ?? throwFault('item-not-found')
        const organization = accounts.organization(caller.organizationId)
        await ledger.sync()
        const [spent] = await readSpending([key])
        return jsonReply(200, { data: encodeCurrentKey(key, organization, spent!) })
      },
    }),
    operation('list_keys', 'GET /api/v1/keys', {
      summary: 'List the keys that the caller manages, oldest first',
      query: {
        offset: integerParam({
          minimum: 0,
          default: 0,
          description: `Keys to skip; an answer has at most ${KEYS_PER_PAGE}.`,
        }),
        include_disabled: flagParam('Whether to list disabled keys as well.'),
        workspace_id: optionalTextParam('Only keys of this workspace.'),
        q: optionalTextParam('Part of the name, in any case, or what the hash begins with.'),
      },
      replies: { 200: { description: 'A page of keys', schema: KeyList } },
      faults: ['unavailable'],
      handle: async ({ caller, query }) => {
        await ledger.sync()
        const page = await keys.list(caller, query)
        const spent = await readSpending(page)
        return jsonReply(200, { data: page.map((key, at) => encodeKey(key, spent[at]!)) })
      },
    }),
    operation('create_key', 'POST /api/v1/keys', {
      summary: 'Create a key',
      body: KeyIn,
      examples: KEY_EXAMPLES,
      replies: { 201: { description: 'The key, on disk; its text is shown once', schema: CreatedKey } },
      faults: ['forbidden', 'unavailable'],
      handle: async ({ caller, body }) => {
        const { record, key } = await keys.create(caller, body)
        return jsonReply(201, { data: encodeKey(record, NOTHING_SPENT), key }, NO_STORE)
      },
    }),
    operation('read_key', 'GET /api/v1/keys/{hash}', {
      summary: 'Read one key',
      params: KeyHash,
      replies: { 200: { description: 'The key', schema: KeyAnswer } },
      faults: ['item-not-found', 'unavailable'],
      handle: ({ caller, params }) => keyReply(keys.find(caller, params.hash)),
    }),
    operation('update_key', 'PATCH /api/v1/keys/{hash}', {
      summary: 'Change, disable or enable a key',
      params: KeyHash,
      body: KeyChanges,
      examples: { disabled: { disabled: true }, limit: { limit: 10, limit_reset: 'daily' } },
      replies: { 200: { description: 'The key as it is now, on disk', schema: KeyAnswer } },
      faults: ['item-not-found', 'unavailable'],
      handle: async ({ caller, params, body }) => keyReply(await keys.change(caller, params.hash, body)),
    }),
    operation('delete_key', 'DELETE /api/v1/keys/{hash}', {
      summary: 'Delete a key for good',
      params: KeyHash,
      replies: { 200: { description: 'The key counts no longer, on disk', schema: DeletedAnswer } },
      faults: ['item-not-found', 'unavailable'],
      handle: async ({ caller, params }) => deletedReply((await keys.remove(caller, params.hash)) !== null),
    }),
  ]
}
