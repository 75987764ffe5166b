/**
 * Locks among the processes of one machine that the kernel gives back whatever becomes of their holder: the name of an
 * abstract socket (unix(7)) belongs to one socket at a time. No file is left, and none can be stale.
 */
import { createServer, type Server } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

export interface KernelLock {
  release(): Promise<void>
}

const AGAIN_MS = 25

/** Null where somebody holds it. */
export function tryLock(name: string): Promise<KernelLock | null> {
  return new Promise((resolve, reject) => {
    const server = createServer((stranger) => stranger.destroy())
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(null)
      else reject(error)
    })
    // `exclusive`: workers of a cluster would otherwise share one socket by way of their supervisor.
    server.listen({ path: `\0${name}`, exclusive: true }, () => {
      server.unref()
      resolve({ release: () => closed(server) })
    })
  })
}

/** The first of the names that is free; null where none is before `untilMs` (`performance.now()`) or the abort. */
export async function lockOneOf(
  names: readonly string[],
  untilMs: number,
  signal: AbortSignal,
): Promise<KernelLock | null> {
  for (;;) {
    for (const name of names) {
      const lock = await tryLock(name)
      if (lock !== null) return lock
    }
    if (signal.aborted || performance.now() >= untilMs) return null
    await sleep(AGAIN_MS)
  }
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()))
}
