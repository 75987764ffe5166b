/**
 * The file that `sim/filemaker` makes of what the user sent last (contract/decisions 29): it is stored when the answer
 * is complete, and named before its end.
 */
import { Fault } from '../base/fault.js'
import type { Principal } from '../base/principal.js'
import type { ChatEvent, Completion, ContentPart } from '../gateway/formats/canonical.js'
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

/** A file that is to be stored, for whom and where. */
export interface FileDraft extends FileContent {
  readonly files: GeneratedFiles
  readonly caller: Principal
}

interface FileContent {
  readonly filename: string
  readonly content: Buffer
}

/** A sound or a file of the last user message as it is, otherwise its text. Throws an `UnsupportedRequest` for none. */
export function draftFile({ request: { messages }, caller }: ProviderCall, files: GeneratedFiles): FileDraft {
  const content = messages.findLast(({ role }) => role === 'user')?.content
  const parts: readonly ContentPart[] = Array.isArray(content) ? content : []
  for (const part of parts) {
    const file = fileOfPart(part)
    if (file !== null) return { ...file, files, caller }
  }
  const text = lastUserText(messages)
  if (text !== '') return { filename: 'message.txt', content: Buffer.from(text), files, caller }
  throw new UnsupportedRequest('There is nothing in the last user message to make a file of.')
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

/**
 * Stores the file. Resolves to the annotations by which a chat answer names it, to the failure of the answer, or to
 * null for a caller that has left meanwhile: it leaves no file behind.
 */
async function storeFile(
  { files, caller, filename, content }: FileDraft,
  isCancelled: () => boolean,
): Promise<{ readonly annotations: readonly Record<string, unknown>[] } | ProviderFailure | null> {
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
    const fault = cause instanceof Fault ? cause : new Fault('internal', { cause })
    return isCancelled() ? null : { fault, class: 'maybe-processed', status: 0 }
  }
}

/** The annotation comes before the finish, when the file is stored. */
export class FileGeneratingStream extends StreamAdapter<ChatEvent, ChatEvent> {
  readonly #draft: FileDraft
  /** The finish and what follows it, while the file is being stored. */
  readonly #lastEvents: ChatEvent[] = []

  constructor(draft: FileDraft, receiver: StreamReceiver) {
    super(receiver)
    this.#draft = draft
  }

  onEvent(event: ChatEvent): void {
    if (event.type === 'delta') this.emit(event)
    else this.#lastEvents.push(event)
  }

  override async onEnd(): Promise<void> {
    const stored = await storeFile(this.#draft, () => this.cancelled)
    if (stored === null) return
    if ('fault' in stored) return this.onFailure(stored)
    this.emit({ type: 'delta', choice: 0, delta: stored })
    for (const event of this.#lastEvents) this.emit(event)
    if (!this.cancelled) this.receiver.onEnd()
  }
}

export class FileGeneratingCompletion extends CallAdapter implements CompletionReceiver {
  readonly #draft: FileDraft
  readonly #receiver: CompletionReceiver

  constructor(draft: FileDraft, receiver: CompletionReceiver) {
    super()
    this.#draft = draft
    this.#receiver = receiver
  }

  async onEnd({ choices, ...rest }: Completion): Promise<void> {
    const stored = await storeFile(this.#draft, () => this.cancelled)
    if (stored === null) return
    if ('fault' in stored) return this.onFailure(stored)
    const named = choices.map((choice) => ({ ...choice, message: { ...choice.message, ...stored } }))
    this.#receiver.onEnd({ choices: named, ...rest })
  }

  onFailure(failure: ProviderFailure): void {
    this.#receiver.onFailure(failure)
  }
}
