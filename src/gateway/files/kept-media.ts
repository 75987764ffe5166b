/**
 * Pictures and sound of a chat answer, which are kept as files of the caller's workspace: they stay in the answer, and
 * an annotation before its end names the files (contract/gateway 3.2).
 */
import type { Principal } from '../../base/principal.js'
import type { ChatDelta, ChatEvent, ChatRequest, Completion, RoutedRequest } from '../formats/canonical.js'
import { asObject, type JsonObject, nonEmptyText } from '../formats/json-values.js'
import { wavHead } from '../formats/wav-head.js'
import type { HeldMedia, MediaRoom } from '../providers/http/media-room.js'
import {
  CallAdapter,
  type ChatApi,
  type CompletionReceiver,
  type ProviderCall,
  type ProviderFailure,
  StreamAdapter,
  type StreamReceiver,
  type TargetEndpoint,
} from '../providers/port/provider.js'
import type { CreatedFile, ToolFiles } from '../tools/port/tool.js'
import { fileAnnotation } from './file-annotation.js'

/** Pictures of one answer that are kept. */
const MOST_PICTURES = 16
/** Characters of base64: eleven minutes of speech that is not compressed. */
const MOST_SOUND = 48 * 1024 * 1024

/** The one format of sound that comes in pieces from everybody: 16 bits, mono. */
const SAMPLES = 'pcm16'
const SAMPLES_PER_SECOND = 24_000

interface KeepingPorts {
  readonly filesOf: (caller: Principal) => ToolFiles
  readonly room: MediaRoom
}

/** The same chat, whose pictures and sounds are kept. */
export function withKeptMedia(chat: ChatApi, ports: KeepingPorts): ChatApi {
  return {
    stream: (call, receiver) => {
      if (!makesMedia(call.endpoint, call.request)) return chat.stream(call, receiver)
      const adapter = new KeepingStream(new AnswerMedia(call, ports), receiver)
      return adapter.attach(chat.stream(call, adapter))
    },
    complete: (call, receiver) => {
      if (!makesMedia(call.endpoint, call.request)) return chat.complete(call, receiver)
      const adapter = new KeepingCompletion(new AnswerMedia(call, ports), receiver)
      return adapter.attach(chat.complete(call, adapter))
    },
  }
}

/** Whether the model makes pictures, or is asked to speak. Hot: asked of every call. */
export function makesMedia({ model }: TargetEndpoint, request: RoutedRequest): boolean {
  const { modalities } = request as ChatRequest
  return model.outputModalities?.includes('image') === true || modalities?.includes('audio') === true
}

const DATA_URL = /^data:image\/([\w.+-]{1,32});base64,/i

/** What of one answer is to be kept, counted among the media of calls under way. */
class AnswerMedia {
  readonly #call: ProviderCall
  readonly #files: ToolFiles
  readonly #held: HeldMedia
  /** Data URLs. */
  readonly #pictures: string[] = []
  /** Base64 in pieces, each whole in itself. */
  #sound: string[] = []
  #soundLength = 0
  /** What could not be kept, as it is told. */
  readonly #lost = new Set<string>()

  constructor(call: ProviderCall, { filesOf, room }: KeepingPorts) {
    this.#call = call
    this.#files = filesOf(call.caller)
    this.#held = room.begin(call.caller.organizationId)
  }

  get isEmpty(): boolean {
    return this.#pictures.length + this.#sound.length + this.#lost.size === 0
  }

