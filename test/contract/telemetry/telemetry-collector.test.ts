/** A collector that is slow, broken or away must not be felt by callers, nor by whoever stops the server. */
import { createServer } from 'node:http'
import { createServer as createSocketServer } from 'node:net'
import { type Test, test } from 'tap'
import { askChat, CANARY_PROMPT, startGateway } from '../../support/servers/gateway-server.js'
import { freePort, listen } from '../../support/servers/listen.js'

const hangingUp = createSocketServer((socket) => void socket.destroy())
const unavailable = createServer((request, response) => {
  request.resume()
  response.writeHead(503, { 'Retry-After': '60' }).end()
})

/** How collectors fail: each starts one and says where. */
const COLLECTORS: readonly (readonly [what: string, start: (t: Test) => Promise<number>])[] = [
  ['never answers', (t) => listen(t, createServer())],
  ['answers 503 and asks for patience', (t) => listen(t, unavailable)],
  ['hangs up', (t) => listen(t, hangingUp)],
  ['is not there', () => freePort()],
]

for (const [what, start] of COLLECTORS) {
  test(`a collector that ${what}: calls are served, and the server stops in time with its ledger closed`, async (t) => {
    const port = await start(t)
    const server = await startGateway({
      env: { SLUICE_WORKERS: '1', SLUICE_OTLP_ENDPOINT: `http://127.0.0.1:${port}` },
    })
    for (let call = 0; call < 20; call++) {
      const asked = await askChat(server, {
        model: 'sim/instant',
        messages: [{ role: 'user', content: CANARY_PROMPT }],
        stream: call % 2 === 0,
      })
      t.equal(asked.status, 200)
    }
    const begun = performance.now()
    await server.stop()
    t.ok(performance.now() - begun < 5000, `${Math.round(performance.now() - begun)} ms`)
    t.notMatch(server.log(), /uncaught|unhandled/i)
  })
}
