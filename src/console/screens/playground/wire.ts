/** Models, tools and pieces of an answer as the API tells them; only what is shown. */
import type { Pricing } from '../models/wire.ts'

export interface Model {
  readonly id: string
  readonly name: string
  readonly context_length: number | null
  readonly supported_voices: readonly string[] | null
  readonly pricing: Pricing
  readonly architecture: {
    readonly input_modalities: readonly string[]
    readonly output_modalities: readonly string[]
  }
}

export type SoundKind = 'speech' | 'transcription'

export interface Chunk {
  readonly choices?: readonly {
    readonly delta?: {
      readonly content?: string | null
      readonly reasoning?: string | null
      readonly audio?: { readonly transcript?: string }
      readonly images?: readonly { readonly image_url: { readonly url: string } }[]
      readonly annotations?: readonly {
        readonly url_citation?: { readonly url: string; readonly title?: string }
        readonly file?: { readonly file_id?: string }
      }[]
    }
    readonly finish_reason?: string | null
  }[]
  readonly service_tool?: {
    readonly state: 'started' | 'completed' | 'failed'
    readonly name: string
    readonly tool_call_id: string
  }
  readonly usage?: Usage | null
  /** Where it fails after its beginning. */
  readonly error?: { readonly message?: string }
}

export interface MessageEvent {
  readonly type: string
  readonly content_block?: {
    readonly type: string
    readonly id?: string
    readonly name?: string
    readonly tool_use_id?: string
    readonly content?: { readonly type?: string }
    readonly file_id?: string
  }
  readonly delta?: {
    readonly text?: string
    readonly thinking?: string
    readonly stop_reason?: string | null
    /** Of a page, of a result that the caller sent, or of a document, which has no address. */
    readonly citation?: {
      readonly url?: string
      readonly source?: string
      readonly title?: string | null
      readonly document_title?: string | null
    }
  }
  readonly usage?: {
    readonly input_tokens?: number
    readonly output_tokens?: number
    readonly cost?: number | undefined
  }
  readonly error?: { readonly message?: string }
}

export interface Usage {
  readonly prompt_tokens: number
  readonly completion_tokens: number
  readonly cost?: number | undefined
}

export interface Terms {
  readonly tools: readonly {
    readonly name: string
    readonly enabled: boolean
    readonly needs: string | null
  }[]
  readonly plugins: readonly { readonly id: string; readonly needs: string | null }[]
}

export const MODELS = 'api/v1/models'
export const TOOLS = 'api/v1/tools'
