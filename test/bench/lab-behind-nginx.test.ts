/** ab through the shipped nginx, both as they are installed, in front of a real server. */
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { test } from 'tap'
import { runTool } from '../../bench/loadlab/runner/run-tool.js'
import { ab } from '../../bench/loadlab/tools/ab.js'
import { findTool } from '../../bench/loadlab/tools/catalogue.js'
import { startLab } from '../support/servers/lab-server.js'
import { toolPlace } from './toy-tool.js'

const INSTALLED = findTool(ab)
const SKIP = INSTALLED === null || ab.unusable?.() ? { skip: 'ab or nginx is not installed' } : {}

test(
  'ab gets its answers through nginx, the server counts as many, and nginx is gone afterwards',
  SKIP,
  async (t) => {
    const server = await startLab(t, { SLUICE_WORKERS: '1' })
    const run = await server.begin()
    const place = toolPlace(t)
    const { TMPDIR: before } = process.env
    process.env.TMPDIR = place.tempFolder
    t.teardown(() => {
      if (before === undefined) delete process.env.TMPDIR
      else process.env.TMPDIR = before
    })
    const job = {
      url: new URL('/api/v1/health', server.url),
      connections: 4,
      seconds: 1,
      rate: null,
      timeoutS: 10,
      seed: 1,
    }
    const { figures, failure } = await runTool(ab.variants[0]!, INSTALLED!.program, job, place)
    t.equal(failure, null)
    t.ok(figures!.done > 0)
    t.same(figures!.statuses, { '2xx': figures!.done })
    const { total } = await server.stop(run)
    t.ok(total.arrivals >= figures!.done && total.arrivals <= figures!.done + 4, `${total.arrivals} arrived`)
    const { stdout } = spawnSync('pgrep', ['-f', `nginx.*${place.tempFolder}`], { encoding: 'utf8' })
    t.equal(stdout, '')
    t.same(readdirSync(place.tempFolder), [])
  },
)

test('without nginx ab is refused with the reason', async (t) => {
  const path = process.env.PATH
  t.teardown(() => {
    process.env.PATH = path
  })
  process.env.PATH = ''
  t.match(ab.unusable?.(), /HTTP\/1\.0, which the server answers with 505/)
})
