/**
 * Media that a request names by an address, for servers that take the bytes alone: they are fetched here, through the
 * guard, and put into the body in the place of their address.
 */
import type { Cancellation } from '../../../base/cancellation.js'
import { Fault } from '../../../base/fault.js'
import type { FetchFile, FileFetch } from '../../../base/file-fetch.js'
import type { RoutedRequest } from '../../formats/canonical.js'
import { asObject, type JsonObject } from '../../formats/json-values.js'
import { deferCall } from '../port/deferred-call.js'
import type { CallHandle, FailureReceiver, ProviderCall } from '../port/provider.js'
import { EndWatcher, type HeldMedia, type MediaRoom } from './media-room.js'

export type MediaKind = 'image' | 'video' | 'audio' | 'file'

interface LinkedMedium {
  readonly kind: MediaKind
  readonly url: string
}

export interface FetchedMedium extends LinkedMedium {
  /** Lower case, without parameters; of pictures and PDFs what their bytes say. */
  readonly mediaType: string
  readonly bytes: Buffer
}

/** Where a format has media in the parts of its messages. */
export interface MediaFormat {
  /** The medium that a part names by an address; null when it names none. */
  linkIn(part: JsonObject): LinkedMedium | null
  /** The part with the bytes. Throws the fault of a medium that the format cannot hold. */
  inline(part: JsonObject, medium: FetchedMedium, place: string): JsonObject
}

export interface MediaInlining {
  readonly fetchFile: FetchFile
  /** What the server cannot fetch itself. */
  readonly kinds: ReadonlySet<MediaKind>
  /** Of all that one call names. */
  readonly maxBytes: number
  /** Of this worker. */
  readonly room: MediaRoom
}

const MOST_LINKS = 32
/** Long enough for a film over a slow line, and no more than a caller waits for. */
const LONGEST_FETCH_MS = 30_000

/** What servers say of files that they do not know. */
const UNTOLD = /^$|^(application|binary)\/octet-stream$/
/** A picture tells by its first bytes what it is. */
const USUAL_TYPES: Readonly<Record<MediaKind, string>> = {
  image: 'application/octet-stream',
  video: 'video/mp4',
  audio: 'audio/wav',
  file: 'application/octet-stream',
}

interface FetchBounds extends Pick<FileFetch, 'organizationId' | 'caller'> {
  readonly deadlineAt: number
}

/** The body of a call. */
type Members = Record<string, unknown>
type PartVisitor = (part: JsonObject, place: string) => JsonObject

export class MediaInliner {
  readonly #inlining: MediaInlining
  readonly #format: MediaFormat

  constructor(inlining: MediaInlining, format: MediaFormat) {
    this.#inlining = inlining
    this.#format = format
  }

