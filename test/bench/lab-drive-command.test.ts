import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { UsageError } from '../../bench/harness/option-values.js'
import { connectionsForRate, readDriveOptions } from '../../bench/loadlab/drivers/drive-command.js'
import { readStreamOptions } from '../../bench/loadlab/drivers/drive-stream-command.js'
import { readProfileOptions } from '../../bench/loadlab/profiles/profile-command.js'
import { readCompareOptions } from '../../bench/loadlab/runner/options.js'
import { listen } from '../support/servers/listen.js'

const RUN = fileURLToPath(new URL('../../bench/run.js', import.meta.url))
const URL_GIVEN = ['--url', 'http://127.0.0.1:1/']

type Reader = (args: readonly string[]) => unknown
type Bad = readonly [read: Reader, args: readonly string[], names: RegExp]

const bad =
  (read: Reader) =>
  (args: readonly string[], names: RegExp): Bad => [read, args, names]
const drive = bad(readDriveOptions)
const stream = bad(readStreamOptions)
const compare = bad(readCompareOptions)
const profile = bad(readProfileOptions)

const BAD: readonly Bad[] = [
  drive([], /--url is needed/),
  drive(['--url', 'nowhere'], /--url.*'nowhere'/),
  drive(['--url', 'https://127.0.0.1/'], /--url.*https/),
  drive([...URL_GIVEN, '--rate', '-5'], /--rate/),
  drive([...URL_GIVEN, '--rate', '0'], /--rate/),
  drive([...URL_GIVEN, '--rate', ''], /--rate/),
  drive([...URL_GIVEN, '--rate=many'], /--rate.*many/),
  drive([...URL_GIVEN, '--pattern', 'random'], /--pattern.*random/),
  drive([...URL_GIVEN, '--pattern', 'closed', '--rate', '5'], /--rate.*closed/),
  drive([...URL_GIVEN, '--seconds', 'NaN'], /--seconds/),
  drive([...URL_GIVEN, '--connections', '1.5'], /--connections.*whole/),
  drive([...URL_GIVEN, '--connections', '50', '--max-connections', '10'], /--max-connections/),
  drive([...URL_GIVEN, '--header', 'no colon'], /--header.*no colon/),
  drive([...URL_GIVEN, '--header', 'A: b\r\nC: d'], /--header/),
  drive([...URL_GIVEN, '--method', 'PATCH'], /--method.*PATCH/),
  drive([...URL_GIVEN, '--speed', '5'], /--speed/),
  drive([...URL_GIVEN, 'word'], /word/),
  stream([...URL_GIVEN], /--model/),
  stream([...URL_GIVEN, '--model', 'a', '--body', '{}'], /one of --model/),
  stream([...URL_GIVEN, '--model', 'a', '--rate', '1', '--streams', '1'], /--rate and --streams/),
  stream([...URL_GIVEN, '--model', 'a', '--pattern', 'poisson'], /--pattern needs a --rate/),
  stream([...URL_GIVEN, '--model', 'a', '--abort-share', '0.5'], /--abort-share needs/),
  stream([...URL_GIVEN, '--model', 'a', '--abort-share', '2', '--abort-after-ms', '1'], /--abort-share/),
  stream([...URL_GIVEN, '--model', 'a', '--abort-at-token', '1', '--abort-after-ms', '1'], /needs one of/),
  stream([...URL_GIVEN, '--model', 'a', '--slow-bytes', '64'], /--slow-bytes needs/),
  stream([...URL_GIVEN, '--body-file', '/nowhere/at/all'], /--body-file/),
  stream([...URL_GIVEN, '--model', 'a', '--speed', '5'], /--speed needs --arrivals/),
  stream([...URL_GIVEN, '--model', 'a', '--arrivals', 'x', '--rate', '5'], /--arrivals excludes --rate/),
  stream([...URL_GIVEN, '--body', '{}', '--arrivals', 'x'], /--arrivals needs a --model/),
  stream([...URL_GIVEN, '--model', 'a', '--arrivals', '/nowhere/at/all'], /--arrivals/),
  compare(['--rounds', '0'], /--rounds/),
  compare(['--tools', 'wrk,siga'], /--tools: unknown siga/),
  compare(['--scenario', ''], /--scenario/),
  compare(['--seed', '-1'], /--seed/),
  compare(['--control', 'localhost'], /--control/),
  profile([], /needs a name/),
  profile(['nothing'], /'nothing'/),
  profile(['mixed', '--scale', '0'], /--scale/),
]

