/** Issuers in memory, for tests that hold the clock: every fetch waits until the test answers it, or is answered at once. */
import type { FetchJson, JsonFetchResult } from '../../../src/upstream/fetch-json.js'

interface Fetch {
  readonly url: string
  readonly timeoutMs: number
  answer(outcome: JsonFetchResult): void
}

export class ScriptedIssuers {
  /** What is answered at once, by URL; everything else waits. */
  readonly documents = new Map<string, JsonFetchResult>()
  readonly log: string[] = []
  readonly waiting: Fetch[] = []
  lastTimeoutMs = 0

  readonly fetch: FetchJson = (url, timeoutMs) => {
    this.log.push(url)
    this.lastTimeoutMs = timeoutMs
    const document = this.documents.get(url)
    if (document !== undefined) return Promise.resolve(document)
    return new Promise((answer) => this.waiting.push({ url, timeoutMs, answer }))
  }

  /** Answers from now on at this URL with a key set. */
  publish(url: string, keys: readonly object[]): void {
    this.documents.set(url, { ok: true, value: { keys } })
  }

  discovery(issuerUrl: string, jwksUri: unknown, issuer: unknown = issuerUrl): void {
    const value = { issuer, jwks_uri: jwksUri }
    this.documents.set(`${issuerUrl}/.well-known/openid-configuration`, { ok: true, value })
  }

  fail(url: string, reason = 'no answer in time'): void {
    this.documents.set(url, { ok: false, reason })
  }

  /** Lets the next fetch of this URL wait. */
  hold(url: string): void {
    this.documents.delete(url)
  }

  /** How often a URL was fetched. */
  count(url: string): number {
    return this.log.filter((each) => each === url).length
  }
}

/** Lets everything run that does not wait for the test. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve()
}
