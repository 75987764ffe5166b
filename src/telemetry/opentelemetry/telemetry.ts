/**
 * Traces and metrics for an OpenTelemetry collector (OTLP over HTTP), with the names of the GenAI semantic
 * conventions. The only importer of the OpenTelemetry packages, which are loaded when an exporter is configured.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Attributes, Context, Histogram, Meter, Span, Tracer } from '@opentelemetry/api'
import type { IdGenerator } from '@opentelemetry/sdk-trace-base'
import type { Log } from '../../base/log.js'
import type { ChatRequest, InferenceOutcome, RoutedRequest } from '../../gateway/formats/canonical.js'
import { traceLabels, traceText } from '../../gateway/formats/trace.js'
import type { Attempt, Generation } from '../../gateway/run/generation.js'
import { findTraceParent, type TraceParent } from './trace-parent.js'

export interface InferenceTelemetry {
  /** An inference is over. Never throws: a call must not suffer from being watched. */
  record(generation: Generation<RoutedRequest>, outcome: InferenceOutcome): void
  /** A call of a tool is over. Never throws. */
  recordTool(root: Generation<RoutedRequest>, row: ToolCallRow, spent: ToolCallSpending): void
  /** Sends what is left, as far as the collector takes it within half a second. Never rejects. */
  close(): Promise<void>
}

interface ToolCallRow {
  readonly id: string
  readonly name: string
  readonly backend: string
}

interface ToolCallSpending {
  readonly charged: number
  readonly isError: boolean
  readonly durationMs: number
}

interface TelemetryOptions {
  /** Where the collector listens, without `/v1/…`. */
  readonly endpoint: string
  readonly version: string
  readonly worker: number
  readonly log: Log
}

/** How often metrics are sent; also the longest that one sending may take. */
const EXPORT_MS = 10_000
/** A worker has a second to close everything: a collector that hangs gets half of it. */
const CLOSE_MS = 500
/** Spans that wait for a collector at most; what comes beyond is dropped. */
const MOST_WAITING = 2048

export async function startTelemetry(options: TelemetryOptions): Promise<InferenceTelemetry> {
  const [api, trace, metrics, resources, traceExport, metricExport] = await Promise.all([
    import('@opentelemetry/api'),
    import('@opentelemetry/sdk-trace-base'),
    import('@opentelemetry/sdk-metrics'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/exporter-trace-otlp-http'),
    import('@opentelemetry/exporter-metrics-otlp-http'),
  ])
  const { endpoint, version, worker, log } = options
  api.diag.setLogger(createDiagnosticLogger(log), { logLevel: api.DiagLogLevel.WARN })
  const resource = resources.resourceFromAttributes({
    'service.name': 'sluice',
    'service.version': version,
    'service.instance.id': randomUUID(),
    'sluice.worker': worker,
  })
  const ids = callerTraceIds(new trace.RandomIdGenerator())
  const traces = new trace.BasicTracerProvider({
    resource,
    idGenerator: ids,
    spanProcessors: [
      new trace.BatchSpanProcessor(new traceExport.OTLPTraceExporter({ url: `${endpoint}/v1/traces` }), {
        maxQueueSize: MOST_WAITING,
      }),
    ],
  })
  const meters = new metrics.MeterProvider({
    resource,
    readers: [
      new metrics.PeriodicExportingMetricReader({
        exporter: new metricExport.OTLPMetricExporter({ url: `${endpoint}/v1/metrics` }),
        exportIntervalMillis: EXPORT_MS,
        exportTimeoutMillis: EXPORT_MS,
      }),
    ],
  })
  const tracer = traces.getTracer('sluice', version)
  const recorder = new InferenceSpanRecorder(api, tracer, meters.getMeter('sluice', version), ids)
  return {
    record: (generation, outcome) => {
      try {
        recorder.record(generation, outcome)
      } catch (err) {
        log.warn({ err }, 'an inference could not be recorded for telemetry')
      }
    },
    recordTool: (root, row, spent) => {
      try {
        recorder.recordTool(root, row, spent)
      } catch (err) {
        log.warn({ err }, 'a call of a tool could not be recorded for telemetry')
      }
    },
    close: async () => {
      const sent = Promise.allSettled([traces.shutdown(), meters.shutdown()])
      await Promise.race([sent, sleep(CLOSE_MS, undefined, { ref: false })])
    },
  }
}

/** A collector that is away is worth a line of the log, and no more. */
function createDiagnosticLogger(log: Log): {
  [level in 'error' | 'warn' | 'info' | 'debug' | 'verbose']: (text: unknown) => void
} {
  const warn = (text: unknown): void =>
    log.warn({ telemetry: String(text).slice(0, 200) }, 'telemetry could not be exported')
  const nothing = (): void => {}
  return { error: warn, warn, info: nothing, debug: nothing, verbose: nothing }
}

/** Makes ids, but that of a trace is the caller's where one is named without a span in it. */
interface CallerTraceIds extends IdGenerator {
  traceId: string | null
}

function callerTraceIds(random: IdGenerator): CallerTraceIds {
  const ids: CallerTraceIds = {
    traceId: null,
    generateTraceId: () => ids.traceId ?? random.generateTraceId(),
    generateSpanId: () => random.generateSpanId(),
  }
  return ids
}

type OpenTelemetryApi = typeof import('@opentelemetry/api')

/** Bounds that the conventions recommend. */
const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
const FIRST_SECONDS = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power)

