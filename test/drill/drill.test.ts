/** The drill as its users run it: against a gateway of its own, against one that runs, and against one that is naive. */
import { readdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import { drillCommand } from '../../src/cli/drill.js'
import { drillConfiguration } from '../../src/drill/drill-configuration.js'
import { SCENARIOS } from '../../src/drill/scenarios.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { naiveRelay } from '../support/providers/naive-relay.js'
import { API_KEY, type Json, startGateway } from '../support/servers/gateway-server.js'
import { freePort, listen } from '../support/servers/listen.js'
import { runSluice, ServerProcess } from '../support/servers/server-process.js'
import { eventually } from '../support/timing/eventually.js'

const DRILL_MS = 100_000

interface DrillRun {
  readonly code: number | null
  readonly record: Json
  readonly stderr: string
}

async function runDrill(t: Test, words: readonly string[], env = {}): Promise<DrillRun> {
  const run = ServerProcess.start(t, { command: ['drill', '--json', ...words], env })
  const { code } = await run.exited(DRILL_MS)
  return { code, record: run.stdout === '' ? null : JSON.parse(run.stdout), stderr: run.stderr }
}

/** The words that drill the gateway at this address. */
function against(url: string, port: number, ...more: readonly string[]): readonly string[] {
  return ['--against', url, '--provider-port', String(port), ...more]
}

const unpassed = ({ results }: Json): Json[] => results.filter(({ verdict }: Json) => verdict !== 'pass')

/** `S01 whole` and so on, with what became of it. */
function verdictsByCase({ results }: Json): Record<string, string> {
  return Object.fromEntries(
    results.map(({ scenario, mode, verdict }: Json) => [`${scenario} ${mode}`, verdict]),
  )
}

/** What a drill has left in the folder for temporary files. */
const leftoverFolders = (before: readonly string[] = []): string[] =>
  readdirSync(tmpdir()).filter((name) => name.startsWith('sluice-drill-') && !before.includes(name))

test('sixteen of sixteen pass in both modes, and nothing is left behind', async (t) => {
  const before = leftoverFolders()
  const { code, record, stderr } = await runDrill(t, [])
  t.same(unpassed(record), [])
  t.match(record, { score: 100, passed: true, whole: { pass: 16 }, streamed: { pass: 16 } })
  t.equal(record.results.length, 32)
  t.equal(code, 0)
  t.match(stderr, '32/32  pass')
  t.same(leftoverFolders(before), [])
})

test('a gateway that runs is drilled again and again, with the same result', async (t) => {
  const port = await freePort()
  const server = await startGateway({ config: drillConfiguration(port) })
  t.teardown(() => server.stop())
  const words = against(server.baseUrl, port, '--only', 'S02,S04,S07,S13,S15,S16')
  for (let round = 1; round <= 3; round++) {
    const { code, record } = await runDrill(t, words, { SLUICE_API_KEY: API_KEY })
    t.same(unpassed(record), [], `round ${round}`)
    t.equal(code, 0)
    t.equal(record.gateway, server.baseUrl)
  }
})

test('a gateway that is naive is found out', async (t) => {
  const port = await freePort()
  const url = await naiveRelay(t, port)
  const only = 'S02,S03,S04,S07,S09,S10,S11,S12,S13,S16'
  const { code, record } = await runDrill(t, against(url, port, '--only', only))
  t.equal(code, 1)
  t.match(verdictsByCase(record), {
    // Rescued, but nothing is told about it.
    'S02 whole': 'partial',
    'S03 streamed': 'partial',
    'S04 whole': 'partial',
    'S04 streamed': 'partial',
    'S07 whole': 'partial',
    // Truncated.
    'S07 streamed': 'fail',
    'S09 streamed': 'fail',
    'S10 streamed': 'fail',
    // Routed around what should have been told.
    'S11 whole': 'safe',
    'S13 streamed': 'safe',
    // Asked a model that is no larger.
    'S12 whole': 'safe',
    // An error within a success is passed on as one.
    'S16 whole': 'fail',
  })
  t.ok(record.score < 60, `${record.score} %`)
  const sentences = record.results.flatMap(({ complaints }: Json) => complaints)
  for (const said of ['there is no routing metadata', 'a stream without [DONE]', 'instead of guarded 400']) {
    t.match(sentences.join('\n'), said)
  }
})

test('a gateway that rescues only what was never sent answers cleanly, and that is not enough', async (t) => {
  const port = await freePort()
  const config = drillConfiguration(port)
  const server = await startGateway({
    config: { ...config, routing: { ...(config.routing as object), rescue: 'unsent' } },
  })
  t.teardown(() => server.stop())
  const words = against(server.baseUrl, port, '--only', 'S03,S04,S05,S07,S09,S16')
  const { code, record } = await runDrill(t, words, { SLUICE_API_KEY: API_KEY })
  t.equal(code, 1)
  t.match(verdictsByCase(record), {
    'S03 whole': 'pass',
    'S04 whole': 'safe',
    'S04 streamed': 'safe',
    'S05 whole': 'safe',
    'S07 whole': 'safe',
    'S07 streamed': 'safe',
    'S09 streamed': 'safe',
    'S16 streamed': 'pass',
  })
})

test('the table names every scenario, says what disagrees, and ends with the score', async (t) => {
  const port = await freePort()
  const url = await naiveRelay(t, port)
  const words = against(url, port, '--only', 's04,s11')
  const { code, stdout, stderr } = await runSluice(t, ['drill', ...words])
  t.equal(code, 1)
  t.match(stdout, /^S04 {2}reset before the head +partial +partial +\d+ +\d+$/m)
  t.match(stdout, /^S11 whole safe: call 1: the status is 200 instead of 400$/m)
  t.match(stdout, /^score +\d+(\.\d)? %$/m)
  t.notMatch(stdout, '1/4', 'progress is not a result')
  t.match(stderr, '4/4')
})

test('the printed configuration is one that a server takes, and names every scenario', async (t) => {
  const folder = tempFolder(t)
  const printed = await runSluice(t, ['drill', '--print-config', '--provider-port', '9000'])
  t.equal(printed.code, 0)
  t.equal(printed.stderr, '')
  t.same(JSON.parse(printed.stdout), drillConfiguration(9000))
  const file = join(folder, 'sluice.yaml')
  writeFileSync(file, printed.stdout)
  const checked = await runSluice(t, ['check-config'], { env: { SLUICE_CONFIG: file } })
  t.equal(checked.stderr, '')
  t.equal(checked.code, 0)
})

test('the list tells every scenario', async (t) => {
  const { code, stdout } = await runSluice(t, ['drill', '--list'])
  t.equal(code, 0)
  for (const { id, name } of SCENARIOS) t.ok(stdout.includes(`${id}  ${name}\n`), id)
})

for (const [words, complaint] of [
  [['--only', 'S99'], 'there is no scenario "S99"'],
  [['--only', ''], 'there is no scenario ""'],
  [['--against', 'nowhere'], '--against must be an http or https URL'],
  [['--against', 'ftp://127.0.0.1'], '--against must be an http or https URL'],
  [['--against', 'http://me:secret@127.0.0.1'], 'without a credential'],
  [['--provider-port', '0'], '--provider-port must be a port'],
  [['--provider-port', '65536'], '--provider-port must be a port'],
  [['--provider-port', 'nine'], '--provider-port must be a port'],
  [['--fast'], "Unknown option '--fast'"],
  [['S01'], 'Unexpected argument'],
] as const) {
  test(`"drill ${words.join(' ')}" is no command`, async (t) => {
    const said = ['', '', '']
    const print = (fd: 1 | 2, text: string): void => {
      said[fd] += text
    }
    t.equal(await drillCommand(words, { print, apiKey: async () => '' }), 2)
    t.equal(said[1], '')
    t.match(said[2], complaint)
    t.match(said[2], 'usage: sluice drill')
  })
}

test('a gateway that is not there is a sentence', async (t) => {
  const [gone, port] = [await freePort(), await freePort()]
  const { code, record, stderr } = await runDrill(t, against(`http://127.0.0.1:${gone}`, port))
  t.equal(code, 1)
  t.equal(record, null)
  t.match(stderr, `sluice: the gateway at http://127.0.0.1:${gone} does not answer: `)
})

test('a gateway that is not configured for it, or does not take the key, is a sentence', async (t) => {
  const server = await startGateway()
  t.teardown(() => server.stop())
  const words = against(server.baseUrl, await freePort())
  const unknown = await runDrill(t, words, { SLUICE_API_KEY: API_KEY })
  t.equal(unknown.code, 1)
  t.match(
    unknown.stderr,
    'does not know drill/s01; configure it with what npx sluice drill --print-config prints',
  )
  const refused = await runDrill(t, words, { SLUICE_API_KEY: 'sk-some-other-key-01234567890123456789' })
  t.equal(refused.code, 1)
  t.match(refused.stderr, 'does not take the credential of SLUICE_API_KEY')
  t.notMatch(refused.stderr, 'sk-some-other-key')
  const none = await runDrill(t, words, { SLUICE_API_KEY: '' })
  t.equal(none.code, 1)
  t.match(none.stderr, 'SLUICE_API_KEY is needed')
})

test('a port that is taken is a sentence', async (t) => {
  const port = await listen(t, createServer())
  const { code, stderr } = await runDrill(t, against('http://127.0.0.1:2', port))
  t.equal(code, 1)
  t.match(stderr, `the faulty provider cannot listen on port ${port} of 127.0.0.1: `)
})

for (const name of ['SIGINT', 'SIGTERM'] as const) {
  test(`${name} ends the drill at once, with its gateway and its folder`, async (t) => {
    const before = leftoverFolders()
    const run = ServerProcess.start(t, { command: ['drill', '--only', 'S06'] })
    await eventually(() => run.stderr.includes('2 plays against') || null, 30_000)
    const [gateway] = run.children()
    t.ok(gateway, 'it has a gateway of its own')
    const begun = performance.now()
    run.signal(name)
    const { code } = await run.exited(10_000)
    t.equal(code, 130)
    t.ok(performance.now() - begun < 5_000)
    t.throws(() => process.kill(gateway!, 0), 'the gateway has gone')
    t.equal(run.stdout, '', 'no result is told of a drill that was ended')
    t.same(leftoverFolders(before), [])
  })
}
