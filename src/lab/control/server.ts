/** The control listener: JSON over HTTP beside the data plane, answered by the supervisor. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { PROMETHEUS_TYPE } from '../../telemetry/prometheus/prometheus.js'
import { PAGE_POLICY } from '../page/policy.js'
import { nanoseconds } from '../summary/summarize.js'
import { FaultOperations } from './fault-operations.js'
import { labMetrics } from './lab-metrics.js'
import { LiveFeed } from './live-feed.js'
import type { LabPorts } from './ports.js'
import { Problem } from './problem.js'
import { type Answer, json, RunOperations } from './run-operations.js'
import { Runs } from './runs.js'

export interface LabServer {
  readonly host: string
  readonly port: number
  /** A worker has died. */
  died(worker: number): void
  /** A worker serves, for the first time or again. */
  joined(worker: number): void
  close(): void
}

const MOST_BODY_BYTES = 1024 * 1024
const METRICS_MS = 35

type Handler = (asked: Asked) => Answer | Promise<Answer>

interface Asked {
  readonly id: string
  readonly query: URLSearchParams
  readonly body: unknown
}

interface Way {
  readonly method: string
  readonly path: RegExp
  readonly handle: Handler
}

/** Rejects when the address cannot be bound. */
export function serveLab(host: string, port: number, ports: LabPorts): Promise<LabServer> {
  const runs = new Runs({ fleet: ports.fleet, now: ports.now, environment: ports.environment })
  const faults = new FaultOperations(ports)
  const live = new LiveFeed(runs, faults, ports)
  const ways = waysOf(runs, faults, ports)
  const server = createServer((request, response) => {
    if (
      request.url?.split('?', 1)[0] === '/lab/v1/live' &&
      request.method === 'GET' &&
      isOwn(request, ports.open)
    ) {
      live.attach(response)
      return
    }
    void answer(request, ways, ports.open)
      .catch((error: unknown) => failure(error))
      .then((reply) => write(request, response, reply))
  })
  return new Promise((resolve, reject) => {
    server.on('error', (error) =>
      reject(new Error(`cannot serve the lab on ${host}:${port}: ${error.message}`)),
    )
    server.listen({ host, port, exclusive: true }, () =>
      resolve(control(server, host, runs, faults, live, ports)),
    )
  })
}

function control(
  server: Server,
  host: string,
  runs: Runs,
  faults: FaultOperations,
  live: LiveFeed,
  ports: LabPorts,
): LabServer {
  return {
    host,
    port: (server.address() as AddressInfo).port,
    died: (worker) => runs.died(worker),
    joined: (worker) => {
      void runs.joined(worker)
      for (const fault of faults.plans()) {
        void ports.fleet.ask((each) => (each === worker ? { do: 'fault', fault } : null), METRICS_MS)
      }
    },
    close: () => {
      live.close()
      server.close()
      server.closeAllConnections()
    },
  }
}

function waysOf(runs: Runs, faults: FaultOperations, ports: LabPorts): readonly Way[] {
  const operations = new RunOperations(runs, ports)
  const run = (rest: string): RegExp => new RegExp(`^/lab/v1/runs/([^/]+)${rest}$`)
  return [
    way('GET', /^\/lab\/v1\/clock$/, () => json(200, clock(ports.now()))),
    way('GET', /^\/lab\/v1\/runs$/, () => operations.list()),
    way('POST', /^\/lab\/v1\/runs$/, ({ body }) => operations.create(body)),
    way('POST', run('/stop'), ({ id }) => operations.stop(id)),
    way('GET', run(''), ({ id, query }) => operations.summary(id, query.get('window') ?? 'measure')),
    way('GET', run('/histogram'), ({ id, query }) => operations.histogram(id, query)),
    way('GET', run('/series'), ({ id, query }) => operations.series(id, query)),
    way('POST', run('/client'), ({ id, body }) => operations.client(id, body)),
    way('GET', /^\/lab\/v1\/faults$/, () => faults.list()),
    way('POST', /^\/lab\/v1\/faults$/, ({ body }) => faults.add(body)),
    way('DELETE', /^\/lab\/v1\/faults$/, () => faults.remove(null)),
    way('DELETE', /^\/lab\/v1\/faults\/([^/]+)$/, ({ id }) => faults.remove(id)),
    way('GET', /^\/lab\/v1\/metrics$/, () => metrics(runs, ports)),
    way('GET', /^\/lab(?:\/(?!v1\/)(.*))?$/, ({ id }) => page(id, ports)),
  ]
}