  /** Whether the server could not read the body as it is. Hot: asked of every call. */
  hasLinks({ messages }: Members): boolean {
    if (!Array.isArray(messages)) return false
    for (const { content } of messages as readonly JsonObject[]) if (this.#isLinked(content)) return true
    return false
  }

  #isLinked(content: unknown): boolean {
    if (!Array.isArray(content)) return false
    for (const value of content) {
      const part = asObject(value)
      if (part !== null && (this.#linkIn(part) !== null || this.#isLinked(part.content))) return true
    }
    return false
  }

  #linkIn(part: JsonObject): LinkedMedium | null {
    const link = this.#format.linkIn(part)
    return link !== null && this.#inlining.kinds.has(link.kind) ? link : null
  }

  /** Begins the call with the whole body, once all media are there; ends it where one cannot be had. */
  send<T extends FailureReceiver>(
    call: ProviderCall<RoutedRequest>,
    body: Members,
    begin: (whole: Members, receiver: T) => CallHandle,
    receiver: T,
  ): CallHandle {
    const held = this.#inlining.room.begin(call.caller.organizationId)
    const fetches = new Fetches()
    const onOver = (): void => {
      fetches.end()
      held.release()
    }
    const watched = new EndWatcher(receiver, onOver) as unknown as T
    const whole = this.#fetchAll(call, body, held, fetches)
    return deferCall(whole, (ready) => begin(ready, watched), watched, onOver)
  }

  async #fetchAll(
    call: ProviderCall<RoutedRequest>,
    body: Members,
    held: HeldMedia,
    caller: Cancellation,
  ): Promise<Members> {
    const wanted = new Map<string, LinkedMedium & { readonly place: string }>()
    mapParts(body, (part, place) => {
      const link = this.#linkIn(part)
      if (link !== null && !wanted.has(link.url)) wanted.set(link.url, { ...link, place })
      return part
    })
    if (wanted.size > MOST_LINKS)
      throw unusable('messages', `hold more than ${MOST_LINKS} addresses of files`)
    const budget = new MediaBudget(this.#inlining.maxBytes, held)
    // A fetch that waits for its turn outlives a call that has been left, and must not hold its body.
    const { organizationId } = call.caller
    const bounds = { organizationId, deadlineAt: call.deadlineAt, caller }
    const fetched = await Promise.all(
      [...wanted.values()].map((one) => this.#fetch(one, one.place, bounds, budget)),
    )
    const media = new Map(fetched.map((medium) => [medium.url, medium]))
    return mapParts(body, (part, place) => {
      const link = this.#linkIn(part)
      if (link === null) return part
      const medium = media.get(link.url)!
      // What is named again is fetched once and sent again.
      if (!wanted.delete(link.url)) budget.spend(medium.bytes.length, place)
      return this.#format.inline(part, medium, place)
    })
  }

  async #fetch(
    { kind, url }: LinkedMedium,
    place: string,
    { deadlineAt, ...owner }: FetchBounds,
    budget: MediaBudget,
  ): Promise<FetchedMedium> {
    const { maxBytes, fetchFile } = this.#inlining
    const pieces: Buffer[] = []
    const write = (piece: Uint8Array): void => {
      budget.spend(piece.byteLength, place)
      pieces.push(Buffer.from(piece))
    }
    if (!URL.canParse(url)) throw unusable(place, 'cannot be used: it is no address', kind)
    const timeoutMs = Math.min(LONGEST_FETCH_MS, deadlineAt - performance.now())
    const outcome = await fetchFile({ url, sink: { write }, maxBytes, timeoutMs, ...owner })
    if (!outcome.ok && outcome.isBusy) throw new Fault('unavailable', { note: outcome.reason, retryAfter: 1 })
    if (!outcome.ok) throw unusable(place, `cannot be used: ${outcome.reason}`, kind, outcome.detail)
    const bytes = Buffer.concat(pieces)
    if (bytes.length === 0) throw unusable(place, 'cannot be used: it is empty', kind)
    const told = outcome.contentType.split(';', 1)[0]!.trim().toLowerCase()
    const mediaType = detectType(bytes, kind, told) ?? (UNTOLD.test(told) ? USUAL_TYPES[kind] : told)
    if (kind !== 'file' && !mediaType.startsWith(`${kind}/`))
      throw unusable(place, `cannot be used: its server says that it is no ${kind}`, kind)
    return { kind, url, mediaType, bytes }
  }
}

/** The fault of a call for whose media there is no room at the moment. */
export const NO_ROOM = new Fault('unavailable', {
  note: 'too many files are being sent along at the moment',
  retryAfter: 1,
})

/** What the media of one call may come to. */
class MediaBudget {
  readonly #most: number
  readonly #held: HeldMedia
  #left: number

  constructor(most: number, held: HeldMedia) {
    this.#most = most
    this.#held = held
    this.#left = most
  }

  /** Throws the fault of a call whose media are too large, or that there is no room for. */
  spend(bytes: number, place: string): void {
    this.#left -= bytes
    if (this.#left < 0)
      throw unusable(place, `cannot be used: files are larger than ${this.#most} bytes together`)
    if (!this.#held.take(bytes)) throw NO_ROOM
  }
}

/** The fetches of one call, which end with it: with its caller, and with the first of them that fails. */
class Fetches implements Cancellation {
  readonly #aborts: (() => void)[] = []
  #isOver = false

  onAbort(abort: () => void): void {
    if (this.#isOver) abort()
    else this.#aborts.push(abort)
  }

  end(): void {
    this.#isOver = true
    for (const abort of this.#aborts.splice(0)) abort()
  }
}

/** The fault of a medium at a place of the body. */
export function unusable(place: string, why: string, kind: MediaKind = 'file', detail?: string): Fault {
  return new Fault('bad-request', {
    note: `${place} ${why}`,
    metadata: { error_type: kind === 'image' ? 'image_download_failed' : 'invalid_request' },
    ...(detail !== undefined && { detail }),
  })
}

/** The body with each part as `visit` gives it. A part that holds others is visited after them. */
function mapParts(body: Members, visit: PartVisitor): Members {
  const visitAll = (holder: JsonObject, place: string): JsonObject => {
    if (!Array.isArray(holder.content)) return holder
    const content = holder.content.map((value: unknown, at) => {
      const part = asObject(value)
      const inside = `${place}.content.${at}`
      return part === null ? value : visit(visitAll(part, inside), inside)
    })
    return { ...(holder as Members), content }
  }
  const messages = (body.messages as readonly JsonObject[]).map((one, at) => visitAll(one, `messages.${at}`))
  return { ...body, messages }
}

/** What the first bytes say; null for what does not tell. Readers of PDF take its mark within the first kilobyte. */
function detectType(bytes: Buffer, kind: MediaKind, told: string): string | null {
  const head = bytes.toString('latin1', 0, 1024)
  if (head.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png'
  if (head.startsWith('\xff\xd8\xff')) return 'image/jpeg'
  if (/^GIF8[79]a/.test(head)) return 'image/gif'
  if (head.startsWith('RIFF') && head.startsWith('WEBP', 8)) return 'image/webp'
  const isPdf = head.startsWith('%PDF-') || (UNTOLD.test(told) && head.includes('%PDF-'))
  return kind === 'file' && isPdf ? 'application/pdf' : null
}
