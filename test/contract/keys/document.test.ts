/** The document says what the operations on accounts answer, and a public client reads it. */
import { test } from 'tap'
import { keyEndpoints } from '../../../src/features/keys/endpoints.js'
import { organizationEndpoints } from '../../../src/features/organizations/endpoints.js'
import { openApiDocument } from '../../../src/http/openapi.js'
import { AccountModel } from '../../conformance/account-model.js'
import type { HttpReply } from '../../support/clients/http-client.js'
import { NO_USAGE } from '../../support/models/no-usage.js'
import { NOBODY } from '../../support/models/nobody.js'
import {
  DocumentRules,
  documentFaults,
  type OpenApiDocument,
} from '../../support/schemas/openapi-validator.js'
import { type AccountApi, accountApi } from '../../support/servers/account-api.js'
import { FakeClock } from '../../support/timing/fake-clock.js'

function document(): OpenApiDocument {
  const accounts = new AccountModel()
  const clock = new FakeClock()
  const endpoints = [
    ...keyEndpoints(accounts, NOBODY, NO_USAGE, clock),
    ...organizationEndpoints(accounts, NOBODY, NO_USAGE, clock),
  ]
  return openApiDocument(endpoints, {
    info: { title: 't', version: '1', description: 'd' },
    tags: [],
  }) as unknown as OpenApiDocument
}

test('the document is a good one', async (t) => {
  t.strictSame(await documentFaults(document()), [])
})

async function answers({ manage }: AccountApi): Promise<[operation: string, reply: HttpReply][]> {
  const key = await manage('POST', '/keys', { name: 'x', limit: 5 })
  const path = `/keys/${key.json.data.hash}`
  const organization = await manage('POST', '/organizations', { name: 'x' })
  const home = `/organizations/${organization.json.data.id}`
  return [
    ['create_key', key],
    ['create_organization', organization],
    ['list_keys', await manage('GET', '/keys')],
    ['read_key', await manage('GET', path)],
    ['update_key', await manage('PATCH', path, { disabled: true })],
    ['delete_key', await manage('DELETE', path)],
    ['read_current_key', await manage('GET', '/key')],
    ['list_organizations', await manage('GET', '/organizations')],
    ['read_organization', await manage('GET', home)],
    ['update_organization', await manage('PATCH', home, { plan: 'team' })],
    ['list_workspaces', await manage('GET', '/workspaces')],
    ['create_workspace', await manage('POST', '/workspaces', { name: 'x' })],
  ]
}

test('every answer is what the document says', async (t) => {
  const rules = new DocumentRules(document())
  for (const [operation, reply] of await answers(await accountApi(t))) {
    t.ok(reply.status < 300, operation)
    t.strictSame(rules.replyFaults(operation, reply), [], operation)
  }
})
