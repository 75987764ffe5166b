/** Bodies that are read as a stream, without a transport. */

import { BodyQueue } from '../../../src/transport/body-queue.js'
import type { IncomingBody } from '../../../src/transport/exchange.js'

/** Comes in exactly these pieces, each in a turn of its own, as far as the reader lets them. */
export function bodyOf(pieces: readonly Uint8Array[], ending: 'complete' | 'failed' = 'complete') {
  const left = [...pieces]
  let held = false
  let due = false
  const queue = new BodyQueue(null, {
    hold: () => {
      held = true
    },
    release: () => {
      held = false
      soon()
    },
  })
  const soon = (): void => {
    if (due) return
    due = true
    setImmediate(next)
  }
  const next = (): void => {
    due = false
    if (held) return
    const piece = left.shift()
    if (piece === undefined) {
      if (ending === 'complete') queue.markComplete()
      else queue.fail()
      return
    }
    const lent = new Uint8Array(piece)
    queue.push(lent)
    lent.fill(0)
    soon()
  }
  soon()
  return queue
}

/** Comes in these pieces within one turn, however it is held back. */
export function floodOf(pieces: readonly Uint8Array[]): IncomingBody {
  const queue = new BodyQueue(null, { hold: () => {}, release: () => {} })
  setImmediate(() => {
    for (const piece of pieces) queue.push(piece)
    queue.markComplete()
  })
  return queue
}

/** One part as it stands in a form. */
export interface FormPart {
  readonly name: string
  readonly filename?: string
  readonly type?: string
  readonly content: string | Uint8Array
}

/** A well-made form. */
export function formOf(boundary: string, parts: readonly FormPart[]): Buffer {
  const pieces = parts.flatMap(({ name, filename, type, content }) => [
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"`,
    filename === undefined ? '' : `; filename="${filename}"`,
    type === undefined ? '' : `\r\nContent-Type: ${type}`,
    '\r\n\r\n',
    content,
    '\r\n',
  ])
  return Buffer.concat([...pieces, `--${boundary}--\r\n`].map((piece) => Buffer.from(piece as string)))
}
