import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import { isAlive } from '../../bench/harness/machine/proc.js'
import { getOnce } from '../support/clients/http-client.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { ServerProcess } from '../support/servers/server-process.js'
import { eventually } from '../support/timing/eventually.js'

const KEY = 'sk-reload-test-01234567890123456789'

/** A file with these models, all of the simulated provider. */
function fileOf(models: readonly string[], further = ''): string {
  const entries = models.map(
    (id) => `  ${id}: { endpoints: [{ provider: sim, simulation: { gap_ms: { constant: 40 } } }] }`,
  )
  return `simulated_models: false
providers: { sim: { kind: simulated } }
models:${models.length === 0 ? ' {}' : `\n${entries.join('\n')}`}
${further}`
}

interface Reloadable {
  readonly server: ServerProcess
  /** Replaces the file in one step. */
  write(text: string): void
  /** The same, and tells the server, and waits until all its workers have it. */
  reload(text: string): Promise<void>
}

const ARRIVED = 'all workers have the new configuration'

function startWith(t: Test, text: string, workers: number, env: Record<string, string> = {}): Reloadable {
  const path = join(tempFolder(t), 'sluice.yaml')
  const write = (next: string): void => {
    writeFileSync(`${path}.new`, next)
    renameSync(`${path}.new`, path)
  }
  write(text)
  const server = ServerProcess.start(t, {
    env: { SLUICE_WORKERS: String(workers), SLUICE_CONFIG: path, SLUICE_API_KEY: KEY, ...env },
  })
  const reload = async (next: string): Promise<void> => {
    const before = server.logged(ARRIVED).length
    write(next)
    server.signal('SIGHUP')
    await eventually(() => server.logged(ARRIVED).length === before + 1)
  }
  return { server, write, reload }
}

/** Ids of the models, as some worker has them. */
async function modelsOf(url: string): Promise<string> {
  const { json } = await getOnce(url, '/api/v1/models')
  return (json as { data: readonly { id: string }[] }).data.map(({ id }) => id).join()
}

/** Every one of many connections gets this answer. */
async function allSay(t: Test, url: string, models: string): Promise<void> {
  for (let i = 0; i < 20; i++) t.equal(await modelsOf(url), models)
}

test('SIGHUP brings a new file to every worker, without ending one of them', async (t) => {
  const { server, reload } = startWith(t, fileOf(['a/one']), 3)
  const { url } = await server.ready()
  const before = server.children()
  await allSay(t, url, 'a/one')
  for (const models of [['a/one', 'a/two'], [], ['b/three']]) {
    await reload(fileOf(models))
    await allSay(t, url, models.join())
    t.match(server.logged(ARRIVED).at(-1), { level: 30, workers: 3, models: models.length, providers: 1 })
  }
  await reload(fileOf(['a/one', '"b/*"'], 'aliases: { gpt-4o: a/one, other: b/two }\n'))
  await allSay(t, url, 'a/one,b/*,gpt-4o,other')
  await reload(fileOf(['a/one'], 'aliases: { gpt-4o: a/one }\n'))
  await allSay(t, url, 'a/one,gpt-4o')
  t.same(server.children(), before)
  t.equal(server.stdout.split('sluice listening').length, 2, 'readiness is not said again')
})

test('a bad file is refused whole, every fault is named, and the old one goes on', async (t) => {
  const { server, write, reload } = startWith(t, fileOf(['a/one']), 2)
  const { url } = await server.ready()
  write(`${fileOf(['a/two', 'bad id'])}\nbody_limit: canary-value\nnonsense: canary-value\n`)
  server.signal('SIGHUP')
  await eventually(() => server.logged('configuration refused: the old one goes on').length === 1)
  await allSay(t, url, 'a/one')
  const faults = server.logged('bad setting')
  t.match(
    faults.map(({ level, source, problem }) => `${level} ${source}: ${problem}`),
    [
      /^50 .*sluice\.yaml: body_limit: must be an integer$/,
      /^50 .*sluice\.yaml: nonsense: there is no such setting$/,
      /^50 .*sluice\.yaml: models\.bad id: must be a name/,
    ],
  )
  t.equal(faults.length, 3)
  t.notMatch(server.stderr, 'canary-value')
  t.same(server.logged(ARRIVED), [])
  await reload(fileOf(['a/two']))
  await allSay(t, url, 'a/two')
})

test('what needs a restart is named and left as it is, and the rest is taken', async (t) => {
  const { server, reload } = startWith(t, fileOf(['a/one']), 1)
  const { url } = await server.ready()
  await reload(fileOf(['a/two'], 'workers: 2\nmax_in_flight: 5\nlimits: { inference_body_bytes: 5 }\n'))
  await allSay(t, url, 'a/two')
  // The number of workers comes from the environment, which wins over the file.
  t.match(server.logged('settings have changed that need a restart'), [
    { level: 40, settings: ['max_in_flight', 'limits'] },
  ])
})

test('a worker that dies later comes back with the newest file', async (t) => {
  const { server, reload } = startWith(t, fileOf(['a/one']), 1)
  const { url } = await server.ready()
  await reload(fileOf(['a/two']))
  const [pid = 0] = server.children()
  process.kill(pid, 'SIGKILL')
  await eventually(() => !isAlive(pid))
  t.equal(await eventually(() => modelsOf(url)), 'a/two')
  t.equal(server.logged(ARRIVED).length, 1, 'which is no reload')
})

test('a signal that comes before the server is ready does not end it, and its file counts', async (t) => {
  const { server, write } = startWith(t, fileOf(['a/one']), 1, { SLUICE_SEED_ITEMS: '200000' })
  await eventually(() => server.children().length === 1)
  t.notMatch(server.stdout, 'sluice listening', 'not ready yet')
  write(fileOf(['a/two']))
  server.signal('SIGHUP')
  const { url } = await server.ready()
  await eventually(() => server.logged(ARRIVED).length === 1)
  t.equal(await modelsOf(url), 'a/two')
})

test('a signal that reaches only a worker changes nothing', async (t) => {
  const { server, write } = startWith(t, fileOf(['a/one']), 1)
  const { url } = await server.ready()
  write(fileOf(['a/two']))
  const before = server.children()
  for (const pid of before) process.kill(pid, 'SIGHUP')
  await allSay(t, url, 'a/one')
  t.same(server.children(), before)
})

test('a stream that has begun goes on to its end, whatever becomes of its model', async (t) => {
  const { server, reload } = startWith(t, fileOf(['a/one']), 1)
  const { url } = await server.ready()
  const ask = (): Promise<Response> =>
    fetch(`${url}/api/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'a/one',
        stream: true,
        max_tokens: 50,
        messages: [{ role: 'user', content: 'Tell me something.' }],
      }),
    })
  const answer = await ask()
  t.equal(answer.status, 200)
  const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader()
  const first = await reader.read()
  await reload(fileOf([]))
  const refused = await ask()
  t.equal(refused.status, 404, 'the model is gone for new calls')
  await refused.text()
  let text = first.value ?? ''
  for (let part = await reader.read(); !part.done; part = await reader.read()) text += part.value
  t.match(text, '"finish_reason":')
  t.notMatch(text, '"error"')
  t.ok(text.endsWith('data: [DONE]\n\n'))
})
