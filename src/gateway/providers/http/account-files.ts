/** The files of an account at a server over HTTP; what a format says of them is told by its wire. */
import { Fault, type FaultKind } from '../../../base/fault.js'
import { contentLengthOf } from '../../../upstream/body-text.js'
import type { UpstreamRequest } from '../../../upstream/port.js'
import { asObject, type JsonObject } from '../../formats/json-values.js'
import type { AccountCall, AccountFile, AccountFilePage, AccountFileQuery } from '../port/account-files.js'
import type { FailureSource, ResponseHeaders } from '../port/failure.js'
import type { AccountFiles, ContentReceiver, ProviderFailure } from '../port/provider.js'
import type { DocumentFormat } from './answer-format.js'
import { type FormFields, formBody } from './form-body.js'
import { DocumentExchange, ProviderExchange } from './provider-exchange.js'
import type { ProviderServer } from './server.js'

/** How a format of providers says files. */
export interface FilesWire {
  /** Below the base URL. */
  readonly path: string
  /** Further request headers, names and values by turns. */
  readonly headers: readonly string[]
  /** Throws `invalid-input` for what the format cannot say. */
  pageQuery(page: AccountFileQuery): Readonly<Record<string, string>>
  /** Fields of a form beside the file. Throws as `pageQuery`. */
  formFields(purpose: string | null): FormFields
  /** Null when it is none. */
  parseFile(body: JsonObject): AccountFile | null
  isRemoval(body: JsonObject): boolean
}

type SentRequest = Pick<UpstreamRequest, 'method' | 'path' | 'headers' | 'body'>

const CALLER_GONE = new Fault('unavailable', { detail: 'the caller left' })

/** The files of the account whose credential the server is asked with. */
export function accountFiles(server: ProviderServer, wire: FilesWire): AccountFiles {
  const template = server.template(wire.path, 'application/json')
  const bare = [...server.headersWithout(template, 'content-type'), ...wire.headers]
  const any = [...bare.filter((_, at) => bare[at - (at % 2)] !== 'accept'), 'accept', '*/*']
  const target = (below: string): string => template.path + below
  const sourceOf = ({ providerName }: AccountCall): FailureSource => ({
    ...server.source({ endpoint: { provider: { name: providerName } } }),
    without422: true,
  })
  const boundsOf = ({ caller, deadlineAt }: AccountCall) => ({ caller, deadlineAt, repeatable: true })
  const ask = <A>(call: AccountCall, sent: SentRequest, format: DocumentFormat<A>, isNamed: boolean) =>
    new Promise<A>((resolve, reject) => {
      const onFailure = (failure: ProviderFailure): void => reject(toldFault(failure, isNamed))
      const exchange = new DocumentExchange(sourceOf(call), { onEnd: resolve, onFailure }, format, '')
      const handle = server.send(exchange, { ...template, ...sent }, boundsOf(call))
      call.cancellation.onAbort(() => {
        handle.cancel()
        reject(CALLER_GONE)
      })
    })
  const file: DocumentFormat<AccountFile> = { parse: wire.parseFile, missing: 'a body that is no file' }
  const page: DocumentFormat<AccountFilePage> = {
    parse: (body) => parsePage(body, wire),
    missing: 'a body that is no page of files',
  }
  const removal: DocumentFormat<true> = {
    parse: (body) => wire.isRemoval(body) || null,
    missing: 'a body that tells of no removal',
  }
  const get = { method: 'GET', headers: bare, body: null } as const
  return {
    create: async (call, { purpose, ...sent }) => {
      const { contentType, length, body } = formBody(wire.formFields(purpose), sent)
      const headers = [...bare, 'content-type', contentType, 'content-length', String(length)]
      return ask(call, { method: 'POST', path: target(''), headers, body }, file, false)
    },
    list: async (call, query) =>
      ask(call, { ...get, path: target(`?${new URLSearchParams(wire.pageQuery(query))}`) }, page, false),
    read: (call, id) => ask(call, { ...get, path: target(pathOf(id)) }, file, true),
    remove: async (call, id) => {
      await ask(call, { ...get, method: 'DELETE', path: target(pathOf(id)) }, removal, true)
    },
    content: (call, id, maxBytes, receiver) => {
      const exchange = new ContentExchange(sourceOf(call), receiver, maxBytes)
      const sent = { ...get, headers: any, path: target(`${pathOf(id)}/content`) }
      return server.send(exchange, { ...template, ...sent }, boundsOf(call))
    },
  }
}

const pathOf = (id: string): string => `/${encodeURIComponent(id)}`

function parsePage(body: JsonObject, { parseFile }: FilesWire): AccountFilePage | null {
  if (!Array.isArray(body.data)) return null
  const files = body.data.map((each) => parseFile(asObject(each) ?? {}))
  const known = files.filter((each) => each !== null)
  return known.length < files.length ? null : { files: known, hasMore: body.has_more === true }
}

// ── Contents ────────────────────────────────────────────────────────────────

/** Bytes of any type, passed on as they come. */
class ContentExchange extends ProviderExchange<ContentReceiver, never> {
  readonly #maxBytes: number
  #declared = -1
  #size = 0

  constructor(source: FailureSource, receiver: ContentReceiver, maxBytes: number) {
    const onFailure = (failure: ProviderFailure): void =>
      receiver.onFailure({ ...failure, fault: toldFault(failure, true) })
    const told: ContentReceiver = {
      onHead: () => receiver.onHead(),
      onData: (piece) => receiver.onData(piece),
      onEnd: () => receiver.onEnd(),
      onFailure,
    }
    super(source, told, null, '')
    this.#maxBytes = maxBytes
  }

  override onHead(status: number, headers: ResponseHeaders): void {
    this.#declared = contentLengthOf(headers)
    super.onHead(status, headers)
  }

  protected onSuccessHead(): void {
    if (this.#declared > this.#maxBytes) this.#failTooLarge()
    else this.receiver.onHead()
  }

  protected override onPiece(chunk: Uint8Array): void {
    this.#size += chunk.byteLength
    if (this.over) return
    if (this.#size > this.#maxBytes) this.#failTooLarge()
    else this.receiver.onData(chunk)
  }

  #failTooLarge(): void {
    this.failWith(
      new Fault('bad-request', {
        note: `The file is larger than ${this.#maxBytes} bytes, which is the limit here`,
      }),
    )
  }

  protected override onLastPiece(): void {
    this.finish()
    this.receiver.onEnd()
  }
}

// ── Failures ────────────────────────────────────────────────────────────────

/** What the operations of files know beside `provider-failed` (contract/gateway 8). */
const TOLD: ReadonlySet<FaultKind> = new Set([
  'bad-request',
  'forbidden',
  'item-not-found',
  'payload-too-large',
  'rate-limited',
  'unavailable',
])

/**
 * What a caller is told. It is its own account that refuses a key (401, 402, 403), so that is for the caller to mend and
 * is no 401 of ours; 404 is that of the file, where one is named.
 */
function toldFault({ fault, status }: ProviderFailure, isNamed: boolean): Fault {
  const { metadata, detail } = fault
  const told = (error_type: 'permission_denied' | 'not_found') => ({ ...metadata!, error_type })
  if (status === 401 || status === 402 || status === 403)
    return new Fault('forbidden', {
      note: 'The provider refused the key that was brought for it',
      metadata: told('permission_denied'),
      detail,
    })
  if (status === 404 && isNamed) return new Fault('item-not-found', { metadata: told('not_found'), detail })
  if (fault.kind === 'provider-overloaded') return new Fault('unavailable', fault)
  return TOLD.has(fault.kind) ? fault : new Fault('provider-failed', fault)
}
