/**
 * Files that a messages server has made in the operator's account, such as those of its code execution. They are fetched
 * with our credential and kept in the caller's workspace; the answer names them by our ids. Where that fails the id is
 * left out and named: one of the account's is told to nobody (contract/decisions 46).
 */
import type { Principal } from '../../../base/principal.js'
import type { UpstreamCall } from '../../../upstream/port.js'
import { asObject, nonEmptyText, parseJson } from '../../formats/json-values.js'
import type { ContentBlock, MessagesAnswer, MessagesEvent, MessagesRequest } from '../../formats/messages.js'
import type { HeldMedia, MediaRoom } from '../http/media-room.js'
import type { ProviderServer } from '../http/server.js'
import {
  CallAdapter,
  type CompletionReceiver,
  type MessagesApi,
  type ProviderCall,
  type ProviderFailure,
  StreamAdapter,
  type StreamReceiver,
} from '../port/provider.js'
import { type FileNamer, fileIdsIn, mayNameFiles, replaceFileIds } from './file-ids.js'

interface KeptFile {
  readonly id: string
  readonly filename: string
  readonly mimeType: string
  readonly sizeBytes: number
}

/** Keeps a file for a caller. Rejects where there is no room for it. */
export type KeepFile = (caller: Principal, filename: string, bytes: Uint8Array) => Promise<KeptFile>

const MOST_BYTES = 32 * 1024 * 1024
const MOST_FILES = 16
const LONGEST_FETCH_MS = 30_000
/** The server's files are a beta of it. */
export const FILES_BETA = ['anthropic-beta', 'files-api-2025-04-14'] as const

type MessagesCall = ProviderCall<MessagesRequest>

/** The same messages with our ids of files. */
export function withKeptFiles(
  messages: MessagesApi,
  server: ProviderServer,
  keep: KeepFile,
  room: MediaRoom,
): MessagesApi {
  return {
    stream: (call, receiver) => {
      const adapter = new FileKeepingStream(new AccountFiles(call, server, keep, room), receiver)
      return adapter.attach(messages.stream(call, adapter))
    },
    complete: (call, receiver) => {
      const adapter = new FileKeepingCompletion(new AccountFiles(call, server, keep, room), receiver)
      return adapter.attach(messages.complete(call, adapter))
    },
  }
}

/** The files of one answer. */
class AccountFiles {
  readonly #call: MessagesCall
  readonly #server: ProviderServer
  readonly #keep: KeepFile
  readonly #room: MediaRoom
  /** By the id of the account; null for those that cannot be had. */
  readonly #kept = new Map<string, KeptFile | null>()
  /** Ends the fetch under way. */
  #endFetch: (() => void) | null = null
  #isOver = false

  constructor(call: MessagesCall, server: ProviderServer, keep: KeepFile, room: MediaRoom) {
    this.#call = call
    this.#server = server
    this.#keep = keep
    this.#room = room
  }

  /** Never rejects. */
  async keepAll(ids: readonly string[]): Promise<void> {
    for (const id of ids) {
      if (this.#kept.has(id) || this.#isOver) continue
      const isTooMany = this.#kept.size >= MOST_FILES
      this.#kept.set(id, isTooMany ? null : await this.#keepOne(id).catch(() => null))
    }
  }

  /** Ours; null for one that cannot be named, which is told. */
  readonly nameOf: FileNamer = (id) => {
    const own = this.#kept.get(id) ?? null
    if (own === null) {
      this.tellLoss('file_id')
      return null
    }
    const { filename, mimeType, sizeBytes } = own
    return { file_id: own.id, filename, mime_type: mimeType, size_bytes: sizeBytes }
  }

  tellLoss(member: string): void {
    const { droppedFields } = this.#call
    if (!droppedFields.includes(`answer.${member}`)) droppedFields.push(`answer.${member}`)
  }

  /** The caller has gone. */
  end(): void {
    this.#isOver = true
    this.#endFetch?.()
  }

  async #keepOne(id: string): Promise<KeptFile | null> {
    // It becomes part of a path.
    if (!/^[\w-]{1,128}$/.test(id)) return null
    const { caller } = this.#call
    const held = this.#room.begin(caller.organizationId)
    try {
      const known = await this.#get(`/v1/files/${id}`, 64 * 1024, held)
      const bytes = await this.#get(`/v1/files/${id}/content`, MOST_BYTES, held)
      if (bytes === null || this.#isOver) return null
      const filename = nonEmptyText(asObject(parseJson(known?.toString() ?? ''))?.filename) ?? 'file'
      return await this.#keep(caller, filename, bytes)
    } finally {
      held.release()
    }
  }

  /** Null where it is not to be had. Never rejects. */
  #get(path: string, mostBytes: number, held: HeldMedia): Promise<Buffer | null> {
    if (this.#isOver) return Promise.resolve(null)
    return new Promise((resolve) => {
      const pieces: Buffer[] = []
      let size = 0
      let isGood = false
      const finish = (bytes: Buffer | null): void => {
        this.#endFetch = null
        resolve(bytes)
      }
      const deadlineAt = Math.min(this.#call.deadlineAt, performance.now() + LONGEST_FETCH_MS)
      const fetch: UpstreamCall = this.#server.fetch(path, FILES_BETA, {
        call: { ...this.#call, deadlineAt },
        receiver: {
          onHead: (status) => {
            isGood = status === 200
          },
          onData: (chunk) => {
            size += chunk.byteLength
            if (isGood && size <= mostBytes && held.take(chunk.byteLength)) pieces.push(Buffer.from(chunk))
            else this.#endFetch?.()
          },
          onEnd: () => finish(isGood ? Buffer.concat(pieces) : null),
          onFailure: () => finish(null),
        },
      })
      this.#endFetch = () => {
        fetch.cancel()
        finish(null)
      }
    })
  }
}

