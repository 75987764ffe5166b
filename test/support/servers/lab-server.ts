/** The built server with its lab, and a client of the control listener. */
import { type IncomingHttpHeaders, request } from 'node:http'
import type { RunSummary } from '../../../src/lab/run-summary.js'
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
  const ask: LabServer['ask'] = (method, path, body, headers) => send(method, labUrl + path, body, headers)
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

function send(
  method: string,
  url: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<LabReply> {
  const begun = performance.now()
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        const isJson = response.headers['content-type'] === 'application/json'
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text,
          ms: performance.now() - begun,
          json: isJson && text !== '' ? JSON.parse(text) : undefined,
        })
      })
    })
    sent.on('error', reject)
    sent.end(body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body))
  })
}
