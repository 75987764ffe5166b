/** What a newcomer meets on the documentation page: groups, meanings, and examples that work when they are sent. */
import tap, { test } from 'tap'
import { type HttpReply, httpClient } from '../../support/clients/http-client.js'
import { DocumentRules, operationsOf, type PlacedOperation } from '../../support/schemas/openapi-validator.js'
import { type Json, MANAGEMENT_KEY, startGateway } from '../../support/servers/gateway-server.js'

const server = await startGateway()
const client = httpClient(server.baseUrl, 4)
tap.teardown(async () => {
  client.close()
  await server.stop()
})
const document: Json = (await client.get('/api/v1/openapi.json')).json
const rules = new DocumentRules(document)
const operations = operationsOf(document)

interface Example {
  readonly operation: PlacedOperation
  readonly mediaType: string
  readonly name: string
  readonly value: Json
}

const examples: readonly Example[] = operations.flatMap((operation) =>
  Object.entries((operation as Json).requestBody?.content ?? {}).flatMap(
    ([mediaType, content]: [string, Json]) =>
      mediaType === 'multipart/form-data'
        ? [{ operation, mediaType, name: 'form', value: content.example }]
        : Object.entries((content.examples ?? { none: { value: undefined } }) as Json).map(
            ([name, { value }]: [string, Json]) => ({ operation, mediaType, name, value }),
          ),
  ),
)

test('every body of every operation has an example', async (t) => {
  t.ok(examples.length > 25)
  for (const { operation, mediaType, value } of examples)
    t.type(value, 'object', `${operation.operationId} ${mediaType}`)
})

test('every group has a place and a description, and none is empty', async (t) => {
  const groups = new Set(operations.flatMap((operation) => (operation as Json).tags))
  t.strictSame(new Set(document.tags.map(({ name }: Json) => name)), groups)
  for (const { name, description } of document.tags) t.match(description, /^.{20,}\.$/, name)
  t.equal(document.tags[0].name, 'Chat')
  t.match(document.info.description, 'npx sluice keys create')
})

test('every refusal says what is refused', async (t) => {
  for (const { operationId, responses } of operations as Json[])
    for (const [status, { description }] of Object.entries(responses) as [string, Json][])
      if (Number(status) >= 400) t.match(description, /^[A-Z].{8,}/, `${operationId} ${status}`)
})

/** What the addresses of operations name; each is made before by the operation whose example is sent. */
const made: Record<string, string> = {
  item_id: '1',
  put_scim_group: '3f0d9f6e-7f0e-4c3b-9a51-0b8f6f9a1c22',
}

/** Provisioning has a credential of its own. */
let provisioningToken = ''

const post = async (path: string, body: object): Promise<Json> =>
  JSON.parse((await sendBody('POST', path, 'application/json', body)).text)

function sendBody(method: string, path: string, mediaType: string, value: object): Promise<HttpReply> {
  const form = mediaType.startsWith('multipart/') ? multipartOf(value) : null
  const body =
    form?.body ??
    (mediaType.endsWith('json')
      ? JSON.stringify(value)
      : new URLSearchParams(value as Record<string, string>).toString())
  const key = path.startsWith('/api/v1/scim/v2/') ? provisioningToken : MANAGEMENT_KEY
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': form?.mediaType ?? mediaType }
  return client.send({ method: method as 'POST', path: `${path}`, body, headers })
}

const BOUNDARY = 'a-boundary-of-the-test'

/** The fields, and a recording of silence as the file. */
function multipartOf(fields: object): { readonly body: Buffer; readonly mediaType: string } {
  const part = (head: string, text: string | Buffer): Buffer[] => [
    Buffer.from(`--${BOUNDARY}\r\nContent-Disposition: form-data; ${head}\r\n\r\n`),
    Buffer.from(text),
    Buffer.from('\r\n'),
  ]
  const { value } = examples.find(
    ({ operation, name }) => operation.operationId === 'transcription' && name !== 'form',
  )!
  const sound = Buffer.from(value.input_audio.data, 'base64')
  const parts = [
    ...Object.entries(fields).flatMap(([name, text]) => part(`name="${name}"`, String(text))),
    ...part('name="file"; filename="silence.wav"', sound),
    Buffer.from(`--${BOUNDARY}--\r\n`),
  ]
  return { body: Buffer.concat(parts), mediaType: `multipart/form-data; boundary=${BOUNDARY}` }
}