// ── Streams ─────────────────────────────────────────────────────────────────────

/** Holds a block that names files, and what follows it, until they are kept; the server is not read meanwhile. */
class FileKeepingStream extends StreamAdapter<MessagesEvent, MessagesEvent> {
  readonly #files: AccountFiles
  /** What has come while files are fetched; null while none are. */
  #held: (() => void)[] | null = null
  #isPaused = false

  constructor(files: AccountFiles, receiver: StreamReceiver<MessagesEvent>) {
    super(receiver)
    this.#files = files
  }

  onEvent(event: MessagesEvent): void {
    if (this.#held === null) this.#take(event)
    else this.#held.push(() => this.#take(event))
  }

  #take(event: MessagesEvent): void {
    if (event.type === 'start' && event.container !== undefined) {
      this.#files.tellLoss('container')
      this.emit({ type: 'start', usage: event.usage })
    } else if (event.type === 'stop' && event.stop.container !== null) {
      this.#files.tellLoss('container')
      this.emit({ ...event, stop: { ...event.stop, container: null } })
    } else if (event.type !== 'block' || event.event.type === 'content_block_stop') this.emit(event)
    else this.#takeBlock(event)
  }

  #takeBlock(event: MessagesEvent & { readonly type: 'block' }): void {
    const inner = event.event
    const block =
      inner.type === 'content_block_start' ? inner.content_block : (inner as { delta: ContentBlock }).delta
    const ids = mayNameFiles(block) ? fileIdsIn(block) : []
    if (ids.length === 0) {
      this.emit(event)
      return
    }
    const held: (() => void)[] = []
    this.#held = held
    super.pause()
    void this.#files.keepAll(ids).then(() => {
      const own = replaceFileIds(block, this.#files.nameOf)
      const next =
        inner.type === 'content_block_start' ? { ...inner, content_block: own } : { ...inner, delta: own }
      this.emit({ type: 'block', data: JSON.stringify(next), event: next as typeof inner })
      this.#release(held)
    })
  }

  /** What was held goes on, up to the next block that has to wait. */
  #release(held: (() => void)[]): void {
    this.#held = null
    while (held.length > 0 && this.#held === null && !this.cancelled) held.shift()!()
    const next = this.#held as (() => void)[] | null
    if (next !== null) next.push(...held)
    else if (!this.cancelled) {
      if (!this.#isPaused) super.resume()
      this.receiver.onFlush()
    }
  }

  override onFlush(): void {
    if (this.#held === null) this.receiver.onFlush()
  }

  override onEnd(): void {
    if (this.#held === null) this.receiver.onEnd()
    else this.#held.push(() => this.receiver.onEnd())
  }

  override onFailure(failure: ProviderFailure): void {
    if (this.#held === null) this.receiver.onFailure(failure)
    else this.#held.push(() => this.receiver.onFailure(failure))
  }

  override pause(): void {
    this.#isPaused = true
    super.pause()
  }

  override resume(): void {
    this.#isPaused = false
    if (this.#held === null) super.resume()
  }

  override cancel(): void {
    super.cancel()
    this.#files.end()
  }
}

// ── Whole answers ───────────────────────────────────────────────────────────────

class FileKeepingCompletion extends CallAdapter implements CompletionReceiver<MessagesAnswer> {
  readonly #files: AccountFiles
  readonly #receiver: CompletionReceiver<MessagesAnswer>

  constructor(files: AccountFiles, receiver: CompletionReceiver<MessagesAnswer>) {
    super()
    this.#files = files
    this.#receiver = receiver
  }

  onEnd(answer: MessagesAnswer): void {
    const ids = answer.content.flatMap((block) => (mayNameFiles(block) ? fileIdsIn(block) : []))
    const whole =
      answer.stop.container === null ? answer : { ...answer, stop: this.#withoutContainer(answer) }
    if (ids.length === 0) {
      this.#receiver.onEnd(whole)
      return
    }
    void this.#files.keepAll(ids).then(() => {
      if (this.cancelled) return
      const own = answer.content.map((block) => replaceFileIds(block, this.#files.nameOf))
      this.#receiver.onEnd({ ...whole, content: own })
    })
  }

  #withoutContainer({ stop }: MessagesAnswer): MessagesAnswer['stop'] {
    this.#files.tellLoss('container')
    return { ...stop, container: null }
  }

  onFailure(failure: ProviderFailure): void {
    this.#receiver.onFailure(failure)
  }

  override cancel(): void {
    super.cancel()
    this.#files.end()
  }
}
