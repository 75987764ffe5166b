/** How a file that a caller names by its address is fetched: what whoever wants one sees. */
import type { Cancellation } from './cancellation.js'

export interface FileFetch {
  /** Absolute; `http` or `https`. */
  readonly url: string
  /** Takes the bytes. Each piece is borrowed for the call, and the next one waits for its promise. */
  readonly sink: { write(piece: Uint8Array): void | Promise<void> }
  readonly maxBytes: number
  readonly timeoutMs: number
  /** Whose share of the fetches it is. */
  readonly organizationId: string
  readonly caller: Cancellation
  /** Asked before each address is dialled, redirects included: why it may not be visited, or null. */
  readonly refusal?: (url: URL) => string | null
}

export type FileFetchOutcome =
  | {
      readonly ok: true
      readonly contentType: string
      /** Bytes that the sink was given. */
      readonly size: number
      /** Where it was found, after redirects. */
      readonly url: string
    }
  | {
      readonly ok: false
      /**
       * Goes on from the name of the member, without a word of the answer: a host that may not be dialled is not told
       * from one that is not there.
       */
      readonly reason: string
      /** Nothing is wrong with the address: too many are being fetched. */
      readonly isBusy: boolean
      /** For the log alone, where it knows more. */
      readonly detail?: string
    }

/**
 * Fetches what lies at a public address. Rejects only with what the sink rejects with; when the caller leaves, the
 * connection ends and the promise resolves.
 */
export type FetchFile = (fetch: FileFetch) => Promise<FileFetchOutcome>