function pathOf({ operationId, path }: PlacedOperation): string {
  return path.replace(/\{(\w+)\}/g, (_match, name: string) => made[operationId] ?? made[name] ?? 'none')
}

/** Those that name what is yet to be made, what they are answered with as they are, and what they name then. */
const NAMING: Readonly<Record<string, { readonly status: number; readonly names: (() => object) | null }>> = {
  add_credits: { status: 404, names: () => ({ organization_id: made.update_organization }) },
  create_scim_group_mapping: { status: 400, names: () => ({ workspace_id: made.workspace }) },
  try_scim_group_mapping: {
    status: 404,
    names: () => ({ change: { id: made.update_scim_group_mapping, role: 'member' } }),
  },
  create_federation_policy: {
    status: 400,
    names: () => ({ issuer_id: made.update_federation_issuer, api_key_hash: made.hash }),
  },
  create_sign_in_provider: { status: 400, names: () => ({ connection_id: null }) },
  // It needs a provider that asks for a credential.
  create_provider_key: { status: 400, names: null },
  update_provider_key: { status: 404, names: null },
  // It needs an identity provider.
  create_oauth_token: { status: 400, names: null },
}

test('every example is answered with success, or as the document says where it names what is yet to be made', async (t) => {
  made.hash = (await post('/api/v1/keys', { name: 'made' })).data.hash
  made.update_organization = (await post('/api/v1/organizations', { name: 'made' })).data.id
  made.workspace = (await post('/api/v1/workspaces', { name: 'made' })).data.id
  const issuer = await post('/api/v1/federation/issuers', { name: 'made', issuer_url: 'https://example.com' })
  made.update_federation_issuer = issuer.data.id
  const policy = { issuer_id: issuer.data.id, audience: 'a', subject: 's', api_key_hash: made.hash }
  made.update_federation_policy = (await post('/api/v1/federation/policies', policy)).data.id
  made.test_federation_policy = made.update_federation_policy!
  const provider = { name: 'made', issuer: 'https://example.com', client_id: 'made' }
  made.update_sign_in_provider = (await post('/api/v1/sign-in-providers', provider)).data.id
  const mapping = {
    scim_group_id: '3f0d9f6e-7f0e-4c3b-9a51-0b8f6f9a1c23',
    workspace_id: made.workspace,
    role: 'admin',
  }
  made.update_scim_group_mapping = (await post('/api/v1/scim/group-mappings', mapping)).data.id
  const connection = (await post('/api/v1/scim-connections', { name: 'made' })).data.id
  provisioningToken = (await post(`/api/v1/scim-connections/${connection}/tokens`, {})).token
  const other = (await post('/api/v1/scim-connections', { name: 'other' })).data.id
  for (const operation of [
    'update_scim_connection',
    'create_scim_connection_token',
    'approve_scim_held_removals',
  ])
    made[operation] = other
  const user = await post('/api/v1/scim/v2/Users', { userName: 'made@example.com' })
  const group = await post('/api/v1/scim/v2/Groups', { displayName: 'Made' })
  for (const verb of ['replace', 'update']) {
    made[`${verb}_provisioned_user`] = user.id
    made[`${verb}_provisioned_group`] = group.id
  }
  made.id = (await post('/api/v1/members', { user_name: 'made' })).data.id
  made.workspace_id = made.workspace!
  made.update_workspace = made.workspace!
  await post('/api/v1/items', { name: 'made', price: 1 })

  for (const { operation, mediaType, name, value } of examples) {
    const { operationId, method } = operation
    const naming = NAMING[operationId]
    const about = `${operationId} ${mediaType} ${name}`
    const send = (body: object): Promise<HttpReply> => sendBody(method, pathOf(operation), mediaType, body)
    const reply = await send(value)
    if (naming === undefined) t.ok(isSuccess(reply), `${about}: ${reply.status} ${reply.text}`)
    else t.equal(reply.status, naming.status, `${about}: ${reply.text}`)
    if (isJson(reply)) t.strictSame(rules.replyFaults(operationId, reply), [], about)
    if (naming?.names == null) continue
    const second = await send({ ...value, ...naming.names() })
    t.ok(isSuccess(second), `${about}, naming what there is: ${second.status} ${second.text}`)
  }
})

const isJson = ({ headers }: HttpReply): boolean =>
  /^application\/(scim\+)?json$/.test(String(headers['content-type']))
const isSuccess = ({ status }: HttpReply): boolean => status >= 200 && status < 300
