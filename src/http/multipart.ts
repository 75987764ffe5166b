/**
 * Forms with a file (RFC 7578), read while they come. The splitting is our own: the parsers of the registry that
 * stream skip what they cannot read (a preamble of any length, header lines, nameless parts), so that a second scan
 * had to stand in front of them, and both together with their copies took five times as long as the reading.
 */
import { isUtf8 } from 'node:buffer'
import { Fault, invalidInput } from '../base/fault.js'
import type { HttpCall, IncomingBody } from '../transport/exchange.js'
import { boundaryOf, multipartFault, type PartHeader } from './multipart/part-header.js'
import { MultipartSplitter, type PartListener } from './multipart/splitter.js'

export interface FormLimits {
  readonly fileBytes: number
  /** Most parts, the file included; 64 when absent. */
  readonly parts?: number
}

/** Most bytes of one field's value. */
const FIELD_BYTES = 64 * 1024

/** Where the bytes of a file go while its form is read. */
interface FormFileWriter {
  /**
   * Takes all of a piece, which is borrowed for the call. While its promise is open the sender is held back; what is
   * on its way already still comes.
   */
  write(piece: Uint8Array): void | Promise<void>
  /** Gives up what was written. */
  abandon(): void | Promise<void>
}

/** The file of a form. */
export interface FormFile<Writer> {
  readonly header: PartHeader
  /** Has taken all bytes; now the caller's, to finish or to abandon. */
  readonly writer: Writer
  /** Bytes in all. */
  size: number
  /** Its first bytes. */
  head: Buffer
}

const HEAD_BYTES = 16

/**
 * Reads a form of fields and at most one file, in a part named `file`, while it comes. Resolves when the body has
 * ended well and the file's writer has taken everything. Fails with `invalid-input` when the form is broken or beyond
 * a limit, with `payload-too-large` when the file is, with `bad-request` when the rest of the body will not come, and
 * with whatever the writer fails with; the file is abandoned then.
 */
export async function readFileForm<Writer extends FormFileWriter>(
  call: Pick<HttpCall, 'incoming' | 'header'>,
  limits: FormLimits,
  begin: () => Writer,
): Promise<{ readonly fields: MultipartFields; readonly file: FormFile<Writer> | null }> {
  const boundary = boundaryOf(call.header('content-type'))
  if (boundary === null) throw multipartFault('must be sent as multipart/form-data with a boundary')
  const form = new FileForm(boundary, limits, begin)
  try {
    await readInto(form, call.incoming!)
    if (form.fields.names.includes('file')) throw invalidInput(['body', 'file'], 'must be a file')
    return form
  } catch (error) {
    await form.file?.writer.abandon()
    throw error
  }
}

/** Hands the bytes of a body on to a form, and holds the sender back while the writer of its file is behind. */
function readInto(form: FileForm<FormFileWriter>, body: IncomingBody): Promise<void> {
  return new Promise((resolve, reject) => {
    let waiting = false
    let ended = false
    let closed = false
    const fail = (error: unknown): void => {
      closed = true
      reject(error)
    }
    const finish = (): void => {
      if (closed || !ended || waiting) return
      if (form.isComplete) resolve()
      else fail(multipartFault('ends before its closing boundary'))
    }
    const waitForWriter = async (): Promise<void> => {
      waiting = true
      body.pause()
      try {
        for (let lag = form.takeLag(); lag !== null; lag = form.takeLag()) await lag
      } catch (error) {
        fail(error)
      }
      waiting = false
      if (closed) return
      body.resume()
      finish()
    }
    body.read({
      onData: (piece) => {
        if (closed) return
        try {
          form.push(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength))
          if (form.isLagging && !waiting) void waitForWriter()
        } catch (error) {
          fail(error)
        }
      },
      onEnd: () => {
        ended = true
        finish()
      },
      onFailure: () => fail(new Fault('bad-request', { detail: 'the body ended early' })),
    })
  })
}

/** What the splitter finds, as fields and a file. */
class FileForm<Writer extends FormFileWriter> implements PartListener {
  readonly fields = new MultipartFields()
  file: FormFile<Writer> | null = null
  readonly #splitter: MultipartSplitter
  readonly #fileBytes: number
  readonly #begin: () => Writer
  /** The writer has more than it likes: the sender should wait. */
  #lag: Promise<void> | null = null
  /** Of the part under way. */
  #name = ''
  #inFile = false
  #pieces: Buffer[] = []
  #fieldBytes = 0

