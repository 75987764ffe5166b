/** An answer with a file: the file is stored when the answer is, and named before its end. */
import { Fault } from '../base/fault.js'
import type { ChatEvent, Completion } from '../gateway/formats/canonical.js'
import type {
  CompletionReceiver,
  ProviderCall,
  ProviderFailure,
  StreamReceiver,
} from '../gateway/providers/port/provider.js'
import { CallAdapter } from '../gateway/providers/port/stream-adapter.js'
import {
  type FileDraft,
  type GeneratedFile,
  type GeneratedFiles,
  toFileAnnotation,
} from './generated-file.js'

/** Stands between a run and its receiver, in both directions. */
abstract class FileGeneration extends CallAdapter {
  readonly #call: ProviderCall
  readonly #draft: FileDraft
  readonly #keeper: GeneratedFiles

  constructor(call: ProviderCall, draft: FileDraft, keeper: GeneratedFiles) {
    super()
    this.#call = call
    this.#draft = draft
    this.#keeper = keeper
  }

  abstract onFailure(failure: ProviderFailure): void

  /** Who leaves meanwhile is left no file that nobody knows of. */
  protected storeFile(told: (file: GeneratedFile) => void): void {
    const { filename, content } = this.#draft
    void this.#keeper.store(this.#call.caller, filename, content).then(
      (file) => {
        if (this.cancelled) void this.#keeper.discard(file.id).catch(() => {})
        else told(file)
      },
      (cause: unknown) => {
        const fault = cause instanceof Fault ? cause : new Fault('internal', { cause })
        if (!this.cancelled) this.onFailure({ fault, class: 'maybe-processed', status: 0 })
      },
    )
  }
}

/** Told in the last events: an annotation before the finish, when the file is stored. */
export class FileGeneratingStream extends FileGeneration implements StreamReceiver {
  readonly #receiver: StreamReceiver
  /** The finish and what follows it, while the file is on its way. */
  #last: ChatEvent[] = []

  constructor(call: ProviderCall, draft: FileDraft, keeper: GeneratedFiles, receiver: StreamReceiver) {
    super(call, draft, keeper)
    this.#receiver = receiver
  }

  onRequestSent(body: unknown): void {
    this.#receiver.onRequestSent?.(body)
  }

  onEvent(event: ChatEvent): void {
    if (event.type === 'delta') this.#receiver.onEvent(event)
    else this.#last.push(event)
  }

  onFlush(): void {
    this.#receiver.onFlush()
  }

  onEnd(): void {
    this.storeFile((file) => {
      const named = { annotations: [toFileAnnotation(file)] }
      for (const event of [{ type: 'delta', choice: 0, delta: named } as const, ...this.#last]) {
        if (!this.cancelled) this.#receiver.onEvent(event)
      }
      if (!this.cancelled) this.#receiver.onEnd()
    })
  }

  onFailure(failure: ProviderFailure): void {
    this.#receiver.onFailure(failure)
  }
}

export class FileGeneratingCompletion extends FileGeneration implements CompletionReceiver {
  readonly #receiver: CompletionReceiver

  constructor(call: ProviderCall, draft: FileDraft, keeper: GeneratedFiles, receiver: CompletionReceiver) {
    super(call, draft, keeper)
    this.#receiver = receiver
  }

  onEnd({ choices, ...rest }: Completion): void {
    this.storeFile((file) => {
      const annotations = [toFileAnnotation(file)]
      const named = choices.map((choice) => ({ ...choice, message: { ...choice.message, annotations } }))
      this.#receiver.onEnd({ choices: named, ...rest })
    })
  }

  onFailure(failure: ProviderFailure): void {
    this.#receiver.onFailure(failure)
  }
}
