/** An answer with a file: the file is stored when the answer is, and named before its end. */
import { Fault } from '../base/fault.js'
import type { Completion, InferenceEvent } from '../gateway/formats/canonical.js'
import type {
  CompletionReceiver,
  Flow,
  ProviderCall,
  ProviderFailure,
  StreamReceiver,
} from '../gateway/providers/port/provider.js'
import { annotationOf, type FileDraft, type FileKeeper, type KeptFile } from './made-file.js'

/** Stands between a run and its receiver, in both directions. */
abstract class FileMaking implements Flow {
  #run: Flow | null = null
  protected gone = false
  readonly #call: ProviderCall
  readonly #draft: FileDraft
  readonly #keeper: FileKeeper

  constructor(call: ProviderCall, draft: FileDraft, keeper: FileKeeper) {
    this.#call = call
    this.#draft = draft
    this.#keeper = keeper
  }

  abstract failed(failure: ProviderFailure): void

  /** What makes the steps; it wakes in a later turn. */
  drivenBy(run: Flow): this {
    this.#run = run
    return this
  }

  pause(): void {
    this.#run?.pause()
  }

  resume(): void {
    this.#run?.resume()
  }

  cancel(): void {
    this.gone = true
    this.#run?.cancel()
  }

  /** Who leaves meanwhile is left no file that nobody knows of. */
  protected make(told: (file: KeptFile) => void): void {
    const { filename, content } = this.#draft
    void this.#keeper.keep(this.#call.caller, filename, content).then(
      (file) => {
        if (this.gone) void this.#keeper.forget(file.id).catch(() => {})
        else told(file)
      },
      (cause: unknown) => {
        const fault = cause instanceof Fault ? cause : new Fault('internal', { cause })
        if (!this.gone) this.failed({ fault, class: 'maybe-processed', status: 0 })
      },
    )
  }
}

/** Told in the last events: an annotation before the finish, when the file is stored. */
export class StreamedFile extends FileMaking implements StreamReceiver {
  readonly #receiver: StreamReceiver
  /** The finish and what follows it, while the file is on its way. */
  #last: InferenceEvent[] = []

  constructor(call: ProviderCall, draft: FileDraft, keeper: FileKeeper, receiver: StreamReceiver) {
    super(call, draft, keeper)
    this.#receiver = receiver
  }

  sent(body: unknown): void {
    this.#receiver.sent?.(body)
  }

  event(event: InferenceEvent): void {
    if (event.type === 'delta') this.#receiver.event(event)
    else this.#last.push(event)
  }

  flush(): void {
    this.#receiver.flush()
  }

  ended(): void {
    this.make((file) => {
      const named = { annotations: [annotationOf(file)] }
      for (const event of [{ type: 'delta', choice: 0, delta: named } as const, ...this.#last]) {
        if (!this.gone) this.#receiver.event(event)
      }
      if (!this.gone) this.#receiver.ended()
    })
  }

  failed(failure: ProviderFailure): void {
    this.#receiver.failed(failure)
  }
}

export class WholeFile extends FileMaking implements CompletionReceiver {
  readonly #receiver: CompletionReceiver

  constructor(call: ProviderCall, draft: FileDraft, keeper: FileKeeper, receiver: CompletionReceiver) {
    super(call, draft, keeper)
    this.#receiver = receiver
  }

  ended({ choices, ...rest }: Completion): void {
    this.make((file) => {
      const annotations = [annotationOf(file)]
      const named = choices.map((choice) => ({ ...choice, message: { ...choice.message, annotations } }))
      this.#receiver.ended({ choices: named, ...rest })
    })
  }

  failed(failure: ProviderFailure): void {
    this.#receiver.failed(failure)
  }
}
