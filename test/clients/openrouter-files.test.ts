/** Files and directory groups with `@openrouter/sdk`, which checks every answer against its own schemas. */
import { randomBytes, randomUUID } from 'node:crypto'
import { OpenRouter } from '@openrouter/sdk'
import * as errors from '@openrouter/sdk/models/errors'
import tap, { test } from 'tap'
import { openLmdbStore } from '../../src/store/lmdb/open.js'
import { API_KEY, MANAGEMENT_KEY, startGateway } from '../support/servers/gateway-server.js'

const server = await startGateway()
tap.after(() => server.stop())
/** The server's own store, opened a second time: what a model makes is made through this port. */
const store = openLmdbStore({ path: server.dataDir, unixSeconds: () => Date.now() / 1000 })
tap.after(() => store.close())

/** Retries would hide the first answer, and wait for an hour. */
function clientOf(apiKey: string): OpenRouter {
  return new OpenRouter({ serverURL: server.apiUrl, apiKey, retryConfig: { strategy: 'none' } })
}

const client = clientOf(API_KEY)
const manager = clientOf(MANAGEMENT_KEY)
const key = store.accounts.keys().find(({ kind }) => kind === 'workspace')!
const workspaceId = key.workspaceId!

test('files are uploaded, listed, retrieved and deleted', async (t) => {
  const content = randomBytes(100_000)
  const made = await client.files.upload({ requestBody: { file: { fileName: 'a.bin', content } } })
  // The member by which this client tells shapes apart is not ours: it hands on what it got.
  const file = (made as unknown as { raw: { id: string } }).raw
  t.match(file, { filename: 'a.bin', size_bytes: 100_000, downloadable: false })
  const { id } = file
  t.match(await client.files.retrieve({ fileId: id }), { raw: file })
  t.match(JSON.stringify(await client.files.list({ limit: 10 })), id)
  t.match(JSON.stringify(await client.files.delete({ fileId: id })), id)
  await t.rejects(client.files.retrieve({ fileId: id }), errors.NotFoundResponseError)
})

test('a file that the server has made is downloaded', async (t) => {
  const content = randomBytes(400_000)
  const about = { organizationId: key.organizationId, workspaceId, filename: 'made', purpose: null }
  const { id } = await store.files.createFile({ ...about, origin: 'created' }, content)
  const stream = await manager.files.download({ fileId: id, workspaceId })
  const pieces: Uint8Array[] = []
  for await (const piece of stream) pieces.push(piece)
  t.ok(Buffer.concat(pieces).equals(content))
  await t.rejects(client.files.download({ fileId: id }), errors.ForbiddenResponseError)
  await t.rejects(manager.files.download({ fileId: 'file_x' }), errors.NotFoundResponseError)
  await t.rejects(manager.files.download({ fileId: id, provider: 'openai' }), errors.BadRequestResponseError)
})

test('mappings of groups are created, listed, read, changed and deleted', async (t) => {
  const wish = { scimGroupId: randomUUID(), workspaceId, role: 'member' } as const
  const { data } = await manager.scim.create({ createScimGroupMappingRequest: wish })
  t.match(data, { ...wish, organizationId: key.organizationId, createdAt: String, updatedAt: String })
  const { id } = data
  const changed = await manager.scim.update({ id, updateScimGroupMappingRequest: { role: 'admin' } })
  t.match(changed.data, { ...wish, id, role: 'admin' })
  t.strictSame((await manager.scim.read({ id })).data, changed.data)
  const page = await manager.scim.listMappings({})
  t.match(JSON.parse(JSON.stringify(page)), { result: { data: [{ id }], totalCount: 1 } })
  t.match(await manager.scim.delete({ id, keepMembers: 'false' }), { deleted: true })
  await t.rejects(manager.scim.read({ id }), errors.NotFoundResponseError)
  await t.rejects(
    clientOf(API_KEY).scim.update({ id, updateScimGroupMappingRequest: { role: 'admin' } }),
    errors.UnauthorizedResponseError,
  )
})
