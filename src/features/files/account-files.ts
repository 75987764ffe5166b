/** Files that lie in the caller's account at a provider (contract/gateway 8.1). */
import { throwFault } from '../../base/fault.js'
import type { Principal } from '../../base/principal.js'
import type { OwnFileAccount } from '../../gateway/files/own-account.js'
import type { AccountCall } from '../../gateway/providers/port/account-files.js'
import {
  CallAdapter,
  type ContentReceiver,
  type ProviderFailure,
} from '../../gateway/providers/port/provider.js'
import type { HttpCall, Reply, ResponseSink, StreamResponseBody } from '../../http/endpoint.js'
import { readFileForm } from '../../http/multipart.js'
import type { Spool, SpooledBytes } from '../../store/spool.js'
import type { FilePlace } from './place.js'
import { requireUpload } from './upload.js'

interface AccountFilesPorts {
  /** Holds an upload until all of it has come and was found good. */
  readonly spool: Spool
  readonly fileBytes: number
  readonly deadlineMs: number
}

/** Ids become part of a path at the provider. */
const FILE_ID = /^[\w-]{1,256}$/

export function accountFilePlace(
  { files, providerName }: OwnFileAccount,
  caller: Principal,
  call: HttpCall,
  { spool, fileBytes, deadlineMs }: AccountFilesPorts,
): FilePlace {
  const deadlineAt = call.arrivedAt + deadlineMs
  const asked: AccountCall = { providerName, caller, cancellation: call, deadlineAt }
  const known = (id: string): string => (FILE_ID.test(id) ? id : throwFault('item-not-found'))
  return {
    create: async () => {
      const form = await readFileForm(call, { fileBytes }, () => spool.beginWrite())
      let bytes: SpooledBytes | undefined
      try {
        const { file, filename, purpose } = requireUpload(form)
        bytes = await file.writer.finish()
        const { contentType: mediaType } = file.header
        return await files.create(asked, { filename, mediaType, purpose, bytes })
      } finally {
        form.file?.writer.abandon()
        bytes?.discard()
      }
    },
    list: (page) => files.list(asked, page),
    read: async (id) => files.read(asked, known(id)),
    remove: async (id) => files.remove(asked, known(id)),
    content: async (id) => {
      const wanted = known(id)
      return new Promise((resolve, reject) => {
        const download = new AccountDownload(call, resolve, reject)
        download.attach(files.content(asked, wanted, fileBytes, download))
        call.onAbort(() => download.cancel())
      })
    },
  }
}

const HEADERS = [
  ['Content-Type', 'application/octet-stream'],
  ['Content-Disposition', 'attachment'],
  ['X-Content-Type-Options', 'nosniff'],
  ['Cache-Control', 'private, no-cache'],
] as const

/** A content on its way: the reply comes with the head of the provider's answer, and the bytes pass through. */
class AccountDownload extends CallAdapter implements ContentReceiver, StreamResponseBody {
  /** Nothing may stand between two pieces of a file. */
  readonly heartbeat = ''
  readonly padding = ''
  readonly closingFrame = ''
  readonly #http: HttpCall
  readonly #resolve: (reply: Reply) => void
  readonly #reject: (error: unknown) => void
  #sink: ResponseSink | null = null
  /** What came before the transport took the body. */
  readonly #early: Uint8Array[] = []
  #isOpen = false
  #isEnded = false

  constructor(http: HttpCall, resolve: (reply: Reply) => void, reject: (error: unknown) => void) {
    super()
    this.#http = http
    this.#resolve = resolve
    this.#reject = reject
  }

  // ── The provider ────────────────────────────────────────────────────────

  onHead(): void {
    this.#isOpen = true
    // Of a body that nobody takes nothing else is heard.
    if (this.#http.headOnly) this.cancel()
    else this.pause()
    this.#resolve({ status: 200, headers: HEADERS, body: this })
  }

  onData(piece: Uint8Array): void {
    if (this.#sink === null) this.#early.push(Uint8Array.from(piece))
    else if (!this.#sink.write(piece)) this.pause()
  }

  onEnd(): void {
    this.#isEnded = true
    this.#sink?.end()
  }

  onFailure({ fault }: ProviderFailure): void {
    // Bytes have no word for a failure. A body without its end is one: no client takes it for complete.
    if (this.#isOpen) this.#http.disconnect?.()
    else this.#reject(fault)
  }

  // ── The transport ───────────────────────────────────────────────────────

  start(sink: ResponseSink): void {
    this.#sink = sink
    sink.onDrain(() => this.resume())
    let isTaken = true
    for (const piece of this.#early) isTaken = sink.write(piece) && isTaken
    if (this.#isEnded) sink.end()
    else if (isTaken) this.resume()
  }
}
