/** What is told of the configuration that the workers of this machine have. Times are in Unix milliseconds. */

/** One reading of the configuration after the start. */
export interface ReloadAttempt {
  readonly at: number
  /** Why it was refused, each with its place; empty when it was taken. */
  readonly faults: readonly { readonly source: string; readonly problem: string }[]
  /** Keys of settings that have changed and wait for a restart. */
  readonly needsRestart: readonly string[]
}

interface WorkerConfiguration {
  readonly worker: number
  /** Null before it serves. */
  readonly version: string | null
  readonly since: number | null
}

export interface ConfigurationReport {
  /** Of what calls get that begin now, once all workers have it; credentials are no part of it. */
  readonly version: string
  readonly loadedAt: number
  /** The file that is read, as the operator has named it; null when there is none to be read again. */
  readonly file: string | null
  readonly workers: readonly WorkerConfiguration[]
  /** Null when there was none. */
  readonly lastReload: ReloadAttempt | null
}
