/** contract/gateway 8.1: the content of a file. */
import { rmSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { errorBody } from '../../support/servers/account-api.js'
import { type FileApi, fileApi } from '../../support/servers/file-api.js'

const CONTENT = Buffer.from(Uint8Array.from({ length: 1_000_003 }, (_, i) => (i * 31 + (i >> 10)) & 255))
const NOT_MANAGEMENT = 'Only management keys can perform this operation'
const contentOf = (id: string, query = ''): string => `/api/v1/files/${id}/content${query}`
const header = (name: string, value: string): { headers: [string, string][] } => ({
  headers: [[name, value]],
})

test('a file that the server has made is downloaded as it is', async (t) => {
  const api = await fileApi(t)
  const { id } = await api.made(CONTENT, { filename: 'naïve "plan".pdf' })
  const { status, headers, body } = await api.call(api.managementKey, 'GET', contentOf(id))
  t.equal(status, 200)
  t.equal(headers['content-type'], 'application/octet-stream')
  t.equal(headers['content-length'], String(CONTENT.length))
  t.equal(headers.etag, `"${id}"`)
  t.equal(headers['accept-ranges'], 'bytes')
  t.equal(headers['x-content-type-options'], 'nosniff')
  t.equal(
    headers['content-disposition'],
    `attachment; filename="na_ve _plan_.pdf"; filename*=UTF-8''na%C3%AFve%20%22plan%22.pdf`,
  )
  t.ok(body.equals(CONTENT))
  const head = await api.call(api.managementKey, 'HEAD', contentOf(id))
  t.match(head, { status: 200, headers: { 'content-length': String(CONTENT.length), etag: `"${id}"` } })
  t.equal(head.body.length, 0)
})

test('ranges', async (t) => {
  const api = await fileApi(t)
  const file = await api.made(CONTENT)
  const size = CONTENT.length
  const etag = `"${file.id}"`
  const modified = new Date(file.createdAt).toUTCString()
  const get = (...headers: [string, string][]) =>
    api.call(api.managementKey, 'GET', contentOf(file.id), { headers })
  const parts: [string, number, number][] = [
    ['bytes=0-0', 0, 1],
    ['bytes=0-', 0, size],
    ['bytes=5-9', 5, 5],
    ['bytes=262143-262144', 262_143, 2],
    ['bytes=500000-99999999', 500_000, size - 500_000],
    ['bytes=-3', size - 3, 3],
    [`bytes=-${size + 5}`, 0, size],
  ]
  for (const [range, start, length] of parts) {
    const { status, headers, body } = await get(['Range', range])
    t.equal(status, 206, range)
    t.equal(headers['content-range'], `bytes ${start}-${start + length - 1}/${size}`)
    t.equal(headers['content-length'], String(length))
    t.ok(body.equals(CONTENT.subarray(start, start + length)), range)
  }
  for (const range of ['bytes=9-5', 'bytes=a-', 'items=0-1', 'bytes=0-1,3-4', 'bytes=-', '']) {
    t.equal((await get(['Range', range])).status, 200, `${range} is as if it were not there`)
  }
  for (const range of [`bytes=${size}-`, `bytes=${size}-${size + 1}`, 'bytes=-0']) {
    const reply = await get(['Range', range])
    t.equal(reply.status, 416, range)
    t.equal(reply.headers['content-range'], `bytes */${size}`)
    t.strictSame(reply.json, errorBody(416, 'Range not satisfiable'))
  }
  for (const [condition, status] of [
    [etag, 206],
    [modified, 206],
    ['"another"', 200],
    [`W/${etag}`, 200],
    [new Date(0).toUTCString(), 200],
  ] as const) {
    t.equal((await get(['Range', 'bytes=0-1'], ['If-Range', condition])).status, status, condition)
  }
})

test('who has it already is told so', async (t) => {
  const api = await fileApi(t)
  const { id } = await api.made('x')
  for (const [condition, status] of [
    [`"${id}"`, 304],
    [`W/"${id}"`, 304],
    [`"a", "${id}"`, 304],
    ['*', 304],
    ['"a"', 200],
  ] as const) {
    const reply = await api.call(api.managementKey, 'GET', contentOf(id), header('If-None-Match', condition))
    t.equal(reply.status, status, condition)
    if (status === 304) t.match(reply, { body: { length: 0 }, headers: { etag: `"${id}"` } })
  }
})

test('a file that was uploaded is not downloaded', async (t) => {
  const api = await fileApi(t)
  const { id } = (await api.upload(api.apiKey, [{ name: 'file', filename: 'a', content: 'a' }])).json
  const reply = await api.call(api.managementKey, 'GET', contentOf(id))
  t.equal(reply.status, 400)
  t.strictSame(reply.json, errorBody(400, 'Only files that the server has made can be downloaded'))
})

test('ordinary keys may not, unless the configuration says so', async (t) => {
  const api = await fileApi(t)
  const { id } = await api.made('made')
  for (const key of [api.apiKey, api.personalKey]) {
    const reply = await api.call(key, 'GET', contentOf(id))
    t.equal(reply.status, 403)
    t.strictSame(reply.json, errorBody(403, NOT_MANAGEMENT))
  }
  const open = await fileApi(t, { permissions: new Map([['file-content', 'key']]) })
  const file = await open.made('made')
  t.equal((await open.call(open.apiKey, 'GET', contentOf(file.id))).body.toString(), 'made')
  t.equal((await open.call(open.otherKey, 'GET', contentOf(file.id))).status, 404, 'of their workspace')
  const foreign = `?workspace_id=${open.workspaceId}`
  t.equal((await open.call(open.otherKey, 'GET', contentOf(file.id, foreign))).status, 403, 'and of no other')
})

test('what cannot be named is 404, what is not one’s own 403, what cannot be asked 400, without a key 401', async (t) => {
  const api = await fileApi(t)
  const { id } = await api.made('made')
  const elsewhere = await api.made('made', { workspaceId: api.otherWorkspaceId })
  const get = (key: string, path: string): ReturnType<FileApi['call']> => api.call(key, 'GET', path)
  const rows: [string, string, string, number, string][] = [
    ['an unknown id', api.managementKey, contentOf(`file_${'0'.repeat(26)}`), 404, 'Resource not found'],
    ['a malformed id', api.managementKey, contentOf('..%2f..%2fdata.mdb'), 404, 'Resource not found'],
    ['another workspace’s file', api.managementKey, contentOf(elsewhere.id), 404, 'Resource not found'],
    ['another organization’s file', api.foreignManagementKey, contentOf(id), 404, 'Resource not found'],
    [
      'another organization’s workspace',
      api.foreignManagementKey,
      contentOf(id, `?workspace_id=${api.workspaceId}`),
      403,
      'The key does not belong to this workspace',
    ],
    [
      'a malformed workspace',
      api.managementKey,
      contentOf(id, '?workspace_id=1'),
      400,
      'workspace_id: must be a UUID',
    ],
    [
      'a provider without a key of one’s own',
      api.managementKey,
      contentOf(id, '?provider=anthropic'),
      400,
      'provider: needs a key of your own for this provider: one of this workspace or, with a management key, of the organization. Without it the files of this server are meant',
    ],
    [
      'an unknown provider',
      api.managementKey,
      contentOf(id, '?provider=x'),
      400,
      'provider: must be one of openai, anthropic',
    ],
    ['no key', '', contentOf(id), 401, 'Missing Authentication header'],
    ['an unknown key', 'sk-x', contentOf(id), 401, 'Invalid credentials'],
  ]
  for (const [name, key, path, status, message] of rows) {
    const reply = await get(key, path)
    t.equal(reply.status, status, name)
    t.strictSame(reply.json, errorBody(status, message), name)
  }
  const query = `?workspace_id=${api.otherWorkspaceId}`
  t.equal((await get(api.managementKey, contentOf(elsewhere.id, query))).body.toString(), 'made')
})

test('a content that is not what its record says is 500, and the log says which', async (t) => {
  for (const damage of [rmSync, (path: string) => truncateSync(path, 3)]) {
    const api = await fileApi(t)
    const { id } = await api.made('made')
    damage(join(api.folder, 'files', id.slice(-2), id))
    const reply = await api.call(api.managementKey, 'GET', contentOf(id))
    t.equal(reply.status, 500)
    t.strictSame(reply.json, errorBody(500, 'Internal Server Error'))
    t.match(api.lines.at(-1), { operation: 'file-content', detail: 'the content of a file is not there' })
  }
})
