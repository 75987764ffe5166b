/** contract/gateway 8.2: upload, list, read and delete. */

import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import type { FormPart } from '../../support/clients/incoming-body.js'
import { errorBody } from '../../support/servers/account-api.js'
import { BOUNDARY, FILE_LIMIT, type FileApi, fileApi } from '../../support/servers/file-api.js'

const TEXT: FormPart = {
  name: 'file',
  filename: 'notes.md',
  type: 'application/pdf',
  content: 'hello, world',
}
const NOT_FOUND = errorBody(404, 'Resource not found')
const ID = /^file_[0-9a-hjkmnp-tv-z]{26}$/

/** Names of everything that lies on the disk. */
function onDisk({ folder }: FileApi): string[] {
  try {
    const names = readdirSync(join(folder, 'files'), { recursive: true, withFileTypes: true })
    return names.filter((entry) => entry.isFile()).map(({ name }) => name)
  } catch {
    return []
  }
}

test('a file is uploaded, read, listed and deleted', async (t) => {
  const api = await fileApi(t)
  const made = await api.upload(api.apiKey, [{ name: 'purpose', content: 'assistants' }, TEXT])
  t.equal(made.status, 200)
  const { id } = made.json
  t.match(id, ID)
  const file = {
    id,
    type: 'file',
    filename: 'notes.md',
    mime_type: 'text/plain',
    size_bytes: 12,
    created_at: '2023-11-14T22:13:20.001Z',
    downloadable: false,
  }
  t.strictSame(made.json, file, 'the type is the content’s own, whatever was declared')
  t.match(made.headers['x-request-id'], /^req-/)
  t.equal(made.headers['content-type'], 'application/json')
  t.strictSame((await api.call(api.apiKey, 'GET', `/api/v1/files/${id}`)).json, file)
  t.strictSame((await api.call(api.apiKey, 'GET', '/api/v1/files')).json, {
    data: [file],
    has_more: false,
    first_id: id,
    last_id: id,
    cursor: null,
    next_page: null,
  })
  t.strictSame(onDisk(api), [id])
  const deleted = await api.call(api.apiKey, 'DELETE', `/api/v1/files/${id}`)
  t.equal(deleted.status, 200)
  t.strictSame(deleted.json, { id, type: 'file_deleted' })
  t.strictSame(onDisk(api), [])
  for (const method of ['GET', 'DELETE']) {
    const gone = await api.call(api.apiKey, method, `/api/v1/files/${id}`)
    t.equal(gone.status, 404)
    t.strictSame(gone.json, NOT_FOUND)
  }
})

test('clients of OpenAI’s format get their shape, and those of Anthropic’s the native one', async (t) => {
  const api = await fileApi(t)
  const agent = 'OpenAI/JS 5.0.0'
  const made = await api.upload(api.apiKey, [TEXT, { name: 'purpose', content: 'assistants' }], '', agent)
  const { id } = made.json
  const file = {
    id,
    object: 'file',
    bytes: 12,
    created_at: 1_700_000_000,
    filename: 'notes.md',
    purpose: 'assistants',
    status: 'processed',
  }
  t.strictSame(made.json, file)
  const openai = { headers: [['User-Agent', agent] as const] }
  t.strictSame((await api.call(api.apiKey, 'GET', `/api/v1/files/${id}`, openai)).json, file)
  t.strictSame((await api.call(api.apiKey, 'GET', '/api/v1/files', openai)).json, {
    object: 'list',
    data: [file],
    has_more: false,
    first_id: id,
    last_id: id,
  })
  const anthropic = { headers: [...openai.headers, ['anthropic-version', '2023-06-01'] as const] }
  t.match((await api.call(api.apiKey, 'GET', `/api/v1/files/${id}`, anthropic)).json, { type: 'file' })
  t.strictSame((await api.call(api.apiKey, 'DELETE', `/api/v1/files/${id}`, openai)).json, {
    id,
    object: 'file',
    deleted: true,
  })
})