  add({ images = [], audio }: Pick<ChatDelta, 'images' | 'audio'>): void {
    for (const { image_url: link } of images) {
      const url = asObject(link)?.url
      if (typeof url !== 'string' || !DATA_URL.test(url)) continue
      if (this.#pictures.length < MOST_PICTURES && this.#held.take(url.length)) this.#pictures.push(url)
      else this.#lost.add('images.file')
    }
    const piece = nonEmptyText(audio?.data)
    if (piece === undefined || this.#lost.has('audio.file')) return
    this.#soundLength += piece.length
    if (this.#soundLength <= MOST_SOUND && this.#held.take(piece.length)) this.#sound.push(piece)
    else {
      this.#sound = []
      this.#lost.add('audio.file')
    }
  }

  /**
   * Annotations of the files that were stored. The answer stands without one where there is no room for it, which is
   * told; for a caller that has left nothing stays. Never rejects.
   */
  async keep(isCancelled: () => boolean): Promise<readonly JsonObject[]> {
    const kept: CreatedFile[] = []
    for (const { filename, bytes, member } of this.#contents()) {
      if (isCancelled()) break
      const file = await this.#files.create(filename, bytes).catch(() => null)
      if (file !== null) kept.push(file)
      else this.#lost.add(member)
    }
    this.release()
    if (isCancelled()) {
      for (const { id } of kept) await this.#files.remove(id).catch(() => false)
      return []
    }
    this.#call.droppedFields.push(...this.#lost)
    return kept.map(fileAnnotation)
  }

  *#contents(): Iterable<{ readonly filename: string; readonly bytes: Buffer; readonly member: string }> {
    for (const [at, url] of this.#pictures.entries()) {
      const [head, type] = DATA_URL.exec(url)!
      const bytes = Buffer.from(url.slice(head.length), 'base64')
      const ending = type!.toLowerCase().replace(/\+.*/, '')
      yield { filename: `image-${at + 1}.${ending}`, bytes, member: 'images.file' }
    }
    if (this.#sound.length === 0) return
    const format = this.#call.request.audio?.format ?? ''
    const sound = Buffer.concat(this.#sound.map((piece) => Buffer.from(piece, 'base64')))
    // Samples alone no program plays.
    const isBare = format === SAMPLES
    const bytes = isBare ? Buffer.concat([wavHead(sound.length, SAMPLES_PER_SECOND), sound]) : sound
    const ending = isBare ? 'wav' : /^\w{1,16}$/.test(format) ? format : 'bin'
    yield { filename: `audio.${ending}`, bytes, member: 'audio.file' }
  }

  /** Gives back what it counts for. */
  release(): void {
    this.#held.release()
  }
}

class KeepingStream extends StreamAdapter<ChatEvent, ChatEvent> {
  readonly #media: AnswerMedia
  /** The finish and what follows it, while media are being stored. */
  readonly #lastEvents: ChatEvent[] = []

  constructor(media: AnswerMedia, receiver: StreamReceiver) {
    super(receiver)
    this.#media = media
  }

  onEvent(event: ChatEvent): void {
    if (event.type === 'delta') this.#media.add(event.delta)
    if (event.type === 'delta' || this.#media.isEmpty) this.emit(event)
    else this.#lastEvents.push(event)
  }

  override async onEnd(): Promise<void> {
    if (!this.#media.isEmpty) {
      const annotations = await this.#media.keep(() => this.cancelled)
      const delta: ChatDelta = { annotations }
      if (annotations.length > 0) this.emit({ type: 'delta', choice: 0, delta })
      this.#emitLast()
    }
    if (!this.cancelled) this.receiver.onEnd()
  }

  /** A stream may still fail behind its figures, which count all the same. */
  override onFailure(failure: ProviderFailure): void {
    this.#media.release()
    this.#emitLast()
    if (!this.cancelled) this.receiver.onFailure(failure)
  }

  #emitLast(): void {
    for (const event of this.#lastEvents) this.emit(event)
  }

  override cancel(): void {
    super.cancel()
    this.#media.release()
  }
}

class KeepingCompletion extends CallAdapter implements CompletionReceiver {
  readonly #media: AnswerMedia
  readonly #receiver: CompletionReceiver

  constructor(media: AnswerMedia, receiver: CompletionReceiver) {
    super()
    this.#media = media
    this.#receiver = receiver
  }

  async onEnd(completion: Completion): Promise<void> {
    for (const { message } of completion.choices) this.#media.add(message)
    const kept = await this.#media.keep(() => this.cancelled)
    if (this.cancelled) return
    const choices = completion.choices.map((choice, at) => {
      const { message } = choice
      if (at > 0 || kept.length === 0) return choice
      return { ...choice, message: { ...message, annotations: [...(message.annotations ?? []), ...kept] } }
    })
    this.#receiver.onEnd({ ...completion, choices })
  }

  onFailure(failure: ProviderFailure): void {
    this.#media.release()
    this.#receiver.onFailure(failure)
  }

  override cancel(): void {
    super.cancel()
    this.#media.release()
  }
}
