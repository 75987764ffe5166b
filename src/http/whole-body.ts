import { Fault } from '../base/fault.js'
import type { IncomingBody } from '../transport/exchange.js'

/**
 * All of a body that comes as a stream. Takes the body's one reader; the transport bounds its size. Rejects with
 * `bad-request` when the rest will not come; nobody waits for the answer then.
 */
export function readWholeBody(body: IncomingBody): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = []
    body.read({
      onData: (piece, own) => {
        pieces.push(own ? Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength) : Buffer.from(piece))
      },
      onEnd: () => resolve(pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)),
      onFailure: () => reject(new Fault('bad-request', { detail: 'the body ended early' })),
    })
  })
}
