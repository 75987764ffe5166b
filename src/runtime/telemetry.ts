/**
 * Traces and metrics for an OpenTelemetry collector (OTLP over HTTP), with the names of the GenAI semantic
 * conventions. The only importer of the OpenTelemetry packages, which are loaded when an exporter is configured.
 */
import type { Attributes, Meter, SpanContext, Tracer } from '@opentelemetry/api'
import type { Log } from '../base/log.js'
import type { RoutedRequest } from '../gateway/canonical.js'
import type { Outcome } from '../gateway/complete.js'
import type { Attempt, Generation } from '../gateway/generation.js'

export interface Telemetry {
  /** An inference is over. */
  record(generation: Generation<RoutedRequest>, outcome: Outcome): void
  /** Sends what is left. */
  close(): Promise<void>
}

export interface TelemetryOptions {
  /** Where the collector listens, without `/v1/…`. */
  readonly endpoint: string
  readonly version: string
  readonly worker: number
  readonly log: Log
}

const EXPORT_MS = 10_000

export async function openTelemetry(options: TelemetryOptions): Promise<Telemetry> {
  const [api, trace, metrics, resources, traceExport, metricExport] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace-base'),
    import('@opentelemetry/sdk-metrics'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/exporter-metrics-otlp-http'),
  ])
  const { endpoint, version, worker, log } = options
  api.diag.setLogger(quietly(log), { logLevel: api.DiagLogLevel.WARN })
  const resource = resources.resourceFromAttributes({
    'service.name': 'sluice',
    'service.version': version,
    'service.instance.id': `worker-${worker}`,
  })
  const traces = new trace.BasicTracerProvider({
    resource,
    spanProcessors: [
      new trace.BatchSpanProcessor(new traceExport.OTLPTraceExporter({ url: `${endpoint}/v1/traces` })),
    ],
  })
  const meters = new metrics.MeterProvider({
    resource,
    readers: [
      new metrics.PeriodicExportingMetricReader({
        exporter: new metricExport.OTLPMetricExporter({ url: `${endpoint}/v1/metrics` }),
        exportIntervalMillis: EXPORT_MS,
      }),
    ],
  })
  const recorder = new Recorder(api, traces.getTracer('sluice', version), meters.getMeter('sluice', version))
  return {
    record: (generation, outcome) => recorder.record(generation, outcome),
    close: async () => {
      await Promise.allSettled([traces.shutdown(), meters.shutdown()])
    },
  }
}

/** A collector that is away is worth a line of the log, and no more. */
function quietly(log: Log): {
  [level in 'error' | 'warn' | 'info' | 'debug' | 'verbose']: (text: string) => void
} {
  const warn = (text: string): void =>
    log.warn({ telemetry: text.slice(0, 200) }, 'telemetry could not be exported')
  const nothing = (): void => {}
  return { error: warn, warn, info: nothing, debug: nothing, verbose: nothing }
}

type Api = typeof import('@opentelemetry/api')

class Recorder {
  readonly #api: Api
  readonly #tracer: Tracer
  readonly #duration
  readonly #firstToken
  readonly #tokens

  constructor(api: Api, tracer: Tracer, meter: Meter) {
    this.#api = api
    this.#tracer = tracer
    this.#duration = meter.createHistogram('gen_ai.server.request.duration', { unit: 's' })
    this.#firstToken = meter.createHistogram('gen_ai.server.time_to_first_token', { unit: 's' })
    this.#tokens = meter.createHistogram('gen_ai.client.token.usage', { unit: '{token}' })
  }

  record(generation: Generation<RoutedRequest>, outcome: Outcome): void {
    const now = performance.now()
    const labels = labelsOf(generation, outcome)
    const { startedAt, firstEventAt, consumption } = generation
    this.#duration.record((now - startedAt) / 1000, labels)
    if (firstEventAt > 0) this.#firstToken.record((firstEventAt - startedAt) / 1000, labels)
    if (consumption !== null) {
      const { prompt, completion } = consumption.usage
      this.#tokens.record(prompt, { ...labels, 'gen_ai.token.type': 'input' })
      this.#tokens.record(completion, { ...labels, 'gen_ai.token.type': 'output' })
    }
    this.#trace(generation, outcome, now, labels)
  }

