/** What a worker allocates for a whole chat call: the collector's work, and with it the pauses of everybody. */
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { median } from '../../harness/figures/statistics.js'
import { Connection } from '../../harness/http/connection.js'
import { callBytes, SLUICE_CHAT } from '../../performance/gateway/calls.js'
import { gatewayEnvironment } from '../../performance/gateway/gateway-config.js'
import { jsonAnswer } from '../../performance/gateway/mock-answers.js'
import type { Staging } from '../staging.js'
import { atMost, type Trial } from '../trial.js'

/**
 * Most bytes that a whole chat call may allocate: 23,467 to 23,498 were measured in four runs alone, 24,345 under the
 * test runner beside browsers, whose turns leave more to be allocated again. Who makes a call cheaper lowers it; this
 * tells the figure:
 *
 *     node dist/bench/trials/run.js --trial allocation
 */
export const CHAT_CALL_BUDGET = 25_000

const LANES = 8
/** Until everything is compiled. */
const WARM_UP = 24_000
const CALLS = 4_000
const WINDOWS = 5
const ANSWER_LIMIT_MS = 10_000

/** Bytes for each call, the median of some windows. Throws when a server does not come up or an answer is not good. */
export async function measureChatAllocation(staging: Staging): Promise<number> {
  const upstream = await startUpstream()
  const folder = staging.freshFolder()
  const probe = new URL('./heap-probe.js', import.meta.url)
  const server = await staging.start({
    environment: {
      ...gatewayEnvironment(folder, `http://127.0.0.1:${upstream.port}`),
      NODE_OPTIONS: `--import ${probe.href}`,
      HEAP_PROBE_FOLDER: folder,
    },
  })
  const [worker = 0] = server.workers
  const lanes = await Connection.openAll(server.port, LANES)
  await callsOver(lanes, WARM_UP)
  const perCall: number[] = []
  for (let window = 0; window < WINDOWS; window++) {
    await askProbe(worker, folder)
    await callsOver(lanes, CALLS)
    perCall.push((await askProbe(worker, folder)) / CALLS)
  }
  for (const lane of lanes) lane.drop()
  await server.stop()
  upstream.close()
  return median(perCall)
}

/** A provider in this process. */
async function startUpstream() {
  const answer = jsonAnswer('bench/json')
  const headers = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(answer)) }
  const server = createServer((request, response) => {
    request.resume().once('end', () => response.writeHead(200, headers).end(answer))
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as { readonly port: number }
  const close = (): void => {
    server.closeAllConnections()
    server.close()
  }
  return { port, close }
}

async function callsOver(lanes: readonly Connection[], calls: number): Promise<void> {
  const request = callBytes(SLUICE_CHAT, 'bench/json')
  const each = calls / lanes.length
  await Promise.all(
    lanes.map(async (lane) => {
      for (let made = 0; made < each; made++) {
        const { status, body } = await lane.send(request)
        if (status !== 200) throw new Error(`a call was answered with ${status} ${body}`)
      }
    }),
  )
}

/** Begins or ends a count in a process, and returns what it then says. */
async function askProbe(pid: number, folder: string): Promise<number> {
  const file = join(folder, String(pid))
  rmSync(file, { force: true })
  process.kill(pid, 'SIGUSR2')
  for (const limit = performance.now() + ANSWER_LIMIT_MS; !existsSync(file); await sleep(2)) {
    if (performance.now() > limit) throw new Error('the probe in the worker does not answer')
  }
  return Number(readFileSync(file, 'utf8'))
}

export const allocation: Trial = {
  name: 'allocation',
  summary: 'bytes that a worker allocates on its heap for a whole chat call, against its budget',
  rounds: 1,
  roundLimitS: 120,
  run: async ({ staging }) => {
    const bytes = await measureChatAllocation(staging)
    return { bars: [atMost('allocated for a whole chat call', bytes, CHAT_CALL_BUDGET, 'bytes')] }
  },
}