function way(method: string, path: RegExp, handle: Handler): Way {
  return { method, path, handle }
}

/** `wallMs` is Unix time; `monoNs` what every process of the machine reads as its monotonic clock. */
function clock(now: number): Record<string, unknown> {
  return { monoNs: nanoseconds(now), wallMs: Date.now() }
}

async function metrics(runs: Runs, ports: LabPorts): Promise<Answer> {
  const { latest } = runs
  const [snapshots, summary] = await Promise.all([
    ports.snapshots(METRICS_MS),
    latest === null ? null : runs.summary(latest, runs.window(latest, 'measure')),
  ])
  return { status: 200, type: PROMETHEUS_TYPE, body: labMetrics(snapshots, summary) }
}

function page(path: string, ports: LabPorts): Answer {
  const file = ports.page(path)
  if (file === null) throw new Problem(404, 'there is nothing here')
  return { status: 200, type: file.type, body: file.body }
}

async function answer(request: IncomingMessage, ways: readonly Way[], open: boolean): Promise<Answer> {
  if (!isOwn(request, open)) {
    request.resume()
    throw new Problem(
      403,
      'the lab answers only under its own address: pages of other origins may not use it',
    )
  }
  const url = new URL(request.url ?? '/', 'http://lab')
  const method = request.method === 'HEAD' ? 'GET' : request.method
  const matching = ways.filter(({ path }) => path.test(url.pathname))
  const found = matching.find((each) => each.method === method)
  if (found === undefined) {
    request.resume()
    if (matching.length === 0) throw new Problem(404, `there is nothing at ${url.pathname.slice(0, 200)}`)
    throw new Problem(405, `only ${matching.map((each) => each.method).join(', ')} here`)
  }
  const id = decodeURIComponent(found.path.exec(url.pathname)?.[1] ?? '')
  const body = method === 'POST' ? parsed(await bytesOf(request)) : undefined
  return found.handle({ id, query: url.searchParams, body })
}

/**
 * A page on the web may make a browser send requests here: it would say another origin, or come under another name
 * that was made to point at this machine.
 */
function isOwn({ headers }: IncomingMessage, open: boolean): boolean {
  const { host = '', origin } = headers
  if (origin !== undefined && origin !== `http://${host}`) return false
  if (open) return true
  const name = host.replace(/:[0-9]+$/, '')
  return name === 'localhost' || /^(?:[0-9]+(?:\.[0-9]+){3}|\[[0-9a-fA-F:.]+\])$/.test(name)
}

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.byteLength
    if (size > MOST_BODY_BYTES) throw new Problem(413, `a body has at most ${MOST_BODY_BYTES} bytes here`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** An empty body is an empty object: to stop a run needs no words. */
function parsed(bytes: Buffer): unknown {
  if (bytes.byteLength === 0) return {}
  try {
    return JSON.parse(bytes.toString())
  } catch {
    throw new Problem(400, 'the body is no JSON')
  }
}

function failure(error: unknown): Answer {
  if (error instanceof Problem) {
    const { status, message, field } = error
    return json(status, { error: { code: status, message, ...(field !== undefined && { field }) } })
  }
  if (error instanceof URIError)
    return json(400, { error: { code: 400, message: 'the path is not well encoded' } })
  return json(500, { error: { code: 500, message: 'a defect of the lab' } })
}

function write(request: IncomingMessage, response: ServerResponse, { status, type, body }: Answer): void {
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
