/** Any server that speaks the chat completions of OpenAI. */
import { Fault } from '../../../base/fault.js'
import type { PhaseTimeouts, PoolLimits, Upstream, UpstreamRequest } from '../../../upstream/port.js'
import type {
  CompletionReceiver,
  Flow,
  Provider,
  ProviderCall,
  ProviderFailure,
  StreamReceiver,
} from '../provider.js'
import type { Source } from './failure.js'
import { requestBody, type WireObject } from './request.js'
import { StreamedAnswer } from './streamed-answer.js'
import { WholeAnswer } from './whole-answer.js'

export interface OpenAiOptions {
  /** Up to and without `/chat/completions`; a query in it goes along with every call. */
  readonly baseUrl: string
  readonly apiKey: string | null
  /** Fixed headers of the operator; they win over ours, save those that belong to the connection. */
  readonly headers: Readonly<Record<string, string>>
  readonly timeouts: PhaseTimeouts
  readonly limits: PoolLimits
  readonly upstream: Upstream
  /** For `User-Agent`. */
  readonly version: string
}

/** A provider that serves every model of one server. Throws a RangeError for a header it must not send. */
export function openAiProvider(options: OpenAiOptions): Provider {
  return new OpenAiProvider(options)
}

class OpenAiProvider implements Provider {
  private readonly secrets: readonly string[]
  private readonly streaming: Omit<UpstreamRequest, 'body' | 'deadlineAt'>
  private readonly whole: Omit<UpstreamRequest, 'body' | 'deadlineAt'>

  constructor(private readonly options: OpenAiOptions) {
    this.secrets = [options.apiKey ?? '', ...Object.values(options.headers)].filter(
      (text) => text.length >= 8,
    )
    this.streaming = template(options, 'text/event-stream')
    this.whole = template(options, 'application/json')
  }

  stream(call: ProviderCall, receiver: StreamReceiver): Flow {
    const body = bodyOf(call, true)
    if (body instanceof Fault) return failingLater(body, receiver)
    const echo = call.request.debug?.echo_upstream_body === true ? body.sent : undefined
    const exchange = new StreamedAnswer(this.source(call), call.generationId, receiver, echo)
    return exchange.begin(this.options.upstream, {
      ...this.streaming,
      body: body.text,
      deadlineAt: call.deadlineAt,
    })
  }

  complete(call: ProviderCall, receiver: CompletionReceiver): Flow {
    const body = bodyOf(call, false)
    if (body instanceof Fault) return failingLater(body, receiver)
    const exchange = new WholeAnswer(this.source(call), call.generationId, receiver)
    return exchange.begin(this.options.upstream, {
      ...this.whole,
      body: body.text,
      deadlineAt: call.deadlineAt,
    })
  }

  private source(call: ProviderCall): Source {
    return { name: call.endpoint.provider.name, secrets: this.secrets }
  }
}

/** The body and its text; a fault when the request cannot be written, which validation should have seen. */
function bodyOf(
  call: ProviderCall,
  stream: boolean,
): { readonly sent: WireObject; readonly text: string } | Fault {
  try {
    const sent = requestBody(call, stream)
    return { sent, text: JSON.stringify(sent) }
  } catch (cause) {
    return new Fault('internal', { detail: 'a request that cannot be written', cause })
  }
}

function failingLater(fault: Fault, receiver: { failed(failure: ProviderFailure): void }): Flow {
  const later = setImmediate(() => receiver.failed({ fault, class: 'not-sent', status: 0 }))
  return { pause: () => {}, resume: () => {}, cancel: () => clearImmediate(later) }
}

// ── What is the same for every call ─────────────────────────────────────────

function template(options: OpenAiOptions, accept: string): Omit<UpstreamRequest, 'body' | 'deadlineAt'> {
  const url = new URL(options.baseUrl)
  return {
    method: 'POST',
    origin: url.origin,
    path: `${url.pathname.replace(/\/+$/, '')}/chat/completions${url.search}`,
    headers: headersOf(options, accept),
    timeouts: options.timeouts,
    limits: options.limits,
  }
}

/** Belong to the connection, to the framing or to the body we build. */
const OURS: ReadonlySet<string> = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Nothing of the caller: ours and the operator's. */
function headersOf({ apiKey, headers, version }: OpenAiOptions, accept: string): readonly string[] {
  const all = new Map([
    ['content-type', 'application/json'],
    ['accept', accept],
    ['accept-encoding', 'identity'],
    ['user-agent', `sluice/${version}`],
  ])
  if (apiKey !== null) all.set('authorization', `Bearer ${apiKey}`)
  for (const [name, value] of Object.entries(headers)) all.set(allowed(name.toLowerCase()), value)
  return [...all].flat()
}

function allowed(name: string): string {
  if (OURS.has(name) || !/^[\w!#$%&'*+.^`|~-]+$/.test(name))
    throw new RangeError(`header ${name} cannot be set`)
  return name
}
