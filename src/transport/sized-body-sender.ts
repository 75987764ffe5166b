/** Sends a body of known size that is read piece by piece. Part of the native edge; only types of uWebSockets.js. */
import type { HttpResponse } from 'uWebSockets.js'
import type { SizedResponseBody } from './exchange.js'

/** The exchange, as far as the sending of its answer concerns it. */
export interface SendingOwner {
  /** Nothing may touch the native response any more. */
  isOver(): boolean
  /** So many bytes of a body of known size were handed to the socket so far. */
  onBytesSent(bytes: number): void
  /** The answer has ended; `aborted` when not all of it was handed to the socket. */
  settle(aborted: boolean): void
  onAbort(callback: () => void): void
  /** Runs a step and keeps what it throws from native code. */
  guarded(step: () => void): void
  /** Code of ours has thrown. */
  onDefect(error: unknown): void
}

/** Hands bytes of a body over and reports how far it is; true when the socket has taken all of them. */
function offer(res: HttpResponse, bytes: Uint8Array, size: number, owner: SendingOwner): boolean {
  const [ok, done] = res.tryEnd(bytes, size)
  owner.onBytesSent(done ? size : res.getWriteOffset())
  if (done) owner.settle(false)
  return ok || done
}

/**
 * Rule 5: sends what the socket did not take of a body, from its offset and when it can take more. The caller's bytes
 * may only be borrowed for this turn (an LMDB page, say), so the rest is copied.
 */
export function sendRest(res: HttpResponse, body: Uint8Array, owner: SendingOwner): void {
  const sent = res.getWriteOffset()
  const rest = Buffer.from(body.subarray(sent))
  owner.onBytesSent(sent)
  res.onWritable((offset) => {
    let taken = true
    owner.guarded(() => {
      taken = offer(res, rest.subarray(offset - sent), body.byteLength, owner)
    })
    return taken
  })
}

/**
 * Sends a body that is read while it is sent, one piece at a time: the next is read when the socket has taken the one
 * before, while the kernel still sends from its own buffer. So a slow reader costs one piece of memory, however large
 * the body is. Rejects when the body cannot be read; what was announced cannot be sent then.
 */
export async function sendSizedBody(
  res: HttpResponse,
  body: SizedResponseBody,
  owner: SendingOwner,
): Promise<void> {
  const { size } = body
  /** Bytes the socket did not take, and the offset of the first of them. They stay good until the next is read. */
  let rest: Uint8Array | null = null
  let restAt = 0
  let onTaken: (() => void) | null = null
  const dropRest = (): void => {
    rest = null
    onTaken?.()
    onTaken = null
  }
  owner.onAbort(dropRest)
  res.onWritable((offset) => {
    let taken = true
    owner.guarded(() => {
      if (rest !== null) taken = offer(res, rest.subarray(offset - restAt), size, owner)
      if (taken) dropRest()
    })
    return taken
  })
  const source = await body.open()
  try {
    while (!owner.isOver()) {
      const piece = await source.read()
      if (owner.isOver()) return
      if (piece.byteLength === 0) throw new Error('a body ended before its announced size')
      res.cork(() => {
        const before = res.getWriteOffset()
        if (offer(res, piece, size, owner)) return
        restAt = res.getWriteOffset()
        rest = piece.subarray(restAt - before)
      })
      if (rest !== null) {
        await new Promise<void>((resolve) => {
          onTaken = resolve
        })
      }
    }
  } finally {
    source.close()
  }
}
