/** The live feed while it is looked at: the latest state, drawn once a frame, and connected anew when it breaks. */
import { useEffect, useState } from 'preact/hooks'
import { type Problem, problemIn, send } from '../../api/call.ts'
import { eventsOf, type ServerEvent } from '../../api/events.ts'
import { session } from '../../shell/session.ts'
import { type Call, LIVE, type Sample } from './wire.ts'

/** Seconds that the picture shows. */
export const SECONDS = 120
/** Calls that are listed. */
export const MOST_CALLS = 8
const FIRST_WAIT_MS = 1_000
const LONGEST_WAIT_MS = 15_000

/** Of one second. */
export interface Beat {
  readonly at: number
  readonly calls: number
  readonly failed: number
}

export interface Live {
  readonly isConnected: boolean
  /** Why it is not connected, where the server has said so. */
  readonly problem: Problem | null
  /** Null until the first one. */
  readonly sample: Sample | null
  readonly beats: readonly Beat[]
  /** The latest first. */
  readonly calls: readonly Call[]
}

const NOTHING: Live = { isConnected: false, problem: null, sample: null, beats: [], calls: [] }
/** What was shown last, and to whom: who comes back sees it at once, and the feed puts the next in its place. */
let last = { shown: NOTHING, to: session.value }

/** Reads the feed as long as the page is to be seen: a tab behind others costs the server nothing. */
export function useLive(): Live {
  const to = session.value
  const [live, setLive] = useState(
    last.to === to ? { ...last.shown, isConnected: false, problem: null } : NOTHING,
  )
  useEffect(() => {
    const feed = new Feed(live, (shown) => {
      last = { shown, to }
      setLive(shown)
    })
    const look = (): void => (document.hidden ? feed.stop() : feed.start())
    look()
    document.addEventListener('visibilitychange', look)
    return () => {
      document.removeEventListener('visibilitychange', look)
      feed.stop()
    }
  }, [])
  return live
}

class Feed {
  readonly #show: (live: Live) => void
  #live: Live
  #leaving: AbortController | null = null
  #timer = 0
  #frame = 0
  #waitMs = FIRST_WAIT_MS

  constructor(live: Live, show: (live: Live) => void) {
    this.#live = live
    this.#show = show
  }

  start(): void {
    if (this.#leaving !== null) return
    this.#leaving = new AbortController()
    void this.#read(this.#leaving)
  }

  stop(): void {
    this.#leaving?.abort()
    this.#leaving = null
    clearTimeout(this.#timer)
    cancelAnimationFrame(this.#frame)
    this.#frame = 0
  }

  async #read(leaving: AbortController): Promise<void> {
    const { signal } = leaving
    const answer = await send('GET', LIVE, { signal, headers: { Accept: 'text/event-stream' } })
    let problem: Problem | null = null
    if (answer?.ok && answer.body) {
      this.#put({ isConnected: true, problem: null })
      // A stream that breaks off is connected anew, like one that ends.
      await this.#follow(answer.body).catch(() => {})
    } else if (answer) problem = await problemIn(answer)
    if (signal.aborted) return
    this.#put({ isConnected: false, problem })
    this.#timer = window.setTimeout(() => void this.#read(leaving), this.#waitMs)
    this.#waitMs = Math.min(LONGEST_WAIT_MS, 2 * this.#waitMs)
  }

  async #follow(body: ReadableStream<Uint8Array>): Promise<void> {
    for await (const event of eventsOf(body)) {
      this.#waitMs = FIRST_WAIT_MS
      this.#take(event)
    }
  }

  #take({ event, data }: ServerEvent): void {
    if (event === 'sample') {
      const sample = JSON.parse(data) as Sample
      this.#put({ sample, beats: withBeat(this.#live.beats, sample) })
    } else if (event === 'call') {
      const { data: ended } = JSON.parse(data) as { readonly data: readonly Call[] }
      this.#put({ calls: latestOf(ended, this.#live.calls) })
    }
  }

  #put(change: Partial<Live>): void {
    this.#live = { ...this.#live, ...change }
    // Several events may come in a frame; the latest state is drawn.
    if (this.#frame === 0)
      this.#frame = requestAnimationFrame(() => {
        this.#frame = 0
        this.#show(this.#live)
      })
  }
}

function withBeat(beats: readonly Beat[], sample: Sample): readonly Beat[] {
  const { calls_per_second: calls, failed_per_second: failed } = sample
  const at = Math.floor(sample.at)
  const last = beats.at(-1)
  const beat = { at, calls, failed }
  return last?.at === at ? [...beats.slice(0, -1), beat] : [...beats, beat].slice(-SECONDS)
}

/** Calls by the time at which they began, each once. */
export function latestOf(...lists: readonly (readonly Call[])[]): readonly Call[] {
  const byId = new Map(lists.flat().map((call) => [call.id, call]))
  return [...byId.values()].sort((a, b) => (a.created_at < b.created_at ? 1 : -1)).slice(0, MOST_CALLS)
}
