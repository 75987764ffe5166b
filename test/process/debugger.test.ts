/** No signal opens a port for a debugger: who may send one could read every key through it. */
import { test } from 'tap'
import { isAlive } from '../../bench/harness/machine/proc.js'
import { serve } from '../support/servers/server-process.js'

test('SIGUSR1 opens no debugger, neither in the supervisor nor in a worker', async (t) => {
  const { server } = await serve(t, { SLUICE_WORKERS: '1' })
  const processes = [server.pid, ...server.children()]
  for (const pid of processes) process.kill(pid, 'SIGUSR1')
  const client = await server.client()
  t.equal((await client.get('/api/v1/health')).status, 200)
  t.match(await server.stop(), { code: 0 })
  t.ok(processes.every((pid) => !isAlive(pid)))
  t.notMatch(server.stderr, /debugger/i)
})
