/** The document says what the operations on accounts answer, and a public client reads it. */
import { test } from 'tap'
import { keyEndpoints } from '../../../src/features/keys/endpoints.js'
import { organizationEndpoints } from '../../../src/features/organizations/endpoints.js'
import { openApiDocument } from '../../../src/http/openapi.js'
import { AccountModel } from '../../conformance/account-model.js'
import type { HttpReply } from '../../support/clients/http-client.js'
import { NO_USAGE } from '../../support/models/no-usage.js'
import {
  DocumentRules,
  documentFaults,
  type OpenApiDocument,
} from '../../support/schemas/openapi-validator.js'
import { type AccountApi, type ApiReply, accountApi } from '../../support/servers/account-api.js'
import { FakeClock } from '../../support/timing/fake-clock.js'

function document(): OpenApiDocument {
  const accounts = new AccountModel()
  const clock = new FakeClock()
  const endpoints = [...keyEndpoints(accounts, NO_USAGE, clock), ...organizationEndpoints(accounts, clock)]
  return openApiDocument(endpoints, {
    title: 't',
    version: '1',
    description: 'd',
  }) as unknown as OpenApiDocument
}

test('the document is a good one', async (t) => {
  t.strictSame(await documentFaults(document()), [])
})

async function answers({ call, managementKey }: AccountApi): Promise<[operation: string, reply: ApiReply][]> {
  const key = await call(managementKey, 'POST', '/api/v1/keys', { name: 'x', limit: 5 })
  const path = `/api/v1/keys/${key.json.data.hash}`
  const organization = await call(managementKey, 'POST', '/api/v1/organizations', { name: 'x' })
  const home = `/api/v1/organizations/${organization.json.data.id}`
  return [
    ['create_key', key],
    ['create_organization', organization],
    ['list_keys', await call(managementKey, 'GET', '/api/v1/keys')],
    ['read_key', await call(managementKey, 'GET', path)],
    ['update_key', await call(managementKey, 'PATCH', path, { disabled: true })],
    ['delete_key', await call(managementKey, 'DELETE', path)],
    ['read_current_key', await call(managementKey, 'GET', '/api/v1/key')],
    ['list_organizations', await call(managementKey, 'GET', '/api/v1/organizations')],
    ['read_organization', await call(managementKey, 'GET', home)],
    ['update_organization', await call(managementKey, 'PATCH', home, { plan: 'team' })],
    ['list_workspaces', await call(managementKey, 'GET', '/api/v1/workspaces')],
    ['create_workspace', await call(managementKey, 'POST', '/api/v1/workspaces', { name: 'x' })],
  ]
}

test('every answer is what the document says', async (t) => {
  const rules = new DocumentRules(document())
  for (const [operation, reply] of await answers(await accountApi(t))) {
    t.ok(reply.status < 300, operation)
    t.strictSame(rules.replyFaults(operation, reply as unknown as HttpReply), [], operation)
  }
})
