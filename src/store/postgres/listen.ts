/**
 * Hints of PostgreSQL (LISTEN/NOTIFY), on a connection of its own. A hint may be lost, and a connection may be up and
 * mute, so nothing may depend on one: who gets it looks sooner, that is all.
 */
import { Client } from 'pg'
import type { Clock } from '../../base/clock.js'

interface ListenOptions {
  readonly url: string
  /** A name of ours: letters and underscores. */
  readonly channel: string
  readonly clock: Clock
  readonly onHint: (payload: string) => void
  /** It listens again, after a time in which hints were lost. */
  readonly onListening?: () => void
}

const CONNECT_MS = 2_000
/** A way that was cut without a word is found out by the kernel, some ten seconds after so long a silence. */
const KEEP_ALIVE_MS = 10_000
const RECONNECT_MIN_MS = 500
const RECONNECT_SPREAD_MS = 1_500

/** Listens until it is closed; a connection that ends is made again. */
export function listen({ url, channel, clock, onHint, onListening }: ListenOptions): { close(): void } {
  let closed = false
  let client: Client | null = null
  let cancel = (): void => {}

  const again = (ended: Client): void => {
    if (client !== ended) return
    client = null
    ended.removeAllListeners('notification')
    ended.end().catch(() => {})
    if (!closed) {
      cancel = clock.runAfter(RECONNECT_MIN_MS + Math.random() * RECONNECT_SPREAD_MS, () => void connect())
    }
  }

  const connect = async (): Promise<void> => {
    const next = new Client({
      ...{ connectionString: url, connectionTimeoutMillis: CONNECT_MS },
      ...{ keepAlive: true, keepAliveInitialDelayMillis: KEEP_ALIVE_MS },
    })
    client = next
    next.on('error', () => again(next))
    next.on('end', () => again(next))
    next.on('notification', ({ payload }) => onHint(payload ?? ''))
    try {
      await next.connect()
      await next.query(`LISTEN ${channel}`)
      onListening?.()
    } catch {
      again(next)
    }
  }

  void connect()
  return {
    close: () => {
      closed = true
      cancel()
      const last = client
      client = null
      last?.end().catch(() => {})
    },
  }
}
