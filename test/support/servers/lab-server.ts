/** The built server with its lab, and a client of the control listener. */
import type { IncomingHttpHeaders } from 'node:http'
import type { RunSummary } from '../../../src/lab/run-summary.js'
import { httpClient } from '../clients/http-client.js'
import type { Lifetime } from '../data/temp-folder.js'
import { eventually } from '../timing/eventually.js'
import { ServerProcess } from './server-process.js'

const LAB_READY = /^sluice lab on (http:\/\/\S+?)\/lab \(faults: (on|off)\)$/m

interface LabReply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** How long the caller waited. */
  readonly ms: number
  // biome-ignore lint/suspicious/noExplicitAny: whatever was sent; a wrong guess fails the test.
  readonly json: any
}

export interface LabServer {
  readonly process: ServerProcess
  /** Of the data plane. */
  readonly url: string
  readonly port: number
  /** Of the control listener. */
  readonly labUrl: string
  ask(
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<LabReply>
  /** Begins a run and tells its id. */
  begin(run?: Readonly<Record<string, unknown>>): Promise<string>
  /** Stops a run and tells what is known about its measurement. */
  stop(id: string): Promise<RunSummary>
  /** Makes a fault and tells its id. */
  fault(fault: Readonly<Record<string, unknown>>): Promise<string>
}

/**
 * Stalls that somebody has asked for. Beside them a run tells when a worker stood still by itself, which one does whose
 * machine is busy.
 */
export function withoutUnplanned<T extends { readonly kind: string }>(stalls: readonly T[]): T[] {
  return stalls.filter(({ kind }) => kind !== 'unplanned')
}

/** Marks of a run but for those that tell of a worker which was kept from its core when it began. */
export function withoutLateness(marks: readonly string[]): string[] {
  return marks.filter((mark) => !/ joined [\d.]+ ms late$| did not answer when the run began$/.test(mark))
}

/** Two workers and faults, unless the settings say otherwise. */
export async function startLab(
  lifetime: Lifetime,
  env: Readonly<Record<string, string>> = {},
  command: readonly string[] = ['serve'],
): Promise<LabServer> {
  const process = ServerProcess.start(lifetime, {
    command,
    env: {
      PORT: '0',
      SLUICE_WORKERS: '2',
      SLUICE_POOL_THREADS: '1',
      SLUICE_LOG_LEVEL: 'warn',
      SLUICE_SEED_ITEMS: '20',
      SLUICE_LAB: '127.0.0.1:0',
      SLUICE_LAB_FAULTS: 'on',
      ...env,
    },
  })
  const { url, port } = await process.ready()
  const [, labUrl = ''] = await eventually(() => LAB_READY.exec(process.stdout))
  const ask: LabServer['ask'] = (method, path, body, headers) => send(labUrl, method, path, body, headers)
  return {
    process,
    url,
    port,
    labUrl,
    ask,
    begin: async (run = {}) => {
      const reply = await ask('POST', '/lab/v1/runs', { measureS: 60, ...run })
      if (reply.status !== 201) throw new Error(`no run: ${reply.text}`)
      return reply.json.id
    },
    stop: async (id) => {
      const reply = await ask('POST', `/lab/v1/runs/${id}/stop`)
      if (reply.status !== 200) throw new Error(`no end: ${reply.text}`)
      return reply.json
    },
    fault: async (fault) => {
      const reply = await ask('POST', '/lab/v1/faults', fault)
      if (reply.status !== 201) throw new Error(`no fault: ${reply.text}`)
      return reply.json.id
    },
  }
}

/** Over a connection of its own. */
async function send(
  labUrl: string,
  method: string,
  path: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<LabReply> {
  const client = httpClient(labUrl, 1)
  const begun = performance.now()
  try {
    const sent = typeof body === 'string' ? body : JSON.stringify(body)
    const reply = await client.send({ method, path, headers, ...(body !== undefined && { body: sent }) })
    const { status, headers: received, text } = reply
    const isJson = received['content-type'] === 'application/json' && text !== ''
    const ms = performance.now() - begun
    return { status, headers: received, text, ms, json: isJson ? reply.json : undefined }
  } finally {
    client.close()
  }
}
