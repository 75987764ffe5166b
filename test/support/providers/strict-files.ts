/** Servers that take what OpenAI and Anthropic document for their files, and nothing else. One account for each key. */
import type { MockRequest, Peer, Script } from './mock-upstream.js'
import {
  formMembers,
  oneOf,
  type Rule,
  requireHeader,
  requireListed,
  strictly,
  WireRefusal,
  within,
} from './strict-service.js'

interface StoredFile {
  readonly id: string
  readonly filename: string
  readonly type: string
  readonly purpose: string
  readonly content: string
}

/** What a format has of its own. */
interface FileFormat {
  readonly path: string
  readonly fields: Readonly<Record<string, Rule>>
  readonly query: Readonly<Record<string, Rule>>
  /** The key of the account. Throws where the headers are not all there. */
  keyOf(request: MockRequest): string
  show(file: StoredFile): object
  removed(id: string): object
  mayRead(file: StoredFile): boolean
  refuse(refusal: WireRefusal): object
}

const isId: Rule = (value) => /^[\w-]+$/.test(String(value))
/** When all files were made. */
const MADE_AT = 1_763_900_000

const OPENAI: FileFormat = {
  path: '/v1/files',
  fields: { purpose: oneOf('assistants', 'batch', 'fine-tune', 'vision', 'user_data', 'evals') },
  query: { limit: within(1, 10_000), order: oneOf('asc', 'desc'), after: isId },
  keyOf: ({ headers }) => headers.authorization?.replace(/^Bearer /, '') ?? '',
  show: ({ id, filename, purpose, content }) => ({
    ...{ id, object: 'file', bytes: Buffer.byteLength(content), created_at: MADE_AT, filename, purpose },
    ...{ status: 'processed', expires_at: null },
  }),
  removed: (id) => ({ id, object: 'file', deleted: true }),
  mayRead: ({ purpose }) => purpose.startsWith('batch'),
  refuse: ({ code, message }) => ({ error: { message, type: 'invalid_request_error', code } }),
}

const ANTHROPIC: FileFormat = {
  path: '/v1/files',
  fields: {},
  query: { limit: within(1, 1000), after_id: isId, before_id: isId },
  keyOf: (request) => {
    requireHeader(request, 'anthropic-version', '2023-06-01')
    requireHeader(request, 'anthropic-beta', 'files-api-2025-04-14')
    return request.headers['x-api-key'] ?? ''
  },
  show: ({ id, filename, type, purpose, content }) => ({
    ...{ id, type: 'file', filename, mime_type: type, size_bytes: Buffer.byteLength(content) },
    ...{ created_at: new Date(MADE_AT * 1000).toISOString(), downloadable: purpose === 'made' },
  }),
  removed: (id) => ({ id, type: 'file_deleted' }),
  mayRead: ({ purpose }) => purpose === 'made',
  refuse: ({ code, message }) => ({ type: 'error', error: { type: code, message } }),
}

interface FileService {
  readonly script: Script
  /** Puts a file into an account and gives its id. */
  put(key: string, filename: string, purpose: string, content: string): string
}

export const openAiFiles = (keys: readonly string[]): FileService => fileService(OPENAI, keys)
export const anthropicFiles = (keys: readonly string[]): FileService => fileService(ANTHROPIC, keys)

function fileService(format: FileFormat, keys: readonly string[]): FileService {
  const accounts = new Map(keys.map((key) => [key, new Map<string, StoredFile>()]))
  let last = 0
  const add = (key: string, file: Omit<StoredFile, 'id'>): StoredFile => {
    const id = `file-${String(++last).padStart(6, '0')}`
    accounts.get(key)!.set(id, { id, ...file })
    return { id, ...file }
  }
  const create = (peer: Peer, request: MockRequest, key: string): void => {
    const { fields, file } = formMembers(request)
    requireListed(fields, format.fields, 400)
    if (file === null || fields.length !== Object.keys(format.fields).length)
      throw new WireRefusal(400, 'invalid_request_error', 'a field is missing')
    const head = /filename="([^"]*)"\r\nContent-Type: (\S+)/.exec(request.body)!
    const stored = { filename: head[1]!, type: head[2]!, purpose: fields[0]?.[1] ?? '', content: file }
    peer.json(format.show(add(key, stored)))
  }
  const list = (peer: Peer, files: readonly StoredFile[], query: URLSearchParams): void => {
    requireListed(query, format.query, 400)
    const ordered = query.get('order') === 'asc' ? files : files.toReversed()
    const after = query.get('after') ?? query.get('after_id')
    const before = query.get('before_id')
    const limit = Number(query.get('limit') ?? 20)
    const at = (id: string): number => ordered.findIndex((file) => file.id === id)
    const rest =
      after === null
        ? ordered.slice(0, before === null ? undefined : at(before))
        : ordered.slice(at(after) + 1)
    const page = before === null ? rest.slice(0, limit) : rest.slice(-limit)
    peer.json({
      data: page.map(format.show),
      has_more: page.length < rest.length,
      ...{ first_id: page[0]?.id ?? null, last_id: page.at(-1)?.id ?? null },
    })
  }
  const script = strictly(
    (peer, request, url) => {
      const key = format.keyOf(request)
      const files = accounts.get(key)
      if (files === undefined) throw new WireRefusal(401, 'invalid_api_key', `Incorrect API key: ${key}`)
      const [, id, content] = /^\/([^/]+)(\/content)?$/.exec(url.pathname.slice(format.path.length)) ?? []
      if (!url.pathname.startsWith(format.path)) throw new WireRefusal(404, 'not_found', 'no such path')
      if (id === undefined) {
        if (request.method === 'POST') create(peer, request, key)
        else list(peer, [...files.values()], url.searchParams)
        return
      }
      requireListed(url.searchParams, {}, 400)
      const file = files.get(id)
      if (file === undefined) throw new WireRefusal(404, 'not_found_error', 'No such File object')
      if (request.method === 'DELETE') {
        files.delete(id)
        peer.json(format.removed(id))
      } else if (content === undefined) peer.json(format.show(file))
      else if (!format.mayRead(file))
        throw new WireRefusal(400, 'invalid_request_error', `Not allowed to download files of ${key}`)
      else peer.answer(200, file.content, { 'content-type': 'text/html' })
    },
    (peer, refusal) => peer.json(format.refuse(refusal), refusal.status),
  )
  const put: FileService['put'] = (key, filename, purpose, content) =>
    add(key, { filename, type: 'text/csv', purpose, content }).id
  return { script, put }
}
