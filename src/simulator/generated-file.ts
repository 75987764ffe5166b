/**
 * What simulated models make beside their words, when these are complete and before the answer ends: the file that
 * `sim/filemaker` makes of what the user sent last (contract/decisions 29), and the picture of `sim/painter`.
 */
import { Fault } from '../base/fault.js'
import type { Principal } from '../base/principal.js'
import type { ChatDelta, ChatEvent, Completion, ContentPart } from '../gateway/formats/canonical.js'
import type { ContentBlock } from '../gateway/formats/messages.js'
import type {
  CompletionReceiver,
  ProviderCall,
  ProviderFailure,
  StreamReceiver,
} from '../gateway/providers/port/provider.js'
import { CallAdapter, StreamAdapter } from '../gateway/providers/port/provider.js'
import { lastUserText } from './answer/current-turn.js'
import { UnsupportedRequest } from './faults.js'
import { paint, paintingSize } from './painter/painting.js'
import type { RandomSeed } from './random.js'

/** Keeps files for callers. */
export interface GeneratedFiles {
  /** Stores a file of the server's own in the caller's workspace. Fails with a `Fault`. */
  store(caller: Principal, filename: string, content: Uint8Array): Promise<GeneratedFile>
  /** Removes a file that no answer has named. */
  discard(id: string): Promise<void>
}

interface GeneratedFile {
  readonly id: string
  readonly filename: string
  readonly mimeType: string
  readonly sizeBytes: number
}

/**
 * Makes what comes with an answer. Resolves to the members of the message that show or name it, to the failure of the
 * answer, or to null for a caller that has left meanwhile. Never rejects.
 */
export type Creation = (isCancelled: () => boolean) => Promise<CreatedMembers | ProviderFailure | null>

type CreatedMembers = Pick<ChatDelta, 'annotations' | 'images'>

interface FileContent {
  readonly filename: string
  readonly content: Buffer
}

/** A sound or a file of the last user message as it is, otherwise its text. Throws an `UnsupportedRequest` for none. */
export function draftFile({ request: { messages }, caller }: ProviderCall, files: GeneratedFiles): Creation {
  const content = messages.findLast(({ role }) => role === 'user')?.content
  const parts: readonly ContentPart[] = Array.isArray(content) ? content : []
  for (const part of parts) {
    const file = fileOfPart(part)
    if (file !== null) return (isCancelled) => storeFile(file, files, caller, isCancelled)
  }
  const text = lastUserText(messages)
  const words = { filename: 'message.txt', content: Buffer.from(text) }
  if (text !== '') return (isCancelled) => storeFile(words, files, caller, isCancelled)
  throw new UnsupportedRequest('There is nothing in the last user message to make a file of.')
}

/**
 * The picture for a call, shown in the answer; as a file of the caller's where `files` are given, because the messages
 * format shows none. Throws an `UnsupportedRequest` for a size that is none.
 */
export function draftPicture(
  { request, caller }: ProviderCall,
  seed: RandomSeed,
  files: GeneratedFiles | null,
): Creation {
  const size = paintingSize(request)
  return async (isCancelled) => {
    const picture = lastPicture.then(() => (isCancelled() ? null : paint(seed, size)))
    lastPicture = picture.catch(() => {})
    try {
      const content = await picture
      if (content === null) return null
      if (files !== null) return storeFile({ filename: 'picture.png', content }, files, caller, isCancelled)
      const url = `data:image/png;base64,${content.toString('base64')}`
      return { images: [{ type: 'image_url', image_url: { url } }] }
    } catch (cause) {
      return failureOf(cause)
    }
  }
}

/** Painted one after another: a picture takes megabytes and a thread, and any number may be asked for at once. */
let lastPicture: Promise<unknown> = Promise.resolve()

function failureOf(cause: unknown): ProviderFailure {
  const fault = cause instanceof Fault ? cause : new Fault('internal', { cause })
  return { fault, class: 'maybe-processed', status: 0 }
}

const DATA_URL = /^data:[^,]{0,256};base64,/i

function fileOfPart(part: ContentPart): FileContent | null {
  if (part.type === 'input_audio') {
    const { data, format } = part.input_audio
    return decodeFile(`audio.${/^[\w-]{1,16}$/.test(format) ? format : 'bin'}`, data)
  }
  if (part.type !== 'file' || part.file.file_data === undefined) return null
  const { file_data: data, filename = 'file' } = part.file
  // A file that lies elsewhere is never fetched.
  return DATA_URL.test(data) ? decodeFile(filename, data) : null
}

function decodeFile(filename: string, base64: string): FileContent | null {
  const content = Buffer.from(base64.replace(DATA_URL, ''), 'base64')
  return content.byteLength === 0 ? null : { filename, content }
}

/** The annotations of files in the messages format: a block for each (contract/gateway 5.7). */
export function toContainerUploads(
  annotations: readonly Readonly<Record<string, unknown>>[] = [],
): ContentBlock[] {
  return annotations.map(({ file }) => ({
    type: 'container_upload',
    file_id: (file as { readonly file_id: string }).file_id,
  }))
}

/** Stores a file; a caller that has left meanwhile leaves none behind. */
async function storeFile(
  { filename, content }: FileContent,
  files: GeneratedFiles,
  caller: Principal,
  isCancelled: () => boolean,
): Promise<CreatedMembers | ProviderFailure | null> {
  try {
    const file = await files.store(caller, filename, content)
    if (isCancelled()) {
      await files.discard(file.id).catch(() => {})
      return null
    }
    const { id, mimeType, sizeBytes } = file
    const named = { file_id: id, filename: file.filename, mime_type: mimeType, size_bytes: sizeBytes }
    return { annotations: [{ type: 'file', file: named }] }
  } catch (cause) {
    return isCancelled() ? null : failureOf(cause)
  }
}

/** What was made comes before the finish. */
export class CreatingStream extends StreamAdapter<ChatEvent, ChatEvent> {
  readonly #create: Creation
  /** The finish and what follows it, meanwhile. */
  readonly #lastEvents: ChatEvent[] = []

  constructor(create: Creation, receiver: StreamReceiver) {
    super(receiver)
    this.#create = create
  }

  onEvent(event: ChatEvent): void {
    if (event.type === 'delta') this.emit(event)
    else this.#lastEvents.push(event)
  }

  override async onEnd(): Promise<void> {
    const made = await this.#create(() => this.cancelled)
    if (made === null || this.cancelled) return
    if ('fault' in made) return this.onFailure(made)
    this.emit({ type: 'delta', choice: 0, delta: made })
    for (const event of this.#lastEvents) this.emit(event)
    if (!this.cancelled) this.receiver.onEnd()
  }
}

export class CreatingCompletion extends CallAdapter implements CompletionReceiver {
  readonly #create: Creation
  readonly #receiver: CompletionReceiver

  constructor(create: Creation, receiver: CompletionReceiver) {
    super()
    this.#create = create
    this.#receiver = receiver
  }

  async onEnd({ choices, ...rest }: Completion): Promise<void> {
    const made = await this.#create(() => this.cancelled)
    if (made === null || this.cancelled) return
    if ('fault' in made) return this.onFailure(made)
    const named = choices.map((choice) => ({ ...choice, message: { ...choice.message, ...made } }))
    this.#receiver.onEnd({ choices: named, ...rest })
  }

  onFailure(failure: ProviderFailure): void {
    this.#receiver.onFailure(failure)
  }
}
