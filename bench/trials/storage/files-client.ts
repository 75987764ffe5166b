/** Sends and reads files over bare sockets: what the generator itself costs should be next to nothing. */
import { createHash } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { Connection } from '../../harness/http/connection.js'
import { ResponseFraming } from '../../harness/http/response-framing.js'

const HEAD_END = '\r\n\r\n'
const LIMIT_MS = 300_000

export interface Download {
  readonly status: number
  readonly bytes: number
  /** SHA-256 of the body; `''` when nobody asked for it. */
  readonly sha256: string
  readonly ms: number
}

interface DownloadRequest {
  readonly port: number
  /** Path and query. */
  readonly target: string
  readonly key: string
  /** Bytes per second; as fast as it goes without. */
  readonly pace?: number
  readonly hashed: boolean
}

/** Reads one body to its end. Faults: Error when the connection ends before, or after five minutes; MalformedResponse. */
export function download(wish: DownloadRequest): Promise<Download> {
  const begun = performance.now()
  return new Promise((resolve, reject) => {
    const socket = connect({ port: wish.port, host: '127.0.0.1', noDelay: true })
    const hash = createHash('sha256')
    const framing = new ResponseFraming(
      wish.hashed ? { data: (bytes, from, to) => hash.update(bytes.subarray(from, to)) } : {},
    )
    const pacer = wish.pace === undefined ? null : new ReadLimiter(socket, wish.pace)
    const finish = (error: Error | null): void => {
      pacer?.stop()
      socket.destroy()
      if (error !== null) reject(error)
      const { status, bodyBytes: bytes } = framing
      const sha256 = wish.hashed && error === null ? hash.digest('hex') : ''
      resolve({ status, bytes, sha256, ms: performance.now() - begun })
    }
    socket.setTimeout(LIMIT_MS, () => finish(new Error('a download stood still')))
    socket.once('error', finish)
    socket.once('close', () => finish(new Error(`a download ended after ${framing.bodyBytes} bytes`)))
    socket.on('data', (piece: Buffer) => {
      pacer?.took(piece.length)
      try {
        if (framing.feed(piece)) {
          socket.removeAllListeners('close')
          finish(null)
        }
      } catch (error) {
        socket.destroy(error as Error)
      }
    })
    const lines = [`GET ${wish.target} HTTP/1.1`, 'Host: 127.0.0.1', `Authorization: Bearer ${wish.key}`]
    socket.write(lines.join('\r\n') + HEAD_END)
  })
}

const EVERY_MS = 20

/** Lets a socket read so many bytes per second, by holding it back. */
class ReadLimiter {
  #taken = 0
  readonly #begun = performance.now()
  readonly #timer: NodeJS.Timeout

  constructor(
    private readonly socket: Socket,
    private readonly pace: number,
  ) {
    this.#timer = setInterval(() => {
      if (this.#taken <= this.#allowed()) this.socket.resume()
    }, EVERY_MS)
  }

  took(bytes: number): void {
    this.#taken += bytes
    if (this.#taken > this.#allowed()) this.socket.pause()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #allowed(): number {
    return ((performance.now() - this.#begun) * this.pace) / 1000
  }
}

const BOUNDARY = 'sluice-trial-boundary-7d1f0c72'

/** A field of a form beside its file. */
export type FormField = readonly [name: string, value: string]

interface UploadResult {
  readonly status: number
  readonly ms: number
  readonly answer: string
}

/** One file as a form, for somebody to send. */
export interface UploadForm {
  readonly key: string
  readonly content: Buffer
  /** Beside the file. */
  readonly fields?: readonly FormField[]
  readonly filename?: string
}

/** Sends one file as a form and resolves with the status and the time. Faults: ConnectionLost. */
async function upload(port: number, target: string, form: UploadForm): Promise<UploadResult> {
  const { key, content, fields = [], filename = 'trial.bin' } = form
  const part = (of: string): string => `--${BOUNDARY}\r\nContent-Disposition: form-data; ${of}${HEAD_END}`
  const values = fields.map(([name, value]) => `${part(`name="${name}"`)}${value}\r\n`)
  const before = Buffer.from(`${values.join('')}${part(`name="file"; filename="${filename}"`)}`)
  const after = Buffer.from(`\r\n--${BOUNDARY}--\r\n`)
  const head = [
    `POST ${target} HTTP/1.1`,
    'Host: 127.0.0.1',
    `Authorization: Bearer ${key}`,
    `Content-Type: multipart/form-data; boundary=${BOUNDARY}`,
    `Content-Length: ${before.length + content.length + after.length}`,
  ]
  const begun = performance.now()
  const connection = await Connection.open(port)
  try {
    const pieces = [Buffer.from(head.join('\r\n') + HEAD_END), before, content, after]
    const { status, body } = await connection.send(pieces, LIMIT_MS)
    return { status, ms: performance.now() - begun, answer: body.toString() }
  } finally {
    connection.drop()
  }
}

/** Uploads that a crowd sends at once. */
export const AT_ONCE = 20

export interface UploadCrowd {
  /** Bytes per second of all together. */
  readonly perSecond: number
  readonly answers: readonly UploadResult[]
}

/** The same upload by everybody at once. */
export async function uploadAtOnce(port: number, target: string, form: UploadForm): Promise<UploadCrowd> {
  const begun = performance.now()
  const answers = await Promise.all(Array.from({ length: AT_ONCE }, () => upload(port, target, form)))
  const seconds = (performance.now() - begun) / 1_000
  return { perSecond: (AT_ONCE * form.content.length) / seconds, answers }
}
