/** The control listener: JSON over HTTP beside the data plane, answered by the supervisor. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { PROMETHEUS_TYPE } from '../../telemetry/prometheus/text-format.js'
import type { LabPorts } from '../lab-command.js'
import { findPageAsset, PAGE_POLICY } from '../page/page.js'
import { nanosecondText } from '../summary/summarize.js'
import { FaultOperations } from './fault-operations.js'
import { formatLabMetrics } from './lab-metrics.js'
import { LiveFeed } from './live-feed.js'
import { LabRequestError } from './requests.js'
import type { LabRun } from './run.js'
import * as operations from './run-operations.js'
import { jsonResponse, type LabResponse } from './run-operations.js'
import { LabRuns } from './runs.js'

interface LabServer {
  readonly host: string
  readonly port: number
  /** A worker has died. */
  onWorkerDied(worker: number): void
  /** A worker serves, for the first time or again. */
  onWorkerJoined(worker: number): void
  close(): void
}

const MOST_BODY_BYTES = 1024 * 1024
const METRICS_MS = 35

interface LabRequest {
  /** What the path names. */
  readonly id: string
  readonly query: URLSearchParams
  readonly body: unknown
}

interface LabRoute {
  readonly method: string
  readonly path: RegExp
  readonly handle: (request: LabRequest) => LabResponse | Promise<LabResponse>
}

/** Rejects when the address cannot be bound. */
export function serveLab(host: string, port: number, ports: LabPorts): Promise<LabServer> {
  const runs = new LabRuns(ports)
  const faults = new FaultOperations(ports)
  const live = new LiveFeed(runs, faults, ports)
  const routes = labRoutes(runs, faults, ports)
  const server = createServer((request, response) => {
    const isLive = request.method === 'GET' && request.url?.split('?', 1)[0] === '/lab/v1/live'
    if (isLive && isSameOrigin(request, ports.open)) {
      live.attach(response)
      return
    }
    void routeRequest(request, routes, ports.open)
      .catch((error: unknown) => errorResponse(error))
      .then((reply) => writeResponse(request, response, reply))
  })
  const listening = (): LabServer => ({
    host,
    port: (server.address() as AddressInfo).port,
    onWorkerDied: (worker) => runs.onWorkerDied(worker),
    onWorkerJoined: (worker) => {
      void runs.onWorkerJoined(worker)
      for (const fault of faults.plans()) {
        void ports.fleet.ask((each) => (each === worker ? { do: 'add-fault', fault } : null), METRICS_MS)
      }
    },
    close: () => {
      live.close()
      server.close()
      server.closeAllConnections()
    },
  })
  return new Promise((resolve, reject) => {
    server.on('error', (error) =>
      reject(new Error(`cannot serve the lab on ${host}:${port}: ${error.message}`)),
    )
    server.listen({ host, port, exclusive: true }, () => resolve(listening()))
  })
}

function labRoutes(runs: LabRuns, faults: FaultOperations, ports: LabPorts): readonly LabRoute[] {
  const route = (method: string, path: string, handle: LabRoute['handle']): LabRoute => {
    return { method, path: new RegExp(`^/lab${path}$`), handle }
  }
  const ofRun = (
    method: string,
    path: string,
    handle: (run: LabRun, request: LabRequest) => Promise<LabResponse>,
  ): LabRoute => route(method, `/v1/runs/([^/]+)${path}`, (request) => handle(runs.find(request.id), request))
  return [
    route('GET', '/v1/clock', () => jsonResponse(200, clockBody(ports.now()))),
    route('GET', '/v1/runs', () => {
      return jsonResponse(200, { runs: runs.list().map((run) => operations.runOutline(run, ports.now())) })
    }),
    route('POST', '/v1/runs', ({ body }) => operations.createRun(runs, ports, body)),
    ofRun('POST', '/stop', (run) => operations.stopRun(runs, run)),
    ofRun('GET', '', (run, { query }) => operations.readSummary(runs, run, query.get('window') ?? 'measure')),
    ofRun('GET', '/histogram', (run, { query }) => operations.readHistogram(runs, run, query)),
    ofRun('GET', '/series', (run, { query }) => operations.readSeries(runs, run, query)),
    ofRun('POST', '/client', (run, { body }) => operations.judgeRun(runs, run, body)),
    route('GET', '/v1/faults', () => faults.list()),
    route('POST', '/v1/faults', ({ body }) => faults.add(body)),
    route('DELETE', '/v1/faults', () => faults.remove(null)),
    route('DELETE', '/v1/faults/([^/]+)', ({ id }) => faults.remove(id)),
    route('GET', '/v1/metrics', () => metricsResponse(runs, ports)),
    route('GET', '(?:/(?!v1/)(.*))?', ({ id }) => pageResponse(id, ports.target)),
  ]
}