test('an upload that cannot be taken is refused, and nothing of it is stored', async (t) => {
  const api = await fileApi(t)
  const cases: [string, FormPart[], number, string][] = [
    ['no file', [{ name: 'purpose', content: 'x' }], 400, 'file: is required'],
    ['a field instead', [{ name: 'file', content: 'x' }], 400, 'file: must be a file'],
    ['an empty file', [{ ...TEXT, content: '' }], 400, 'file: must not be empty'],
    ['two files', [TEXT, TEXT], 400, 'body: must hold one file'],
    [
      'another name',
      [{ ...TEXT, name: 'upload' }],
      400,
      'file: must be the name of the part that holds a file',
    ],
    [
      'a purpose twice',
      [TEXT, { name: 'purpose', content: 'a' }, { name: 'purpose', content: 'b' }],
      400,
      'purpose: must come once',
    ],
    [
      'a long purpose',
      [TEXT, { name: 'purpose', content: 'x'.repeat(65) }],
      400,
      'purpose: must have 1 to 64 characters',
    ],
    [
      'an expiry',
      [TEXT, { name: 'expires_after[seconds]', content: '60' }],
      400,
      'expires_after: is not supported',
    ],
    [
      'too large a file',
      [{ ...TEXT, content: Buffer.alloc(FILE_LIMIT + 1) }],
      413,
      'Request payload too large',
    ],
  ]
  for (const [name, parts, status, message] of cases) {
    const reply = await api.upload(api.apiKey, parts)
    t.equal(reply.status, status, name)
    t.strictSame(reply.json, errorBody(status, message), name)
  }
  const types: [string, string][] = [
    ['application/json', 'body: must be sent as multipart/form-data with a boundary'],
    ['multipart/form-data', 'body: must be sent as multipart/form-data with a boundary'],
    [`multipart/form-data; boundary=${BOUNDARY}`, 'body: ends before its closing boundary'],
  ]
  for (const [type, message] of types) {
    const headers = [['Content-Type', type] as const]
    const reply = await api.call(api.apiKey, 'POST', '/api/v1/files', { headers, body: Buffer.from('{}') })
    t.equal(reply.status, 400)
    t.strictSame(reply.json, errorBody(400, message), type)
  }
  t.equal(
    (await api.upload(api.apiKey, [{ ...TEXT, content: Buffer.alloc(FILE_LIMIT) }])).status,
    200,
    'the limit itself',
  )
  t.equal((await api.call(api.apiKey, 'GET', '/api/v1/files')).json.data.length, 1)
  t.equal(onDisk(api).length, 1)
})

test('a file name is a name, and there is one', async (t) => {
  const api = await fileApi(t)
  for (const [sent, kept] of [
    ['../../etc/passwd', 'passwd'],
    ['C:\\dir\\é ☃.wav', 'é ☃.wav'],
    ['..', 'file'],
    ['', 'file'],
  ] as const) {
    t.equal((await api.upload(api.apiKey, [{ ...TEXT, filename: sent }])).json.filename, kept)
  }
})

test('callers see the files of their workspace and no others', async (t) => {
  const api = await fileApi(t)
  const { id } = (await api.upload(api.apiKey, [TEXT])).json
  const other = (await api.upload(api.managementKey, [TEXT], `?workspace_id=${api.otherWorkspaceId}`)).json.id
  const ids = async (key: string, query = ''): Promise<string[]> =>
    (await api.call(key, 'GET', `/api/v1/files${query}`)).json.data.map((file: { id: string }) => file.id)
  t.strictSame(await ids(api.apiKey), [id])
  t.strictSame(await ids(api.personalKey), [id])
  t.strictSame(await ids(api.managementKey), [id], 'the first workspace is the default one')
  t.strictSame(await ids(api.managementKey, `?workspace_id=${api.otherWorkspaceId.toUpperCase()}`), [other])
  t.strictSame(await ids(api.otherKey), [other])
  t.strictSame(await ids(api.foreignManagementKey), [])
  for (const key of [api.otherKey, api.foreignManagementKey]) {
    for (const method of ['GET', 'DELETE']) {
      const reply = await api.call(key, method, `/api/v1/files/${id}`)
      t.equal(reply.status, 404)
      t.strictSame(reply.json, NOT_FOUND)
    }
  }
  t.strictSame(await ids(api.apiKey), [id], 'and it is still there')
})

test('who may not act in a workspace is told so, and nothing is stored', async (t) => {
  const api = await fileApi(t)
  const rows: [string, string, string][] = [
    ['a key of another workspace', api.apiKey, api.otherWorkspaceId],
    ['a key of another organization', api.apiKey, api.foreignWorkspaceId],
    ['a management key of another organization', api.managementKey, api.foreignWorkspaceId],
    ['a workspace that is none', api.managementKey, '01890000-0000-7000-8000-000000000000'],
  ]
  for (const [name, key, workspace] of rows) {
    const query = `?workspace_id=${workspace}`
    for (const reply of [
      await api.upload(key, [TEXT], query),
      await api.call(key, 'GET', `/api/v1/files${query}`),
      await api.call(key, 'GET', `/api/v1/files/file_x${query}`),
      await api.call(key, 'DELETE', `/api/v1/files/file_x${query}`),
    ]) {
      t.equal(reply.status, 403, name)
      t.strictSame(reply.json, errorBody(403, 'The key does not belong to this workspace'))
    }
  }
  t.strictSame(onDisk(api), [])
})