class InferenceSpanRecorder {
  readonly #api: OpenTelemetryApi
  readonly #tracer: Tracer
  readonly #ids: CallerTraceIds
  readonly #duration: Histogram
  readonly #firstToken: Histogram
  readonly #tokens: Histogram

  constructor(api: OpenTelemetryApi, tracer: Tracer, meter: Meter, ids: CallerTraceIds) {
    this.#api = api
    this.#tracer = tracer
    this.#ids = ids
    const histogram = (name: string, unit: string, description: string, bounds: number[]): Histogram =>
      meter.createHistogram(name, { unit, description, advice: { explicitBucketBoundaries: bounds } })
    this.#duration = histogram(
      'gen_ai.server.request.duration',
      's',
      'Time of a call, to the last of its answer',
      SECONDS,
    )
    this.#firstToken = histogram(
      'gen_ai.server.time_to_first_token',
      's',
      'Time to the first of a streamed answer that came to its end',
      FIRST_SECONDS,
    )
    this.#tokens = histogram(
      'gen_ai.client.token.usage',
      '{token}',
      'Tokens of a call that are billed',
      TOKENS,
    )
  }

  record(generation: Generation<RoutedRequest>, outcome: InferenceOutcome): void {
    const now = performance.now()
    const labels = metricLabels(generation)
    const error = errorAttributes(outcome)
    const { startedAt, firstEventAt, consumption } = generation
    this.#duration.record((now - startedAt) / 1000, { ...labels, ...error })
    if (firstEventAt > 0 && outcome.kind === 'completed') {
      this.#firstToken.record((firstEventAt - startedAt) / 1000, labels)
    }
    if (consumption !== null) {
      const { prompt, completion } = consumption.usage
      if (prompt > 0) this.#tokens.record(prompt, { ...labels, 'gen_ai.token.type': 'input' })
      if (completion > 0) this.#tokens.record(completion, { ...labels, 'gen_ai.token.type': 'output' })
    }
    this.#traceGeneration(generation, outcome, now, { ...labels, ...error })
  }

  /** In the caller's trace where it names one; otherwise the id of the root ties it to its turns. */
  recordTool(
    root: Generation<RoutedRequest>,
    { id, name, backend }: ToolCallRow,
    { charged, isError, durationMs }: ToolCallSpending,
  ): void {
    const now = performance.now()
    const attributes = {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': name,
      'gen_ai.tool.call.id': id,
      'gen_ai.response.id': root.id,
      'sluice.tool.backend': backend,
      'sluice.cost_dollars': charged / 1e9,
    }
    const around = this.#contextAround(findTraceParent(root))
    const startTime = toWallClock(now - durationMs)
    const options = { kind: this.#api.SpanKind.INTERNAL, startTime, attributes }
    const span = this.#tracer.startSpan(`execute_tool ${name}`, options, around)
    this.#ids.traceId = null
    this.#endSpan(span, now, isError ? 'tool_error' : undefined)
  }

  #traceGeneration(
    generation: Generation<RoutedRequest>,
    outcome: InferenceOutcome,
    now: number,
    labels: Attributes,
  ): void {
    const { trace, SpanKind } = this.#api
    const { request, operation, plan, attempts, startedAt } = generation
    const around = this.#contextAround(findTraceParent(generation))
    const spanName = traceText(request, 'span_name')
    const generationName = traceText(request, 'generation_name')
    const name = spanName ?? generationName ?? `${operationNameOf(operation)} ${plan.requested}`
    // With a name of its own for what is around them, the other one is that of the provider's answers.
    const attemptName = spanName === undefined ? undefined : generationName
    const attributes = { ...labels, ...spanAttributes(generation) }
    const startTime = toWallClock(startedAt)
    const span = this.#tracer.startSpan(name, { kind: SpanKind.SERVER, startTime, attributes }, around)
    this.#ids.traceId = null
    const within = trace.setSpan(around, span)
    for (const attempt of attempts) {
      this.#traceAttempt(attempt, operationNameOf(operation), attemptName, within)
    }
    this.#endSpan(span, now, outcome.kind === 'failed' ? outcome.fault.kind : undefined)
  }

  /** The context of the caller's span. Where only a trace is named, the next span without a parent gets its id. */
  #contextAround(parent: TraceParent | null): Context {
    const { ROOT_CONTEXT, trace } = this.#api
    if (parent === null) return ROOT_CONTEXT
    const { traceId, spanId, flags: traceFlags } = parent
    if (spanId !== null) {
      return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true })
    }
    this.#ids.traceId = traceId
    return ROOT_CONTEXT
  }

  #traceAttempt(
    { endpoint, status, error, startedAt, endedAt, lost }: Attempt,
    operation: string,
    name: string | undefined,
    within: Context,
  ): void {
    const attributes = {
      'gen_ai.operation.name': operation,
      'gen_ai.provider.name': endpoint.provider.slug,
      'gen_ai.request.model': endpoint.upstreamModel,
      ...(status > 0 && { 'http.response.status_code': status }),
      ...(error !== undefined && { 'error.type': error }),
      ...(lost !== null && { 'sluice.lost_cost_dollars': lost.cost / 1e9 }),
    }
    const options = { kind: this.#api.SpanKind.CLIENT, startTime: toWallClock(startedAt), attributes }
    const span = this.#tracer.startSpan(name ?? `${operation} ${endpoint.upstreamModel}`, options, within)
    this.#endSpan(span, endedAt, error)
  }

  #endSpan(span: Span, at: number, error: string | undefined): void {
    if (error !== undefined) span.setStatus({ code: this.#api.SpanStatusCode.ERROR, message: error })
    span.end(toWallClock(at))
  }
}

/** The conventions have one word for both formats of a conversation; those of sound are ours. */
function operationNameOf(operation: Generation<RoutedRequest>['operation']): string {
  return operation === 'messages' ? 'chat' : operation
}

/** Labels of the metrics: values of the configuration, so that there are few, and no names of callers. */
function metricLabels(generation: Generation<RoutedRequest>): Attributes {
  return {
    'gen_ai.operation.name': operationNameOf(generation.operation),
    'gen_ai.provider.name': generation.providerSlug,
    'gen_ai.request.model': generation.plan.endpoints[0]!.model.entryId,
    'gen_ai.response.model': generation.modelEntry,
  }
}

/** A caller who leaves has not met an error, but has not got the answer either. */
function errorAttributes(outcome: InferenceOutcome): Attributes {
  if (outcome.kind === 'completed') return {}
  return { 'error.type': outcome.kind === 'failed' ? outcome.fault.kind : 'aborted' }
}

function spanAttributes({
  id,
  request,
  consumption,
  attempts,
  client,
  plan,
  model,
}: Generation<RoutedRequest>): Attributes {
  const traceName = traceText(request, 'trace_name')
  const traceId = traceText(request, 'trace_id')
  const parent = traceText(request, 'parent_span_id')
  return {
    // In full, where the labels of the metrics have the entry of the configuration.
    'gen_ai.request.model': plan.requested,
    'gen_ai.response.model': model,
    'gen_ai.response.id': id,
    'sluice.attempts': attempts.length,
    'sluice.streamed': request.stream === true,
    ...(traceName !== undefined && { 'sluice.trace_name': traceName }),
    // As the caller wrote them: a trace has an id of its own form.
    ...(traceId !== undefined && { 'sluice.trace_id': traceId }),
    ...(parent !== undefined && { 'sluice.parent_span_id': parent }),
    ...(request.user !== undefined && { 'enduser.id': request.user }),
    ...(client.agent !== '' && { 'user_agent.original': client.agent }),
    ...labelAttributes(request),
    ...(request.session_id !== undefined && { 'gen_ai.conversation.id': request.session_id }),
    ...(consumption !== null && {
      'gen_ai.usage.input_tokens': consumption.usage.prompt,
      'gen_ai.usage.output_tokens': consumption.usage.completion,
      'gen_ai.usage.cache_read.input_tokens': consumption.usage.cached,
      'gen_ai.usage.cache_creation.input_tokens': consumption.usage.cacheWrite,
      'sluice.cost_dollars': consumption.cost.total / 1e9,
    }),
  }
}

/** The caller's labels, of `metadata` and of `trace` alike; on spans only, never on metrics. */
function labelAttributes(request: RoutedRequest): Attributes {
  const { metadata, trace } = request as Pick<ChatRequest, 'metadata' | 'trace'>
  if (metadata === undefined && trace === undefined) return {}
  const labels = [...Object.entries(metadata ?? {}), ...traceLabels(trace)]
  return Object.fromEntries(labels.map(([name, value]) => [`sluice.metadata.${name}`, value]))
}

/** Times of our own clock as dates. */
function toWallClock(at: number): number {
  return performance.timeOrigin + at
}
