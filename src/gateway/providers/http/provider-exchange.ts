/** What every call has in common: one upstream call, refusals with their reason, and one end. */
import { BoundedTextBody, contentLengthOf } from '../../../upstream/body-text.js'
import type {
  UpstreamCall,
  UpstreamClient,
  UpstreamFailure,
  UpstreamReceiver,
  UpstreamRequest,
} from '../../../upstream/port.js'
import {
  type FailureSource,
  malformedAnswer,
  type ResponseHeaders,
  refusedCall,
  transportFailure,
} from '../port/failure.js'
import type { CallHandle, ConnectionWaits, ProviderFailure } from '../port/provider.js'

/** As much of a refusal's body as is read. */
const MAX_ERROR_BYTES = 64 * 1024

/** Is the receiver of its upstream call and the handle of its caller: one object per call. */
export abstract class ProviderExchange implements UpstreamReceiver, CallHandle {
  protected status = 0
  /** Nothing is told any more. */
  protected over = false
  private upstream: UpstreamCall | null = null
  private refused: BoundedTextBody | null = null
  private headers: ResponseHeaders = {}

  constructor(protected readonly source: FailureSource) {}

  /** The head of a success has come. */
  protected abstract onSuccessHead(headers: ResponseHeaders): void
  /** A piece of a success; borrowed. */
  protected abstract onSuccessBody(chunk: Uint8Array): void
  /** The body of a success is complete. */
  protected abstract onSuccessEnd(): void
  protected abstract reportFailure(failure: ProviderFailure): void

  begin(upstream: UpstreamClient, request: UpstreamRequest): this {
    this.upstream = upstream.call(request, this)
    return this
  }

  waits(): ConnectionWaits | null {
    return this.upstream?.waits() ?? null
  }

  pause(): void {
    this.upstream?.pause()
  }

  resume(): void {
    this.upstream?.resume()
  }

  cancel(): void {
    if (this.over) return
    this.over = true
    this.upstream?.cancel()
  }

  onHead(status: number, headers: ResponseHeaders): void {
    this.status = status
    if (status < 300) {
      if (isUncompressed(headers)) this.onSuccessHead(headers)
      else this.failMalformed('an answer in a content coding that was not asked for')
      return
    }
    this.headers = headers
    this.refused = new BoundedTextBody(MAX_ERROR_BYTES, contentLengthOf(headers))
  }

  onData(chunk: Uint8Array): void {
    if (this.refused === null) this.onSuccessBody(chunk)
    else if (!this.refused.push(chunk)) this.refuse(this.refused)
  }

  onEnd(): void {
    if (this.refused === null) this.onSuccessEnd()
    else this.refuse(this.refused)
  }

  /** A refusal whose body does not come stays the refusal that its head was. */
  onFailure(failure: UpstreamFailure): void {
    if (this.refused === null) this.fail(transportFailure(failure, this.source, this.status))
    else this.refuse(this.refused)
  }

  private refuse(body: BoundedTextBody): void {
    this.fail(refusedCall(this.status, this.headers, body.text(), this.source, Date.now()))
  }

  protected failMalformed(detail: string): void {
    this.fail(malformedAnswer(detail, this.source, this.status))
  }

  /** Once; whatever still comes from the provider is not wanted. */
  protected fail(failure: ProviderFailure): void {
    if (this.over) return
    this.over = true
    this.upstream?.cancel()
    this.reportFailure(failure)
  }

  /** The answer is whole, whatever else comes; its connection may serve again. */
  protected finish(): void {
    this.over = true
    this.upstream?.release()
  }
}

function isUncompressed(headers: ResponseHeaders): boolean {
  const coding = headers['content-encoding']
  return coding === undefined || coding === '' || coding === 'identity'
}

/** Media type without parameters, lower case; `''` when there is none. */
export function mediaTypeOf(headers: ResponseHeaders): string {
  const header = headers['content-type']
  const text = Array.isArray(header) ? header[0] : header
  return /^[^;]*/
    .exec(text ?? '')![0]
    .trim()
    .toLowerCase()
}

export function isJsonType(type: string): boolean {
  return type === 'application/json' || (type.startsWith('application/') && type.endsWith('+json'))
}