  constructor(boundary: string, { fileBytes, parts = 64 }: FormLimits, begin: () => Writer) {
    this.#splitter = new MultipartSplitter(boundary, parts, this)
    this.#fileBytes = fileBytes
    this.#begin = begin
  }

  /** Takes the next bytes, borrowed. */
  push(piece: Buffer): void {
    this.#splitter.push(piece)
  }

  get isComplete(): boolean {
    return this.#splitter.closed
  }

  get isLagging(): boolean {
    return this.#lag !== null
  }

  /** What to wait for; null when the writer has not fallen behind since this was asked. */
  takeLag(): Promise<void> | null {
    const lag = this.#lag
    this.#lag = null
    return lag
  }

  // ── The splitter ──────────────────────────────────────────────────────────

  onPartBegin(header: PartHeader): void {
    this.#name = header.name
    this.#fieldBytes = 0
    this.#inFile = isFile(header)
    if (this.#inFile) this.#beginFile(header)
  }

  onPartData(bytes: Buffer): void {
    if (this.#inFile) this.#writeToFile(this.file!, bytes)
    else this.#addToField(bytes)
  }

  onPartEnd(): void {
    if (this.#inFile) return
    const value = Buffer.concat(this.#pieces)
    this.#pieces = []
    if (!isUtf8(value)) throw multipartFault('has a field that is not UTF-8')
    this.fields.add(this.#name, value.toString())
  }

  #beginFile(header: PartHeader): void {
    if (this.file !== null) throw multipartFault('must hold one file')
    if (header.name !== 'file') {
      throw invalidInput(['body', 'file'], 'must be the name of the part that holds a file')
    }
    this.file = { header, writer: this.#begin(), size: 0, head: Buffer.alloc(0) }
  }

  #writeToFile(file: FormFile<Writer>, bytes: Buffer): void {
    if (file.size < HEAD_BYTES) {
      file.head = Buffer.concat([file.head, bytes.subarray(0, HEAD_BYTES)]).subarray(0, HEAD_BYTES)
    }
    file.size += bytes.length
    if (file.size > this.#fileBytes) throw new Fault('payload-too-large')
    const lag = file.writer.write(bytes)
    if (lag === undefined) return
    // Of several the last one counts: what was written before it is taken with it.
    lag.catch(() => {})
    this.#lag = lag
  }

  #addToField(bytes: Buffer): void {
    this.#fieldBytes += bytes.length
    if (this.#fieldBytes > FIELD_BYTES) throw multipartFault(`has a field of more than ${FIELD_BYTES} bytes`)
    this.#pieces.push(Buffer.from(bytes))
  }
}

/** A part that names a file, or that is bytes without a meaning. */
function isFile({ filename, contentType }: PartHeader): boolean {
  return filename !== null || contentType === 'application/octet-stream'
}

/** The fields of a multipart form that are no files, by name, in order of arrival. */
export class MultipartFields {
  readonly #values = new Map<string, string[]>()

  add(name: string, value: string): void {
    const values = this.#values.get(name)
    if (values === undefined) this.#values.set(name, [value])
    else values.push(value)
  }

  get names(): readonly string[] {
    return [...this.#values.keys()]
  }

  /** The value of a field, undefined when absent. Throws when it came more than once. */
  single(name: string): string | undefined {
    const values = this.#values.get(name) ?? []
    if (values.length > 1) throw multipartFault('must come once', name)
    return values[0]
  }

  /** The values of a field as they came. */
  all(name: string): readonly string[] {
    return this.#values.get(name) ?? []
  }

  /**
   * The values of a list (contract/decisions 28): its parts may repeat, carry brackets or not (`name`, `name[]`), and
   * a part with commas is split on them. Empty when there is none; empty pieces and outer spaces go.
   */
  list(name: string): string[] {
    return [...(this.#values.get(name) ?? []), ...(this.#values.get(`${name}[]`) ?? [])]
      .flatMap((value) => value.split(','))
      .map((value) => value.trim())
      .filter((value) => value !== '')
  }
}
