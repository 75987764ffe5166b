/** How an inference ends, in words that every format shares. */
import type { Fault } from '../../base/fault.js'

/** What kind of call it is: the format that it is asked and answered in. */
export type InferenceOperation = 'chat' | 'messages' | 'speech' | 'transcription'

/** Why an answer ended: in the words of its format, and in the provider's own where they are known. */
export interface AnswerFinish {
  readonly reason: string
  readonly native: string | null
}

/** How an inference ended. `aborted`: the caller left before the end. */
export type InferenceOutcome =
  | { readonly kind: 'completed' }
  | { readonly kind: 'failed'; readonly fault: Fault }
  | { readonly kind: 'aborted' }
