/** What the organization of a caller has, read once for a call. */
export interface CallerAccount {
  /** Null where there is none. */
  readonly organization: { readonly id: string; readonly credits?: number | null } | null
  /** The keys that the caller may use with providers, in the order of trial. */
  readonly keys: readonly CallerKey[]
}

/** A caller's key with a provider. */
export interface CallerKey {
  readonly id: string
  /** Short name of the provider. */
  readonly provider: string
  /** Before the operator's credential or behind it. */
  readonly priority: 'first' | 'fallback'
  /** Whether the operator's credential may be used where this one fails. */
  readonly allowFallback: boolean
  /** Ids of the only models it is for; null for all. */
  readonly models: readonly string[] | null
  readonly secret: string
}