test('an option that cannot be obeyed is named', async (t) => {
  for (const [read, args, names] of BAD) {
    const fault = t.throws(() => read(args), { message: names }, args.join(' '))
    t.ok(fault instanceof UsageError, args.join(' '))
  }
})

test('good options are taken, and the usual ones stand in for the rest', async (t) => {
  t.match(
    readDriveOptions([...URL_GIVEN, '--rate', '200', '--pattern', 'poisson', '--seconds', '8', '--json']),
    { rate: 200, pattern: 'poisson', seconds: 8, connections: 257, json: true, timeoutMs: 60_000 },
  )
  t.equal(readDriveOptions(['--help']), null)
  t.match(readCompareOptions(['--quick'], 1234), { quick: true, rounds: 1, seed: 1234, toolsAsked: false })
  t.match(readCompareOptions([], 1234), { quick: false, rounds: 6 })
  t.match(readProfileOptions(['gateway/mixed', '--scale', '2']), {
    scale: 2,
    profile: { service: 'gateway' },
  })
})

test('there are connections enough for a second of silence, within reason', async (t) => {
  t.equal(connectionsForRate(200), 257)
  t.equal(connectionsForRate(0.1), 8)
  t.equal(connectionsForRate(100_000), 1_000)
})

async function bench(args: readonly string[], whenSaid?: (stderr: string, kill: () => void) => void) {
  const child = spawn(process.execPath, [RUN, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  let stdout = ''
  let stderr = ''
  let killed = false
  child.stdout.on('data', (text) => {
    stdout += text
  })
  child.stderr.on('data', (text) => {
    stderr += text
    if (!killed) {
      whenSaid?.(stderr, () => {
        killed = true
        child.kill('SIGINT')
      })
    }
  })
  const [code] = await once(child, 'close')
  return { code, stdout, stderr }
}

test('a bad option or word ends the program with code 2 and a sentence', async (t) => {
  for (const args of [
    ['drive', '--rate', '5'],
    ['drive-stream'],
    ['compare', '--rounds', 'x'],
    ['profile'],
    ['nonsense'],
  ]) {
    const { code, stderr, stdout } = await bench(args)
    t.equal(code, 2, args.join(' '))
    t.match(stderr, /^bench: .+/, args.join(' '))
    t.notMatch(stderr, /\n {4}at /, 'no stack')
    t.equal(stdout, '')
  }
})

test('Ctrl-C prints what was measured so far and marks it', async (t) => {
  const server = createServer((_request, response) => response.end('ok'))
  const url = `http://127.0.0.1:${await listen(t, server)}/`
  const args = ['drive', '--url', url, '--rate', '100', '--seconds', '60', '--json']
  const { code, stdout, stderr } = await bench(args, (said, kill) => {
    if (said.includes('answered')) kill()
  })
  t.equal(code, 130)
  t.match(stderr, /interrupted/)
  const report = JSON.parse(stdout)
  t.equal(report.partial, true)
  t.ok(report.report.done > 0)
  t.ok(report.report.durationS < 60)
})

test('the words and the profiles are listed', async (t) => {
  const help = await bench(['--help'])
  t.equal(help.code, 0)
  for (const word of ['compare', 'drive', 'drive-stream', 'profile', 'profiles', 'tools'])
    t.match(help.stdout, word)
  const profiles = await bench(['profiles'])
  t.match(profiles.stdout, /^read-heavy/m)
  t.match(profiles.stdout, /^gateway\/mixed/m)
})
