import { test } from 'tap'
import { FLEET_SCENARIOS } from '../../../src/drill/fleet/fleet-scenarios.js'
import { WITHOUT_POSTGRES } from '../../support/servers/postgres-cluster.js'
import { runSluice, ServerProcess } from '../../support/servers/server-process.js'

const DEADLINE_MS = 150_000

test('--list tells every scenario', async (t) => {
  const { code, stdout } = await runSluice(t, ['drill', '--fleet', '--list'])
  t.equal(code, 0)
  for (const { id, name, about } of FLEET_SCENARIOS)
    t.ok(stdout.includes(`${id}  ${name}\n     ${about}\n`), id)
})

test('what it does not know is told in a sentence', async (t) => {
  for (const [args, sentence] of [
    [['--only', 'F99'], 'there is no scenario "F99"'],
    [['--against', 'http://127.0.0.1:1'], '--against'],
  ] as const) {
    const { code, stdout, stderr } = await runSluice(t, ['drill', '--fleet', ...args])
    t.equal(code, 2)
    t.equal(stdout, '')
    t.ok(stderr.includes(sentence), stderr)
  }
})

test('a scenario is played on a fleet that is gone afterwards', { skip: WITHOUT_POSTGRES }, async (t) => {
  const run = ServerProcess.start(t, { command: ['drill', '--fleet', '--only', 'F12', '--json'] })
  const { code } = await run.exited(DEADLINE_MS)
  const { score, passed, results } = JSON.parse(run.stdout)
  t.match({ score, passed }, { score: 100, passed: true }, run.stdout)
  t.match(results, [{ scenario: 'F12', verdict: 'pass', complaints: [] }])
  t.ok(results[0].served > 100)
  t.match(run.stderr, /1\/1 {2}pass {5}F12/)
  t.equal(code, 0)
})
