import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below the ports that Linux gives to connections and to listeners that name none. */
const LEAST_FREE = 12_000
const MOST_FREE = 32_000

/**
 * A port on which nobody listens. Somebody else may take it before it is used: no system chooses one of this range, and
 * another caller of this function hardly the same of so many.
 */
export async function freePort(): Promise<number> {
  const port = randomInt(LEAST_FREE, MOST_FREE)
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return await freePort()
  }
  server.close()
  await once(server, 'close')
  return port
}