  #trace(generation: Generation<RoutedRequest>, outcome: Outcome, now: number, labels: Attributes): void {
    const { context, trace, SpanKind, SpanStatusCode } = this.#api
    const parent = parentOf(generation)
    const around = parent === null ? context.active() : trace.setSpanContext(context.active(), parent)
    const name =
      nameOf(generation, 'generation_name') ?? `${generation.operation} ${generation.plan.requested}`
    const span = this.#tracer.startSpan(
      name,
      {
        kind: SpanKind.SERVER,
        startTime: wallClock(generation.startedAt),
        attributes: { ...labels, ...attributesOf(generation) },
      },
      around,
    )
    const within = trace.setSpan(around, span)
    for (const attempt of generation.attempts) this.#attempt(attempt, within)
    if (outcome.kind === 'failed') span.setStatus({ code: SpanStatusCode.ERROR, message: outcome.fault.kind })
    span.end(wallClock(now))
  }

  #attempt(
    { endpoint, status, startedAt, endedAt }: Attempt,
    within: ReturnType<Api['context']['active']>,
  ): void {
    const { SpanKind, SpanStatusCode } = this.#api
    const span = this.#tracer.startSpan(
      `attempt ${endpoint.provider.slug}`,
      {
        kind: SpanKind.CLIENT,
        startTime: wallClock(startedAt),
        attributes: {
          'gen_ai.provider.name': endpoint.provider.slug,
          'gen_ai.request.model': endpoint.upstreamModel,
          ...(status > 0 && { 'http.response.status_code': status }),
        },
      },
      within,
    )
    if (status !== 200) span.setStatus({ code: SpanStatusCode.ERROR })
    span.end(wallClock(endedAt))
  }
}

/** What metrics are told by: few values each, and nobody's name. */
function labelsOf(generation: Generation<RoutedRequest>, outcome: Outcome): Attributes {
  return {
    'gen_ai.operation.name': generation.operation,
    'gen_ai.provider.name': generation.providerSlug,
    'gen_ai.request.model': generation.plan.requested,
    'gen_ai.response.model': generation.model,
    ...(outcome.kind === 'failed' && { 'error.type': outcome.fault.kind }),
    ...(outcome.kind === 'aborted' && { 'error.type': 'aborted' }),
  }
}

function attributesOf({ id, request, consumption, attempts }: Generation<RoutedRequest>): Attributes {
  return {
    'gen_ai.response.id': id,
    'sluice.attempts': attempts.length,
    'sluice.streamed': request.stream === true,
    ...(request.session_id !== undefined && { 'gen_ai.conversation.id': request.session_id }),
    ...(consumption !== null && {
      'gen_ai.usage.input_tokens': consumption.usage.prompt,
      'gen_ai.usage.output_tokens': consumption.usage.completion,
      'sluice.cost_dollars': consumption.cost.total / 1e9,
    }),
  }
}

const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/
const TRACE_ID = /^(?!0{32}$)[0-9a-f]{32}$/
const SPAN_ID = /^(?!0{16}$)[0-9a-f]{16}$/

/** The caller's span: of the `traceparent` header (W3C Trace Context), else of the body's `trace`. */
function parentOf(generation: Generation<RoutedRequest>): SpanContext | null {
  const header = TRACEPARENT.exec(generation.traceparent)
  const traceId = header?.[1] ?? nameOf(generation, 'trace_id')
  const spanId = header?.[2] ?? nameOf(generation, 'parent_span_id')
  if (traceId === undefined || spanId === undefined) return null
  if (!TRACE_ID.test(traceId) || !SPAN_ID.test(spanId)) return null
  const traceFlags = header === null ? 1 : Number.parseInt(header[3]!, 16)
  return { traceId, spanId, traceFlags, isRemote: true }
}

function nameOf({ request }: Generation<RoutedRequest>, member: string): string | undefined {
  const value = request.trace?.[member]
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Times of our own clock as dates. */
function wallClock(at: number): number {
  return performance.timeOrigin + at
}
