/**
 * What servers cannot do with raw requests, and what they do instead. docs/guide/behind-a-proxy.md lists the same for
 * the native server, with reason and remedy.
 */

/** The two builds of the native server, alone; or a proxy of src/transport/proxies in front. */
export type Server = 'older' | 'newer' | 'nginx' | 'haproxy'

export interface Limit {
  readonly id: string
  readonly of: readonly Server[]
  /** Names of requests, or of groups with their slash. */
  readonly requests: readonly string[]
  readonly does: {
    /** Statuses that it may be answered with, alone; 0 for no answer. */
    readonly answers: readonly number[]
    /** It may be run. */
    readonly runs?: true
    /** What is behind it may be run. */
    readonly stays?: true
  }
}

export const LIMITS: readonly Limit[] = []