/** `wallMs` is Unix time; `monoNs` what every process of the machine reads as its monotonic clock. */
function clockBody(now: number): Record<string, unknown> {
  return { monoNs: nanosecondText(now), wallMs: Date.now() }
}

async function metricsResponse(runs: LabRuns, ports: LabPorts): Promise<LabResponse> {
  const { latest } = runs
  const [snapshots, summary] = await Promise.all([
    ports.snapshots(METRICS_MS),
    latest === null ? null : runs.summary(latest, runs.window(latest, 'measure')),
  ])
  return { status: 200, type: PROMETHEUS_TYPE, body: formatLabMetrics(snapshots, summary) }
}

function pageResponse(path: string, target: string): LabResponse {
  const file = findPageAsset(path, target)
  if (file === null) throw new LabRequestError(404, 'there is nothing here')
  return { status: 200, type: file.type, body: file.body }
}

async function routeRequest(
  request: IncomingMessage,
  routes: readonly LabRoute[],
  open: boolean,
): Promise<LabResponse> {
  if (!isSameOrigin(request, open)) {
    request.resume()
    throw new LabRequestError(
      403,
      'the lab answers only under its own address: pages of other origins may not use it',
    )
  }
  const url = targetOf(request)
  const method = request.method === 'HEAD' ? 'GET' : request.method
  const matching = routes.filter(({ path }) => path.test(url.pathname))
  const found = matching.find((each) => each.method === method)
  if (found === undefined) {
    request.resume()
    if (matching.length === 0)
      throw new LabRequestError(404, `there is nothing at ${url.pathname.slice(0, 200)}`)
    throw new LabRequestError(405, `only ${matching.map((each) => each.method).join(', ')} here`)
  }
  const id = decodeURIComponent(found.path.exec(url.pathname)?.[1] ?? '')
  const body = method === 'POST' ? parseJsonBody(await readBody(request)) : undefined
  return found.handle({ id, query: url.searchParams, body })
}

/** A path, or the absolute form that proxies send; `//` is a path here and no host. */
function targetOf(request: IncomingMessage): URL {
  const { url: target = '/' } = request
  const text = target.startsWith('/') ? `http://lab${target}` : target
  if (URL.canParse(text)) return new URL(text)
  request.resume()
  throw new LabRequestError(400, 'the target of the request is no URL')
}

/**
 * A page on the web may make a browser send requests here: it would say another origin, or come under another name
 * that was made to point at this machine.
 */
function isSameOrigin({ headers }: IncomingMessage, open: boolean): boolean {
  const { host = '', origin } = headers
  if (origin !== undefined && origin !== `http://${host}`) return false
  if (open) return true
  const name = host.replace(/:[0-9]+$/, '')
  return name === 'localhost' || /^(?:[0-9]+(?:\.[0-9]+){3}|\[[0-9a-fA-F:.]+\])$/.test(name)
}

async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.byteLength
    if (size > MOST_BODY_BYTES)
      throw new LabRequestError(413, `a body has at most ${MOST_BODY_BYTES} bytes here`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** An empty body is an empty object: to stop a run needs no words. */
function parseJsonBody(bytes: Buffer): unknown {
  if (bytes.byteLength === 0) return {}
  try {
    return JSON.parse(bytes.toString())
  } catch {
    throw new LabRequestError(400, 'the body is no JSON')
  }
}

function errorResponse(error: unknown): LabResponse {
  if (error instanceof LabRequestError) {
    const { status, message, field } = error
    return jsonResponse(status, { error: { code: status, message, ...(field !== undefined && { field }) } })
  }
  if (error instanceof URIError)
    return jsonResponse(400, { error: { code: 400, message: 'the path is not well encoded' } })
  return jsonResponse(500, { error: { code: 500, message: 'a defect of the lab' } })
}

function writeResponse(
  request: IncomingMessage,
  response: ServerResponse,
  { status, type, body }: LabResponse,
): void {
  response.writeHead(status, {
    'Content-Type': type,
    'Content-Length': Buffer.byteLength(body as string),
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
    'Content-Security-Policy': PAGE_POLICY,
    // A refused body may still be coming.
    ...(request.complete ? {} : { Connection: 'close' }),
  })
  response.end(request.method === 'HEAD' ? undefined : body)
}
