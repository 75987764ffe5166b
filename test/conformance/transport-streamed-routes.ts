/** Routes that read their body as it comes, or send one of known size piece by piece. */
import type { HttpCall, Reply, Route, SizedResponseBody } from '../../src/transport/exchange.js'
import { jsonReply, type Ledger, testRoute } from '../support/servers/test-routes.js'
import { BIG_BYTES } from './transport-case.js'

export const STREAMED_LIMIT = 400_000

/** What became of the bodies of `/taken`, in order of arrival. */
interface Taken {
  bytes: number
  ended: number
  failed: number
}

function text(status: number, body: Reply['body']): Reply {
  return { status, headers: [['Content-Type', 'text/plain']], body }
}

type Pace = 'at once' | 'late' | 'with pauses'

/** Says the body back when it is complete, and how long it said it was. */
function echo(call: HttpCall, pace: Pace): Promise<Reply> {
  return new Promise((resolve) => {
    const incoming = call.incoming!
    const pieces: Buffer[] = []
    const read = (): void =>
      incoming.read({
        onData: (piece) => {
          pieces.push(Buffer.from(piece))
          if (pace !== 'with pauses') return
          incoming.pause()
          setImmediate(() => incoming.resume())
        },
        onEnd: () => resolve(text(200, Buffer.concat([Buffer.from(`${incoming.length} `), ...pieces]))),
        onFailure: () => resolve(text(500, 'nobody hears this')),
      })
    if (pace === 'late') setTimeout(read, 20)
    else read()
  })
}

function take(call: HttpCall, takens: Taken[]): Promise<Reply> {
  const taken: Taken = { bytes: 0, ended: 0, failed: 0 }
  takens.push(taken)
  return new Promise((resolve) =>
    call.incoming!.read({
      onData: (piece) => {
        taken.bytes += piece.byteLength
      },
      onEnd: () => {
        taken.ended++
        resolve(text(200, 'taken'))
      },
      onFailure: () => {
        taken.failed++
        resolve(text(500, 'nobody hears this'))
      },
    }),
  )
}

/** What a sized body was asked for. */
interface Served {
  opened: number
  closed: number
}

/** Pieces share one buffer, as a file's would: who keeps them sends other bytes. */
function sized(bytes: Buffer, size: number, served: Served): SizedResponseBody {
  return {
    size,
    open: async () => {
      served.opened++
      const lent = Buffer.alloc(50_000)
      let at = 0
      return {
        read: async () => {
          await new Promise((resolve) => setImmediate(resolve))
          lent.fill(0)
          const length = bytes.copy(lent, 0, at)
          at += length
          return lent.subarray(0, length)
        },
        close: () => void served.closed++,
      }
    },
  }
}

export interface StreamedStage {
  readonly routes: readonly Route[]
  readonly takens: Taken[]
  readonly served: Served
}

export function streamedStage(ledger: Ledger, short: number): StreamedStage {
  const takens: Taken[] = []
  const served: Served = { opened: 0, closed: 0 }
  const streamed = { readsBody: 'stream', bodyLimit: STREAMED_LIMIT } as const
  const post = (path: string, answer: Route['answer'], more: Partial<Route> = {}): Route =>
    testRoute(ledger, 'POST', path, answer, { ...streamed, ...more })
  const get = (path: string, answer: Route['answer']): Route => testRoute(ledger, 'GET', path, answer)
  const routes = [
    post('/streamed', (call) => echo(call, 'at once')),
    post('/streamed/late', (call) => echo(call, 'late')),
    post('/streamed/pauses', (call) => echo(call, 'with pauses')),
    post('/streamed/early', () => jsonReply(400, { fault: 'early' })),
    post('/streamed/early-late', async () => jsonReply(400, { fault: 'early' })),
    post('/streamed/refused', () => text(200, 'never'), { admit: () => text(403, 'not you') }),
    post('/streamed/refused-late', () => text(200, 'never'), {
      admit: () => new Promise((resolve) => setImmediate(() => resolve(text(403, 'not you')))),
    }),
    post('/streamed/admitted-late', (call) => echo(call, 'at once'), {
      admit: () => new Promise((resolve) => setImmediate(() => resolve(null))),
    }),
    post('/taken', (call) => take(call, takens)),
    post('/taken/overdue', (call) => take(call, takens), { deadlineMs: short }),
    get('/sized', () => text(200, sized(BIG_BYTES, BIG_BYTES.byteLength, served))),
    get('/sized/late', async () => text(200, sized(BIG_BYTES, BIG_BYTES.byteLength, served))),
    get('/sized/small', () => text(206, sized(Buffer.from('five!'), 5, served))),
    get('/sized/broken', () => text(200, sized(BIG_BYTES, BIG_BYTES.byteLength + 1, served))),
  ]
  return { routes, takens, served }
}
