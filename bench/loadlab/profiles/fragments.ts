/** One call sent again and again, each time cut in two at another byte. */
import { connect } from 'node:net'
import type { Destination } from '../../harness/http/raw-connection.js'
import { MalformedResponse, ResponseFraming } from '../../harness/http/response-framing.js'

export type FragmentResult = Awaited<ReturnType<typeof sendFragments>>

/** Long enough that the first piece is read by itself. */
const BETWEEN_MS = 5
const PATIENCE_MS = 5_000
const AT_ONCE = 16

export async function sendFragments(
  to: Destination,
  request: Buffer,
  progress: (done: number, all: number) => void,
  interrupted: () => boolean,
) {
  const lineEnd = request.indexOf('\r\n')
  const headEnd = request.indexOf('\r\n\r\n') + 4
  const parts = {
    line: { answered: 0, sent: 0 },
    head: { answered: 0, sent: 0 },
    body: { answered: 0, sent: 0 },
  }
  const failedAt: number[] = []
  let next = 1
  const lane = async (): Promise<void> => {
    while (next < request.length && !interrupted()) {
      const cut = next++
      const part = parts[cut <= lineEnd + 1 ? 'line' : cut < headEnd ? 'head' : 'body']
      part.sent++
      if (await sendInTwo(to, request, cut)) part.answered++
      else failedAt.push(cut)
      progress(cut, request.length)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lane))
  return {
    /** By the part of the request that was cut: how many were answered with 2xx, of how many. */
    parts,
    /** Places after which no good answer came. */
    failedAt: failedAt.sort((a, b) => a - b),
  }
}

/** True when the answer was whole and its status 2xx. */
function sendInTwo({ address, port }: Destination, request: Buffer, cut: number): Promise<boolean> {
  return new Promise((resolve) => {
    const framing = new ResponseFraming()
    const socket = connect({ host: address, port, noDelay: true })
    const end = (good: boolean): void => {
      socket.destroy()
      resolve(good)
    }
    socket.setTimeout(PATIENCE_MS, () => end(false))
    socket.on('error', () => end(false))
    socket.on('close', () => end(false))
    socket.on('connect', () => {
      socket.write(request.subarray(0, cut))
      setTimeout(() => socket.write(request.subarray(cut)), BETWEEN_MS)
    })
    socket.on('data', (bytes) => {
      try {
        if (framing.feed(bytes)) end(framing.status >= 200 && framing.status < 300)
      } catch (error) {
        if (!(error instanceof MalformedResponse)) throw error
        end(false)
      }
    })
  })
}
