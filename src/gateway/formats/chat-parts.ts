/** Parts of a chat message (contract/gateway 2.3), and how they say what is to be cached. */

export interface CacheControl {
  readonly type: 'ephemeral'
  readonly ttl?: '5m' | '1h'
}

/** How a part says that the prompt is to be cached up to its end: two names of one thing. */
interface CacheMarks {
  readonly cache_control?: CacheControl
  readonly prompt_cache_breakpoint?: { readonly mode: 'explicit' } | null
}

export interface PromptCacheOptions {
  readonly mode?: 'implicit' | 'explicit'
  readonly ttl?: string | null
}

export interface TextPart extends CacheMarks {
  readonly type: 'text'
  readonly text: string
}

export type ContentPart =
  | TextPart
  | (CacheMarks &
      (
        | {
            readonly type: 'image_url'
            readonly image_url: {
              readonly url: string
              readonly detail?: 'auto' | 'low' | 'high' | 'original'
            }
          }
        | {
            readonly type: 'input_audio'
            readonly input_audio: { readonly data: string; readonly format: string }
          }
        | {
            readonly type: 'video_url' | 'input_video'
            readonly video_url: { readonly url: string; readonly processing?: 'agentic' | 'static' }
          }
        | {
            readonly type: 'file'
            readonly file: {
              readonly file_data?: string
              readonly file_id?: string
              readonly filename?: string
            }
          }
      ))
