/** Files that lie in an account at a provider (contract/gateway 8). */
import type { Cancellation } from '../../../base/cancellation.js'
import type { Principal } from '../../../base/principal.js'

/** What a provider knows of a file. */
export interface AccountFile {
  /** The provider's own. */
  readonly id: string
  readonly filename: string
  readonly mimeType: string
  readonly sizeBytes: number
  /** The provider hands out the content of what was `created` there, or was put there to be read again. */
  readonly origin: 'uploaded' | 'created'
  readonly purpose: string | null
  /** Unix milliseconds. */
  readonly createdAt: number
}

export interface NewAccountFile {
  readonly filename: string
  readonly mediaType: string
  /** What the caller says it is for; null when nothing. */
  readonly purpose: string | null
  readonly bytes: { readonly size: number; read(): AsyncIterable<Uint8Array> }
}

/** A page of a list. `after` and `before` are ids, never both. */
export interface AccountFileQuery {
  readonly newestFirst: boolean
  readonly after: string | null
  readonly before: string | null
  readonly limit: number
}

export interface AccountFilePage {
  readonly files: readonly AccountFile[]
  readonly hasMore: boolean
}

/** Who asks, and how long an answer is waited for. */
export interface AccountCall {
  /** Display name of the provider. */
  readonly providerName: string
  readonly caller: Principal
  readonly cancellation: Cancellation
  /** `performance.now()` beyond which the call is late. */
  readonly deadlineAt: number
}
