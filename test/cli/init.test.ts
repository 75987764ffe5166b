import { spawn } from 'node:child_process'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Test, test } from 'tap'
import { callerModelId } from '../../src/cli/init/written-file.js'
import { runShell } from '../support/clients/shell.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { FAKE_ANSWER, fakeProvider, streamedText } from '../support/providers/fake-provider.js'
import type { MockUpstream } from '../support/providers/mock-upstream.js'
import { API_KEY, runSluice, serve, withEnvironment } from '../support/servers/server-process.js'
import { eventually } from '../support/timing/eventually.js'

const MAIN = fileURLToPath(new URL('../../src/main.js', import.meta.url))
const PROVIDER_KEY = 'sk-of-the-provider-0123456789'
const MODELS = ['big-1', 'small-1']

/** What `init` wrote is checked, served, and called as it says itself. */
async function assertCallable(t: Test, folder: string, printed: string, env: Record<string, string>) {
  const settings = { ...env, SLUICE_CONFIG: join(folder, 'sluice.yaml') }
  const checked = await runSluice(t, ['check-config'], { folder, env: settings })
  t.equal(checked.stdout, 'all settings are good\n', checked.stderr)
  const { url } = await serve(t, { ...settings, SLUICE_WORKERS: '1' }, folder)
  const [, curl = ''] = /^ {2}(curl [\s\S]+)$/m.exec(printed) ?? []
  const call = await runShell(curl.replace('http://127.0.0.1:8080', url), { folder, env: { KEY: API_KEY } })
  t.equal(streamedText(call.stdout), FAKE_ANSWER, call.stdout + call.stderr)
}

/** How each kind of provider is reached when it is the fake one. */
const REACHED = [
  ['openai', 'ACME_KEY', '/v1'],
  ['anthropic', 'ACME_KEY', ''],
  ['ollama', 'none', '/v1'],
  ['vllm', 'none', '/v1'],
  ['other', 'ACME_KEY', '/api/v1'],
] as const

for (const [name, variable, path] of REACHED) {
  test(`${name}, by options: what is written passes check-config and calls the provider`, async (t) => {
    const folder = tempFolder(t)
    const isKeyed = variable !== 'none'
    const provider = await fakeProvider(t, MODELS, isKeyed ? PROVIDER_KEY : null)
    const env: Record<string, string> = isKeyed ? { [variable]: PROVIDER_KEY } : {}
    const words = ['init', '--provider', name, '--base-url', `${provider.origin}${path}`]
    const run = await runSluice(t, [...words, '--key-from', variable, '--model', 'big-1'], { folder, env })
    t.strictSame({ code: run.code, stderr: run.stderr }, { code: 0, stderr: '' })
    t.equal(provider.requests.length, 0, 'nobody was asked for what is known')
    const written = readFileSync(join(folder, 'sluice.yaml'), 'utf8')
    t.notMatch(written + run.stdout, PROVIDER_KEY)
    t.equal(statSync(join(folder, 'sluice.yaml')).mode & 0o777, 0o600)
    await assertCallable(t, folder, run.stdout, env)
  })
}

test('a file that is there is left alone', async (t) => {
  const folder = tempFolder(t)
  writeFileSync(join(folder, 'sluice.yaml'), 'port: 1\n')
  const run = await runSluice(t, ['init', '--provider', 'ollama', '--model', 'x'], { folder })
  t.equal(run.code, 1)
  t.match(run.stderr, 'sluice.yaml is there already and was left alone')
  t.equal(readFileSync(join(folder, 'sluice.yaml'), 'utf8'), 'port: 1\n')
})

test('a variable that is not set yet is told as the first step', async (t) => {
  const folder = tempFolder(t)
  const run = await runSluice(t, ['init', '--provider', 'openai', '--model', 'x'], { folder })
  t.strictSame({ code: run.code, stderr: run.stderr }, { code: 0, stderr: '' })
  t.match(run.stdout, '\n  export OPENAI_API_KEY=…\n')
})

test('other settings that are bad are told as check-config tells them', async (t) => {
  const folder = tempFolder(t)
  const words = ['init', '--provider', 'ollama', '--model', 'x']
  const run = await runSluice(t, words, { folder, env: { PORT: 'none' } })
  t.equal(run.code, 1)
  t.match(run.stderr, 'bad setting: environment variable PORT: ')
})

