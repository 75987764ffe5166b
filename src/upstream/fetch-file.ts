/** Files that callers name by their address, with GET: sound, pictures, documents. */
import type { Clock } from '../base/clock.js'
import { Fault } from '../base/fault.js'
import type { FetchFile, FileFetch, FileFetchOutcome } from '../base/file-fetch.js'
import { contentLengthOf } from './body-text.js'
import { ContentDecoder, canDecode, type DecodedReceiver } from './content-decoder.js'
import { failureSentence, UNREACHABLE, UNREACHABLE_MS } from './fetch-json.js'
import { FetchShares } from './fetch-shares.js'
import type {
  PhaseTimeouts,
  UpstreamCall,
  UpstreamClient,
  UpstreamFailure,
  UpstreamReceiver,
} from './port.js'

const MOST_REDIRECTS = 5
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])
/** Of one worker. */
const MOST_FETCHES = 64
const PHASE_MS = 15_000
const HEADERS = ['Accept', '*/*', 'Accept-Encoding', 'identity', 'User-Agent', 'sluice']

/** `upstream` must be a client of its own, with an address guard: each hop of a redirect is dialled through it. */
export function fileFetcher(upstream: UpstreamClient, clock: Clock): FetchFile {
  const shares = new FetchShares(MOST_FETCHES)
  return async (fetch) => {
    let result: FileFetchOutcome = { ...refused('too many files are being fetched'), isBusy: true }
    const deadlineAt = performance.now() + fetch.timeoutMs
    let hasLeft = false
    fetch.caller.onAbort(() => {
      hasLeft = true
      result = LEFT
    })
    await shares.run(fetch.organizationId, async () => {
      // The time has passed, or the caller has gone, while others of the organization were served.
      if (hasLeft || performance.now() >= deadlineAt) return
      let url: string = fetch.url
      for (let hop = 0; hop <= MOST_REDIRECTS; hop++) {
        const outcome = await new FileDownload(url, fetch, deadlineAt, upstream, clock).done
        if (!('redirect' in outcome)) {
          result = outcome
          return
        }
        const next = nextAddress(url, outcome.redirect)
        if (next === null) {
          result = refused('it is redirected to an address that is not followed')
          return
        }
        url = next
      }
      result = refused('it is redirected too often')
    })
    return result
  }
}

const LEFT = refused('nobody waits for it any more')

function refused(reason: string, detail?: string): FileFetchOutcome & { readonly ok: false } {
  return { ok: false, reason, isBusy: false, ...(detail !== undefined && { detail }) }
}

/** Where a redirect goes; null where it leaves the web, or encryption. */
function nextAddress(from: string, location: string): string | null {
  if (!URL.canParse(location, from)) return null
  const next = new URL(location, from)
  const isWeb = next.protocol === 'https:' || (next.protocol === 'http:' && from.startsWith('http:'))
  return isWeb ? next.href : null
}

/** One request, and its file. */
class FileDownload implements UpstreamReceiver, DecodedReceiver {
  readonly done: Promise<FileFetchOutcome | { readonly redirect: string }>
  readonly #fetch: FileFetch
  readonly #clock: Clock
  readonly #beganAt = performance.now()
  #settle!: (outcome: FileFetchOutcome | { readonly redirect: string }) => void
  #reject!: (error: unknown) => void
  #call: UpstreamCall | null = null
  readonly #url: string
  #contentType = ''
  /** Of a body in a content coding, which comes although none was asked for (contract/decisions 43). */
  #decoder: ContentDecoder | null = null
  #size = 0
  /** The sink has not yet taken what it was given. */
  #writing: Promise<void> | null = null
  #waiting: Buffer[] = []

  constructor(url: string, fetch: FileFetch, deadlineAt: number, upstream: UpstreamClient, clock: Clock) {
    this.#url = url
    this.#fetch = fetch
    this.#clock = clock
    this.done = new Promise((resolve, reject) => {
      this.#settle = resolve
      this.#reject = reject
    })
    const address = new URL(url)
    const { origin, pathname, search, username, password } = address
    const timeoutMs = deadlineAt - performance.now()
    const refusal = fetch.refusal?.(address) ?? null
    if (timeoutMs <= 0) this.#settle(refused('the time is up'))
    else if (refusal !== null) this.#settle(refused(refusal))
    else if (username !== '' || password !== '') this.#settle(refused('its address holds credentials'))
    else {
      const request = {
        method: 'GET',
        origin,
        path: pathname + search,
        headers: HEADERS,
        body: null,
        timeouts: phaseTimeouts(timeoutMs),
        limits: { connections: MOST_FETCHES, keepAliveMs: 1_000 },
        caller: '',
        deadlineAt,
        repeatable: true,
      } as const
      const call = upstream.call(request, this)
      this.#call = call
      fetch.caller.onAbort(() => {
        this.#end()
        this.#settle(LEFT)
      })
    }
  }

