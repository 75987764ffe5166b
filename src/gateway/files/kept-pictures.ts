/**
 * Pictures of a chat answer, which are kept as files of the caller's workspace: they stay in the answer, and an
 * annotation before its end names the files (contract/gateway 3.2).
 */
import type { Principal } from '../../base/principal.js'
import type { ChatDelta, ChatEvent, Completion } from '../formats/canonical.js'
import { asObject, type JsonObject } from '../formats/json-values.js'
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

interface Keeper {
  readonly call: ProviderCall
  readonly files: ToolFiles
}

/** The same chat, of whose models those that make pictures have them kept. */
export function withKeptPictures(chat: ChatApi, filesOf: (caller: Principal) => ToolFiles): ChatApi {
  const keeperOf = (call: ProviderCall): Keeper => ({ call, files: filesOf(call.caller) })
  return {
    stream: (call, receiver) => {
      if (!makesPictures(call.endpoint)) return chat.stream(call, receiver)
      const adapter = new PictureKeepingStream(keeperOf(call), receiver)
      return adapter.attach(chat.stream(call, adapter))
    },
    complete: (call, receiver) => {
      if (!makesPictures(call.endpoint)) return chat.complete(call, receiver)
      const adapter = new PictureKeepingCompletion(keeperOf(call), receiver)
      return adapter.attach(chat.complete(call, adapter))
    },
  }
}

export function makesPictures({ model }: TargetEndpoint): boolean {
  return model.outputModalities?.includes('image') === true
}

class PictureKeepingStream extends StreamAdapter<ChatEvent, ChatEvent> {
  readonly #keeper: Keeper
  readonly #pictures: string[] = []
  /** The finish and what follows it, while pictures are being stored. */
  readonly #lastEvents: ChatEvent[] = []

  constructor(keeper: Keeper, receiver: StreamReceiver) {
    super(receiver)
    this.#keeper = keeper
  }

  onEvent(event: ChatEvent): void {
    if (event.type === 'delta' && event.delta.images !== undefined) {
      // One more than are kept says that there are more.
      const room = MOST_PICTURES + 1 - this.#pictures.length
      this.#pictures.push(...dataUrlsIn(event.delta.images).slice(0, room))
    }
    if (event.type === 'delta' || this.#pictures.length === 0) this.emit(event)
    else this.#lastEvents.push(event)
  }

  override async onEnd(): Promise<void> {
    if (this.#pictures.length > 0) {
      const annotations = await keep(this.#pictures, this.#keeper, () => this.cancelled)
      const delta: ChatDelta = { annotations }
      if (annotations.length > 0) this.emit({ type: 'delta', choice: 0, delta })
      for (const event of this.#lastEvents) this.emit(event)
    }
    if (!this.cancelled) this.receiver.onEnd()
  }

  /** A stream may still fail behind its figures, which count all the same. */
  override onFailure(failure: ProviderFailure): void {
    for (const event of this.#lastEvents) this.emit(event)
    if (!this.cancelled) this.receiver.onFailure(failure)
  }
}

class PictureKeepingCompletion extends CallAdapter implements CompletionReceiver {
  readonly #keeper: Keeper
  readonly #receiver: CompletionReceiver

  constructor(keeper: Keeper, receiver: CompletionReceiver) {
    super()
    this.#keeper = keeper
    this.#receiver = receiver
  }

  async onEnd(completion: Completion): Promise<void> {
    const choices: Completion['choices'][number][] = []
    for (const choice of completion.choices) {
      const { message } = choice
      const kept = await keep(dataUrlsIn(message.images ?? []), this.#keeper, () => this.cancelled)
      const annotations = [...(message.annotations ?? []), ...kept]
      choices.push(kept.length === 0 ? choice : { ...choice, message: { ...message, annotations } })
    }
    if (!this.cancelled) this.#receiver.onEnd({ ...completion, choices })
  }

  onFailure(failure: ProviderFailure): void {
    this.#receiver.onFailure(failure)
  }
}

const DATA_URL = /^data:image\/([\w.+-]{1,32});base64,/i

function dataUrlsIn(images: readonly JsonObject[]): readonly string[] {
  return images
    .map(({ image_url: link }) => asObject(link)?.url)
    .filter((url): url is string => typeof url === 'string' && DATA_URL.test(url))
}

/**
 * Annotations of the files that were stored. The answer stands without one where there is no room for it, which is told;
 * for a caller that has left nothing stays. Never rejects.
 */
async function keep(
  urls: readonly string[],
  { call, files }: Keeper,
  isCancelled: () => boolean,
): Promise<readonly JsonObject[]> {
  const kept: CreatedFile[] = []
  for (const [at, url] of urls.slice(0, MOST_PICTURES).entries()) {
    if (isCancelled()) break
    const [head, type] = DATA_URL.exec(url)!
    const bytes = Buffer.from(url.slice(head.length), 'base64')
    const ending = type!.toLowerCase().replace(/\+.*/, '')
    const file = await files.create(`image-${at + 1}.${ending}`, bytes).catch(() => null)
    if (file !== null) kept.push(file)
  }
  if (isCancelled()) {
    for (const { id } of kept) await files.remove(id).catch(() => false)
    return []
  }
  if (kept.length < urls.length) call.droppedFields.push('images.file')
  return kept.map(fileAnnotation)
}