test('without a terminal, what is missing or wrong is named, and nothing is written', async (t) => {
  const folder = tempFolder(t)
  const provider = await fakeProvider(t, MODELS)
  const here = ['--base-url', `${provider.origin}/v1`]
  const failing = async (...words: string[]): Promise<string> => {
    const run = await runSluice(t, ['init', ...words], { folder })
    t.strictSame({ code: run.code, stdout: run.stdout }, { code: 2, stdout: '' }, words.join(' '))
    return run.stderr.split('\n')[0] ?? ''
  }
  t.match(await failing(), 'without a terminal --provider is needed')
  t.match(await failing('--provider', 'acme'), '--provider: there are openai, anthropic, ollama, vllm, other')
  t.match(await failing('--provider', 'other'), 'without a terminal --base-url is needed')
  t.match(
    await failing('--provider', 'other', '--base-url', 'x'),
    '--base-url: that must be an http or https',
  )
  t.match(
    await failing('--provider', 'openai', '--key-from', 'sk-1234'),
    '--key-from: that must be the name of an environment variable and not the key itself',
  )
  t.match(await failing('--provider', 'vllm', ...here), '--model is needed: the provider has big-1, small-1')
  await provider.close()
  t.match(await failing('--provider', 'vllm', ...here), 'the models of the provider are not known: ')
  t.notOk(existsSync(join(folder, 'sluice.yaml')))
})

/** A terminal of its own for the program, and a person who answers each question once it stands there. */
async function answerOnTerminal(
  folder: string,
  env: Record<string, string>,
  answers: readonly (readonly [question: string, answer: string])[],
): Promise<{ readonly code: number | null; readonly screen: string }> {
  const command = `'${process.execPath}' '${MAIN}' init`
  const [program = '', ...args] = withEnvironment(env, ['script', '-qec', command, '/dev/null'])
  const child = spawn(program, args, { cwd: folder, stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  let screen = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    screen += text
  })
  let read = 0
  for (const [question, answer] of answers) {
    const at = await eventually(() => screen.indexOf(question, read) + 1)
    read = at + question.length
    child.stdin.write(answer)
  }
  return { code: await ended, screen }
}

const ask = (provider: MockUpstream): readonly (readonly [string, string])[] => [
  ['Which provider?', 'acme\n'],
  ['there are openai, anthropic, ollama, vllm, other', ''],
  ['Which provider?', 'other\n'],
  ['Where does its API begin?', `${provider.origin}/v1/\n`],
  ['Which environment variable holds its key?', 'ACME_KEY\n'],
]

test('on a terminal it asks, shows the models of the provider, and writes what was chosen', async (t) => {
  const folder = tempFolder(t)
  const provider = await fakeProvider(t, MODELS, PROVIDER_KEY)
  const env = { ACME_KEY: PROVIDER_KEY }
  const { code, screen } = await answerOnTerminal(folder, env, [
    ...ask(provider),
    ['  2  small-1', ''],
    ['Which models?', 'tiny-1\n'],
    ['the provider has no model tiny-1', ''],
    ['Which models?', '2, big-1\n'],
  ])
  t.equal(code, 0, screen)
  t.notMatch(screen, PROVIDER_KEY)
  const printed = screen.slice(screen.indexOf('wrote sluice.yaml')).replaceAll('\r', '')
  t.match(printed, '"model":"gateway/small-1"')
  await assertCallable(t, folder, printed, env)
})

test('a provider that does not tell its models leaves the name to the person', async (t) => {
  const folder = tempFolder(t)
  const provider = await fakeProvider(t, MODELS, 'another key')
  const { code, screen } = await answerOnTerminal(folder, { ACME_KEY: PROVIDER_KEY }, [
    ...ask(provider),
    ['not known: it answered 401', ''],
    ['Which models? (names)', 'big-1\n'],
  ])
  t.equal(code, 0, screen)
  t.match(readFileSync(join(folder, 'sluice.yaml'), 'utf8'), '"gateway/big-1":')
})

for (const [how, key] of [
  ['Ctrl-C', '\x03'],
  ['Ctrl-D', '\x04'],
] as const) {
  test(`a person who leaves with ${how} leaves nothing behind`, async (t) => {
    const folder = tempFolder(t)
    const { code, screen } = await answerOnTerminal(folder, {}, [['Which provider?', key]])
    t.equal(code, 1)
    t.match(screen, 'sluice: nothing was written')
    t.notOk(existsSync(join(folder, 'sluice.yaml')))
  })
}

test('callers name a model as the provider does where that is an id, and behind its short name otherwise', async (t) => {
  const ids = {
    'gpt-5': 'acme/gpt-5',
    'llama3.2:3b': 'acme/llama3.2:3b',
    'Qwen/Qwen3-8B': 'Qwen/Qwen3-8B',
    'sim/fast': 'acme/sim-fast',
    'a/b/c': 'acme/a-b-c',
    'a b:c:d': 'acme/a-b:c-d',
    '@@': 'acme/model',
  }
  for (const [name, id] of Object.entries(ids)) t.equal(callerModelId('acme', name), id)
})
