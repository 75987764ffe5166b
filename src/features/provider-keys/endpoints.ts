import { throwFault } from '../../base/fault.js'
import { DeletedAnswer } from '../../http/answers.js'
import { gateway } from '../../http/dialects/gateway.js'
import { type Endpoint, endpointGroup } from '../../http/endpoint.js'
import { idParam, optionalTextParam } from '../../http/params.js'
import { deletedReply, jsonReply } from '../../http/reply.js'
import type { People } from '../../identity/people.js'
import { type ProviderKeyPorts, ProviderKeyService } from '../../identity/provider-key-service.js'
import { reachOf } from '../../identity/reach.js'
import {
  encodeProviderKey,
  ProviderKeyAnswer,
  ProviderKeyChanges,
  ProviderKeyIn,
  ProviderKeyList,
} from './schema.js'

const operation = endpointGroup({ tag: 'Provider keys', dialect: gateway, access: 'admin' })

const Id = { id: idParam('Id of the provider key.') }
const EXAMPLES = {
  first: { provider: 'openai', name: 'our account', key: 'sk-proj-of-your-own-account' },
  fallback: {
    provider: 'anthropic',
    name: 'spare',
    key: 'sk-ant-of-your-own-account',
    priority: 'fallback',
    models: ['anthropic/claude-sonnet-4.5'],
  },
}

export interface ProviderKeyEndpointPorts extends ProviderKeyPorts {
  readonly people: Pick<People, 'roles'>
}

/** The keys that an organization and its workspaces have with providers themselves (contract/decisions 61). */
export const providerKeyEndpoints = (ports: ProviderKeyEndpointPorts): Endpoint[] => {
  const keys = new ProviderKeyService(ports)
  const { roles } = ports.people
  return [
    operation('list_provider_keys', 'GET /api/v1/provider-keys', {
      summary: 'List the keys that the organization has with providers, oldest first',
      query: {
        provider: optionalTextParam('Only keys with this provider.'),
        workspace_id: optionalTextParam('Only keys of this workspace.'),
      },
      replies: { 200: { description: 'All of them, masked', schema: ProviderKeyList } },
      handle: ({ caller, query: { provider, workspace_id: workspaceId } }) => {
        const data = keys
          .list(reachOf(caller, roles))
          .filter((key) => provider === null || key.provider === provider)
          .filter((key) => workspaceId === null || key.workspaceId === workspaceId)
          .map(encodeProviderKey)
        return jsonReply(200, { data })
      },
    }),
    operation('create_provider_key', 'POST /api/v1/provider-keys', {
      summary: 'Bring a key of your own with a provider',
      body: ProviderKeyIn,
      examples: EXAMPLES,
      replies: { 201: { description: 'The key, masked, on disk', schema: ProviderKeyAnswer } },
      faults: ['conflict', 'unavailable'],
      handle: async ({ caller, body }) =>
        jsonReply(201, { data: encodeProviderKey(await keys.create(reachOf(caller, roles), body)) }),
    }),
    operation('read_provider_key', 'GET /api/v1/provider-keys/{id}', {
      summary: 'Read one provider key',
      params: Id,
      replies: { 200: { description: 'The key, masked', schema: ProviderKeyAnswer } },
      faults: ['item-not-found'],
      handle: ({ caller, params }) => {
        const found = keys.find(reachOf(caller, roles), params.id) ?? throwFault('item-not-found')
        return jsonReply(200, { data: encodeProviderKey(found) })
      },
    }),
    operation('update_provider_key', 'PATCH /api/v1/provider-keys/{id}', {
      summary: 'Change, replace, disable or enable a provider key',
      params: Id,
      body: ProviderKeyChanges,
      examples: { renewed: { key: 'sk-proj-the-next-one' }, disabled: { disabled: true } },
      replies: { 200: { description: 'The key as it is now, masked, on disk', schema: ProviderKeyAnswer } },
      faults: ['item-not-found', 'unavailable'],
      handle: async ({ caller, params, body }) => {
        const changed = await keys.change(reachOf(caller, roles), params.id, body)
        return jsonReply(200, { data: encodeProviderKey(changed ?? throwFault('item-not-found')) })
      },
    }),
    operation('delete_provider_key', 'DELETE /api/v1/provider-keys/{id}', {
      summary: 'Delete a provider key for good',
      params: Id,
      replies: { 200: { description: 'No call uses it any more, on disk', schema: DeletedAnswer } },
      faults: ['item-not-found', 'unavailable'],
      handle: async ({ caller, params }) =>
        deletedReply(await keys.remove(reachOf(caller, roles), params.id)),
    }),
  ]
}