  onHead(status: number, headers: Readonly<Record<string, string | string[] | undefined>>): void {
    const { location, 'content-encoding': named } = headers
    const coding = String(named ?? 'identity')
      .trim()
      .toLowerCase()
    if (REDIRECTS.has(status) && typeof location === 'string') {
      this.#call?.cancel()
      this.#settle({ redirect: location })
    } else if (status !== 200) this.#refuse(`its server answers with status ${status}`)
    else if (coding !== 'identity' && !canDecode(coding))
      this.#refuse('it comes in a content coding that is not known')
    else if (coding !== 'identity') this.#decoder = new ContentDecoder(coding, this, this.#call!)
    else if (contentLengthOf(headers) > this.#fetch.maxBytes) this.#refuse(this.#tooLarge)
    this.#contentType = String(headers['content-type'] ?? '')
  }

  get #tooLarge(): string {
    return `it is larger than ${this.#fetch.maxBytes} bytes`
  }

  /** The server is left, and nothing more is decoded. */
  #end(): void {
    this.#decoder?.stop()
    this.#call?.cancel()
  }

  #refuse(reason: string): void {
    this.#end()
    this.#settle(refused(reason))
  }

  onData(chunk: Uint8Array): void {
    if (this.#decoder === null) this.onDecoded(chunk)
    else this.#decoder.push(chunk)
  }

  onUndecodable(detail: string): void {
    this.#refuse(`it is ${detail}`)
  }

  onDecoded(chunk: Uint8Array): void {
    this.#size += chunk.byteLength
    if (this.#size > this.#fetch.maxBytes) this.#refuse(this.#tooLarge)
    else if (this.#writing !== null) this.#waiting.push(Buffer.from(chunk))
    else this.#write(chunk)
  }

  get #source(): Pick<UpstreamCall, 'pause' | 'resume'> {
    return this.#decoder ?? this.#call!
  }

  /** Holds the server back while the sink is behind. */
  #write(piece: Uint8Array): void {
    try {
      const written = this.#fetch.sink.write(piece)
      if (!(written instanceof Promise)) return
      this.#source.pause()
      this.#writing = this.#drain(written)
    } catch (error) {
      this.#fail(error)
    }
  }

  /** Never rejects. */
  async #drain(written: Promise<void>): Promise<void> {
    try {
      await written
      for (let piece = this.#waiting.shift(); piece !== undefined; piece = this.#waiting.shift())
        await this.#fetch.sink.write(piece)
    } catch (error) {
      this.#fail(error)
    }
    this.#writing = null
    this.#source.resume()
  }

  #fail(error: unknown): void {
    this.#end()
    this.#reject(error instanceof Fault ? error : new Fault('internal', { cause: error }))
  }

  onEnd(): void {
    if (this.#decoder === null) this.onDecodedEnd()
    else this.#decoder.end()
  }

  onDecodedEnd(): void {
    const whole = { ok: true, contentType: this.#contentType, size: this.#size, url: this.#url } as const
    void (this.#writing ?? Promise.resolve()).then(() => this.#settle(whole))
  }

  onFailure(failure: UpstreamFailure): void {
    if (failure.requestSent || failure.reason === 'timeout') {
      this.#settle(refused(failureSentence(failure)))
      return
    }
    // Names resolve quicker in the network of this server than elsewhere: whatever was wrong takes the same time.
    const outcome = refused(UNREACHABLE, failureSentence(failure))
    const waited = performance.now() - this.#beganAt
    const wait = Math.max(0, Math.min(UNREACHABLE_MS, this.#fetch.timeoutMs) - waited)
    this.#clock.runAfter(wait, () => this.#settle(outcome))
  }
}

function phaseTimeouts(totalMs: number): PhaseTimeouts {
  const phase = Math.min(PHASE_MS, totalMs)
  return { connectMs: phase, headersMs: phase, firstTokenMs: phase, idleMs: phase, totalMs }
}
