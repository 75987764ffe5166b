/** Models and chunks of an answer as the API tells them; only what is shown. */

export interface Model {
  readonly id: string
  readonly name: string
  readonly context_length: number | null
  readonly pricing: { readonly prompt: string; readonly completion: string }
  readonly architecture: { readonly output_modalities: readonly string[] }
}

export interface Chunk {
  readonly choices?: readonly {
    readonly delta?: { readonly content?: string | null; readonly reasoning?: string | null }
    readonly finish_reason?: string | null
  }[]
  readonly usage?: Usage | null
  /** Where it fails after its beginning. */
  readonly error?: { readonly message?: string }
}

export interface Usage {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly cost?: number
}

export const MODELS = 'api/v1/models'
export const CHAT = 'api/v1/chat/completions'
