/** A disk that is full: no inference begins that could not be written down, nothing is lost, and it passes. */
import { execFileSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import { statsPerWorker } from '../support/clients/worker-connections.js'
import {
  API_KEY,
  askChat,
  type GatewayServer,
  type Json,
  startGateway,
} from '../support/servers/gateway-server.js'
import { eventually } from '../support/timing/eventually.js'

const SLOW = 'acme/slow'
const CALL = { model: 'sim/instant', max_tokens: 4, messages: [{ role: 'user', content: 'hi' }] }

async function start(t: Test): Promise<GatewayServer> {
  const server = await startGateway({
    mayLogErrors: true,
    config: {
      models: {
        [SLOW]: {
          endpoints: [
            {
              provider: 'sim',
              prices: { prompt: '0', completion: '0', request: '0.01' },
              simulation: { tokens: { constant: 30 }, gap_ms: { constant: 30 } },
            },
          ],
        },
      },
    },
  })
  t.teardown(() => server.stop())
  return server
}

/** Files may not grow beyond that, as on a disk without room; null takes the limit away. */
function limitFiles(pids: readonly number[], bytes: number | null): void {
  for (const pid of pids) {
    execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytes ?? 'unlimited'}:unlimited`])
  }
}

async function read(server: GatewayServer, path: string): Promise<{ status: number; json: Json }> {
  const response = await fetch(`${server.apiUrl}${path}`, {
    headers: { Authorization: `Bearer ${API_KEY}`, Connection: 'close' },
  })
  return { status: response.status, json: await response.json() }
}

const HAS_PRLIMIT = process.platform === 'linux'

test('without room for the journal calls are refused at once, and those under way end well', {
  skip: !HAS_PRLIMIT,
}, async (t) => {
  const server = await start(t)
  const workers = (await statsPerWorker(server.baseUrl)).map(({ pid }) => pid)
  const slow = Array.from({ length: 8 }, () =>
    askChat(server, { ...CALL, model: SLOW, stream: true }, { Connection: 'close' }),
  )
  await eventually(async () => (await fetch(`${server.baseUrl}/metrics`)).ok)
  await new Promise((resolve) => setTimeout(resolve, 150))
  limitFiles(workers, 4096)
  const streams = await Promise.all(slow)
  for (const { status, events } of streams) {
    t.equal(status, 200)
    t.equal(events().at(-1), '[DONE]')
  }
  // Room that was made before is used up by nobody but those who have it.
  const refused = await eventually(async () => {
    const many = await Promise.all(
      Array.from({ length: 200 }, () => askChat(server, CALL, { Connection: 'close' })),
    )
    return many.find(({ status }) => status !== 200)
  }, 60_000)
  t.equal(refused.status, 503)
  t.ok(Number(refused.headers.get('retry-after')) >= 1)
  limitFiles(workers, null)
  for (const { headers } of streams) {
    const { status } = await read(server, `/generation?id=${headers.get('x-generation-id')}`)
    t.equal(status, 200)
  }
  await eventually(async () => {
    const many = await Promise.all(
      Array.from({ length: 8 }, () => askChat(server, CALL, { Connection: 'close' })),
    )
    return many.every(({ status }) => status === 200)
  })
})

test('without room for the ledger calls go on, and it has all of them when there is room again', {
  skip: !HAS_PRLIMIT,
}, async (t) => {
  const server = await start(t)
  t.equal((await askChat(server, { ...CALL, model: SLOW })).status, 200)
  t.equal((await read(server, '/key')).json.data.usage, 0.01)
  const { size } = statSync(join(server.dataDir, 'ledger', 'data.mdb'))
  limitFiles([server.pid], Math.min(size, 4096))
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => askChat(server, { ...CALL, model: SLOW }, { Connection: 'close' })),
  )
  t.ok(answers.every(({ status }) => status === 200))
  t.equal((await read(server, '/key')).status, 503)
  limitFiles([server.pid], null)
  const usage = await eventually(async () => {
    const { status, json } = await read(server, '/key')
    return status === 200 && json.data.usage
  })
  t.equal(usage, 0.11)
})