test('parameters that cannot be are 400, ids that cannot be are 404, no credential is 401', async (t) => {
  const api = await fileApi(t)
  const get = (path: string): ReturnType<FileApi['call']> =>
    api.call(api.apiKey, 'GET', `/api/v1/files${path}`)
  const cases: [string, string][] = [
    ['?workspace_id=here', 'workspace_id: must be a UUID'],
    ['?provider=google', 'provider: must be one of openai, anthropic'],
    [
      '?provider=openai',
      'provider: needs a key of your own for this provider: one of this workspace or, with a management key, of the organization. Without it the files of this server are meant',
    ],
    ['?limit=0', 'limit: must be at least 1'],
    ['?limit=1001', 'limit: must be at most 1000'],
    ['?limit=x', 'limit: must be an integer'],
    ['?order=up', 'order: must be one of asc, desc'],
    ['?cursor=%20', 'cursor: must be the id of a file'],
    ['?after=a&after_id=b', 'after: must not be combined with another place in the list'],
    ['?after=a&before_id=a', 'before_id: must not be combined with another place in the list'],
  ]
  for (const [query, message] of cases) {
    const reply = await get(query)
    t.equal(reply.status, 400, query)
    t.strictSame(reply.json, errorBody(400, message))
  }
  for (const id of ['x', '..%2f..%2fetc', `file_${'0'.repeat(26)}`, `${'x'.repeat(300)}`, '%00']) {
    t.equal((await get(`/${id}`)).status, 404, id)
  }
  for (const [method, path] of [
    ['POST', '/api/v1/files'],
    ['GET', '/api/v1/files'],
    ['GET', '/api/v1/files/x'],
    ['DELETE', '/api/v1/files/x'],
  ] as const) {
    const reply = await api.call('', method, path)
    t.equal(reply.status, 401)
    t.strictSame(reply.json, errorBody(401, 'Missing Authentication header'))
  }
  t.equal((await api.call(api.apiKey, 'PUT', '/api/v1/files')).status, 405)
})

test('pages follow each other in both directions and orders, whatever goes meanwhile', async (t) => {
  const api = await fileApi(t)
  const all: string[] = []
  for (let n = 0; n < 7; n++) {
    api.clock.advance(10)
    all.push((await api.upload(api.apiKey, [{ ...TEXT, filename: `${n}` }])).json.id)
  }
  const newest = [...all].reverse()
  const page = async (query: string) => (await api.call(api.apiKey, 'GET', `/api/v1/files?${query}`)).json
  const idsOf = ({ data }: { data: { id: string }[] }): string[] => data.map(({ id }) => id)
  for (const [order, expected] of [
    ['', newest],
    ['order=asc', all],
    ['order=desc', newest],
  ] as const) {
    for (const name of ['after', 'after_id', 'cursor', 'page']) {
      const found: string[] = []
      for (let place = '', more = true; more; ) {
        const answer = await page(`${order}&limit=3${place}`)
        found.push(...idsOf(answer))
        t.equal(answer.first_id, answer.data[0].id)
        t.equal(answer.last_id, answer.data.at(-1).id)
        t.equal(answer.cursor, answer.has_more ? answer.last_id : null)
        t.equal(answer.next_page, answer.cursor)
        more = answer.has_more
        place = `&${name}=${answer.last_id}`
      }
      t.strictSame(found, expected, `${order} by ${name}`)
    }
    const before = await page(`${order}&limit=2&before_id=${expected[4]}`)
    t.strictSame(idsOf(before), expected.slice(2, 4))
    t.ok(before.has_more)
    const first = await page(`${order}&limit=2&before_id=${expected[2]}`)
    t.strictSame(idsOf(first), expected.slice(0, 2))
    t.notOk(first.has_more)
  }
  await api.call(api.apiKey, 'DELETE', `/api/v1/files/${newest[2]}`)
  t.strictSame(
    idsOf(await page(`limit=2&after=${newest[2]}`)),
    newest.slice(3, 5),
    'the place itself may be gone',
  )
  const none = await page(`after=${newest[6]}`)
  t.match(none, { data: [], has_more: false, first_id: null, last_id: null, cursor: null })
})

test('a store that takes nothing answers 503, and one that is broken 500', async (t) => {
  const { Fault } = await import('../../../src/base/fault.js')
  // The disk hears of a small file when it is complete.
  const kinds = [
    ['unavailable', 503, 'small'],
    ['unavailable', 503, 'large'],
    ['internal', 500, 'small'],
    ['internal', 500, 'large'],
  ] as const
  for (const [kind, status, size] of kinds) {
    const fail = (): Promise<never> => Promise.reject(new Fault(kind))
    const write = size === 'large' ? fail : () => {}
    const api = await fileApi(t, {
      around: ({ files, scim }) => ({
        scim,
        files: {
          ...files,
          beginFile: () => ({ write, commit: fail, abandon: async () => {} }),
          removeFile: fail,
        },
      }),
    })
    const reply = await api.upload(api.apiKey, [TEXT])
    t.equal(reply.status, status)
    if (status === 503) t.match(reply.headers['retry-after'], /^\d+$/)
    const { id } = await api.made('x')
    t.equal((await api.call(api.apiKey, 'DELETE', `/api/v1/files/${id}`)).status, status)
  }
})
