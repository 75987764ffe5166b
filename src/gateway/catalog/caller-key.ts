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
