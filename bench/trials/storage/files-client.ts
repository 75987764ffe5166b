/** Sends and reads files over bare sockets: what the generator itself costs should be next to nothing. */
import { createHash } from 'node:crypto'
import { connect, type Socket } from 'node:net'

const HEAD_END = '\r\n\r\n'
const LIMIT_MS = 300_000

export interface Download {
  readonly status: number
  readonly bytes: number
  /** SHA-256 of the body; `''` when nobody asked for it. */
  readonly sha256: string
  readonly ms: number
}

interface DownloadWish {
  readonly port: number
  /** Path and query. */
  readonly target: string
  readonly key: string
  /** Bytes per second; as fast as it goes without. */
  readonly pace?: number
  readonly hashed: boolean
}

/** Reads one body to its end. Faults: Error when the connection ends before, or after five minutes. */
export function download(wish: DownloadWish): Promise<Download> {
  const begun = performance.now()
  return new Promise((resolve, reject) => {
    const socket = connect({ port: wish.port, host: '127.0.0.1', noDelay: true })
    const body = new Body(wish.hashed)
    const pacer = wish.pace === undefined ? null : new Pacer(socket, wish.pace)
    const finish = (error: Error | null): void => {
      pacer?.stop()
      socket.destroy()
      if (error === null) resolve({ ...body.result(), ms: performance.now() - begun })
      else reject(error)
    }
    socket.setTimeout(LIMIT_MS, () => finish(new Error('a download stood still')))
    socket.on('error', finish)
    socket.on('close', () => finish(new Error(`a download ended after ${body.bytes} of ${body.size} bytes`)))
    socket.on('data', (piece: Buffer) => {
      body.take(piece)
      pacer?.took(piece.length)
      if (body.complete) finish(null)
    })
    const lines = [`GET ${wish.target} HTTP/1.1`, 'Host: 127.0.0.1', `Authorization: Bearer ${wish.key}`]
    socket.write(lines.join('\r\n') + HEAD_END)
  })
}

class Body {
  bytes = 0
  size = Number.POSITIVE_INFINITY
  #status = 0
  #head = ''
  readonly #hash = createHash('sha256')

  constructor(private readonly hashed: boolean) {}

  take(piece: Buffer): void {
    if (this.#status !== 0) {
      this.#count(piece)
      return
    }
    const before = this.#head.length
    this.#head += piece.toString('latin1')
    const end = this.#head.indexOf(HEAD_END)
    if (end < 0) return
    this.#status = Number(this.#head.slice(9, 12))
    this.size = Number(/\r\ncontent-length: (\d+)/i.exec(this.#head)?.[1] ?? Number.NaN)
    this.#count(piece.subarray(end + HEAD_END.length - before))
  }

  get complete(): boolean {
    return this.bytes >= this.size
  }

  result(): Omit<Download, 'ms'> {
    return { status: this.#status, bytes: this.bytes, sha256: this.hashed ? this.#hash.digest('hex') : '' }
  }

  #count(piece: Buffer): void {
    this.bytes += piece.length
    if (this.hashed) this.#hash.update(piece)
  }
}

const EVERY_MS = 20

/** Lets a socket read so many bytes per second, by holding it back. */
class Pacer {
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

/** Sends one file as a form and resolves with the status and the time. */
export function upload(
  port: number,
  target: string,
  key: string,
  content: Buffer,
  fields: readonly FormField[] = [],
  filename = 'trial.bin',
): Promise<{ readonly status: number; readonly ms: number; readonly answer: string }> {
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
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    let answer = ''
    socket.setTimeout(LIMIT_MS, () => socket.destroy(new Error('an upload stood still')))
    socket.on('error', reject)
    socket.on('close', () => reject(new Error('an upload was not answered')))
    socket.on('data', (piece: Buffer) => {
      answer += piece.toString('latin1')
      const end = answer.indexOf(HEAD_END)
      if (end < 0 || answer.length < end + HEAD_END.length + lengthOf(answer)) return
      resolve({
        status: Number(answer.slice(9, 12)),
        ms: performance.now() - begun,
        answer: answer.slice(end + 4),
      })
      socket.removeAllListeners('close')
      socket.destroy()
    })
    for (const piece of [Buffer.from(head.join('\r\n') + HEAD_END), before, content, after])
      socket.write(piece)
  })
}

function lengthOf(answer: string): number {
  return Number(/\r\ncontent-length: (\d+)/i.exec(answer)?.[1] ?? 0)
}
