/** What is set, and what the workers have, as far as the screen shows it. */
export const SETTINGS = 'api/v1/settings'
export const CONFIGURATION = 'api/v1/configuration'

export interface Setting {
  readonly name: string
  readonly variable: string | null
  readonly meaning: string
  readonly value: unknown
  readonly source: 'default' | 'environment' | 'file' | 'flag'
  readonly default: unknown
  readonly reload: boolean
}

interface Fault {
  readonly source: string
  readonly problem: string
}

export interface Configuration {
  readonly version: string
  readonly loaded_at: string
  /** Null where none is in use. */
  readonly file: string | null
  readonly workers: readonly {
    readonly worker: number
    readonly version: string | null
    readonly since: string | null
  }[]
  readonly last_reload: {
    readonly at: string
    readonly taken: boolean
    readonly faults: readonly Fault[]
    readonly needs_restart: readonly string[]
  } | null
}
