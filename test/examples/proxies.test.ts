/** Proxies of Debian with the files as they are shipped, in front of a real machine that stands for all of them. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import { tempFolder } from '../support/data/temp-folder.js'
import { freePort, listen } from '../support/servers/listen.js'
import { API_KEY, ServerProcess } from '../support/servers/server-process.js'
import { eventually } from '../support/timing/eventually.js'

interface Proxy {
  readonly name: string
  readonly file: string
  /** How the file names a machine, and where it listens. */
  readonly machine: RegExp
  readonly machines: number
  readonly listens: string
  command(file: string, folder: string): readonly string[]
  /** Its configuration for a folder of this test. */
  adapt(text: string, folder: string): string
}

const NGINX = {
  name: 'nginx',
  command: (file: string, folder: string) => ['nginx', '-p', folder, '-c', file, '-g', 'daemon off;'],
  // Its folders are root's otherwise, and where the test is root the workers are nobody.
  adapt: (text: string, folder: string) =>
    `${process.getuid?.() === 0 ? 'user root;\n' : ''}pid ${folder}/nginx.pid;\nerror_log stderr;\n${text.replace(
      'http {',
      `http {\n${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${folder}/${kind};`).join('\n')}`,
    )}`,
}
const HAPROXY = {
  name: 'haproxy',
  command: (file: string) => ['haproxy', '-db', '-f', file],
  adapt: (text: string) => text,
}

const FLEETS: readonly Proxy[] = [
  {
    ...NGINX,
    file: 'examples/fleet/nginx.conf',
    machine: /(?:ant|bee|cat):8080/,
    machines: 3,
    listens: '8443',
  },
  {
    ...HAPROXY,
    ...{ file: 'examples/fleet/haproxy.cfg', machine: /127\.0\.0\.1:808[123]/, machines: 3 },
    listens: '127.0.0.1:8444',
  },
]
const PROXIES: readonly Proxy[] = [
  ...FLEETS,
  {
    ...NGINX,
    ...{ file: 'examples/machine/nginx.conf', machine: /127\.0\.0\.1:8080/, machines: 1 },
    listens: '127.0.0.1:8443',
  },
  {
    ...HAPROXY,
    ...{ file: 'examples/machine/haproxy.cfg', machine: /127\.0\.0\.1:8080/, machines: 1 },
    listens: '127.0.0.1:8444',
  },
]

const skipOf = ({ name }: Proxy) =>
  spawnSync(name, ['-v']).error !== undefined && `${name} is not installed here`

/**
 * Runs a proxy with its shipped file; only addresses and folders are those of the test. Each place for a machine has the
 * port that stands at the same place of the list, or the last one. Gives the proxy's address.
 */
async function startProxy(t: Test, proxy: Proxy, ports: readonly number[]): Promise<string> {
  const folder = tempFolder(t)
  const port = await freePort()
  const shipped = readFileSync(proxy.file, 'utf8')
  const named = new RegExp(proxy.machine, 'g')
  t.equal(shipped.match(named)?.length, proxy.machines, 'so many machines are named')
  let place = 0
  const portOf = (at: number) => ports[at] ?? ports.at(-1)!
  const local = shipped
    .replace(named, () => `127.0.0.1:${portOf(place++)}`)
    .replace(proxy.listens, `127.0.0.1:${port}`)
  const file = join(folder, 'proxy.conf')
  writeFileSync(file, proxy.adapt(local, folder))
  const [program = '', ...args] = proxy.command(file, folder)
  const child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
  })
  t.teardown(() => endProcess(child))
  const url = `http://127.0.0.1:${port}`
  await eventually(async () => {
    if (child.exitCode !== null) throw new Error(said)
    const answer = await fetch(`${url}/api/v1/health`).catch(() => null)
    return answer?.status === 200
  })
  return url
}

/** The status of an empty form that comes from this address of the machine. */
async function postFrom(localAddress: string, url: string, claimed: string): Promise<number | undefined> {
  const asked = request(url, {
    ...{ method: 'POST', localAddress, agent: false },
    headers: {
      'Content-Type': 'application/x-www-form-urlencoded',
      'Content-Length': '0',
      'X-Forwarded-For': claimed,
    },
  }).end()
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  answer.resume()
  return answer.statusCode
}

function endProcess(child: ChildProcess): Promise<void> | undefined {
  if (child.exitCode !== null || child.signalCode !== null) return
  return new Promise((resolve) => {
    child.once('exit', () => resolve())
    child.kill('SIGTERM')
  })
}

const headers = { Authorization: `Bearer ${API_KEY}` }

for (const proxy of PROXIES) {
  const skip = skipOf(proxy)
  test(`${proxy.file}: a streamed chat comes as it is written, an upload arrives, a client has its address`, {
    skip,
  }, async (t) => {
    const server = ServerProcess.start(t, {
      env: {
        ...{ SLUICE_WORKERS: '1', SLUICE_TRUSTED_PROXIES: '127.0.0.1' },
        ...{ SLUICE_EXCHANGES_PER_MINUTE: '1', SLUICE_EXCHANGE_BURST: '1' },
      },
    })
    const url = await startProxy(t, proxy, [(await server.ready()).port])

    const body = {
      ...{ model: 'sim/standard', stream: true, max_tokens: 150 },
      messages: [{ role: 'user', content: 'hello' }],
    }
    const stream = await fetch(`${url}/api/v1/chat/completions`, {
      ...{ method: 'POST', body: JSON.stringify(body) },
      headers: { ...headers, 'Content-Type': 'application/json' },
    })
    const parts: string[] = []
    for await (const part of stream.body!.pipeThrough(new TextDecoderStream())) parts.push(part)
    t.match(parts.join(''), /data: \[DONE\]\n{2,}$/)
    // HAProxy would gather them for a fifth of a second by itself, which makes sixteen.
    t.ok(parts.length > 30, `${parts.length} parts`)

    const form = new FormData()
    form.set('file', new Blob([Buffer.alloc(5_000_000, 'x')]), 'large.txt')
    const upload = await fetch(`${url}/api/v1/files`, { method: 'POST', headers, body: form })
    t.match(await upload.json(), { size_bytes: 5_000_000 }, 'an upload of 5 MB')

    // One exchange a minute for each address. What a caller claims to have forwarded counts for nothing.
    const exchange = (from: string, claimed: string) => postFrom(from, `${url}/api/v1/oauth/token`, claimed)
    t.equal(await exchange('127.0.0.2', '198.51.100.1'), 400)
    t.equal(await exchange('127.0.0.2', '198.51.100.2'), 429)
    t.equal(await exchange('127.0.0.3', '198.51.100.1'), 400)
  })
}

for (const proxy of FLEETS) {
  test(`${proxy.file}: an inference is not sent to a second machine when the first has gone within it`, {
    skip: skipOf(proxy),
  }, async (t) => {
    const taken = { leaves: 0, answers: 0 }
    const machine = async (kind: keyof typeof taken) =>
      await listen(
        t,
        createServer((asked, answer) => {
          if (asked.url === '/api/v1/health') answer.end()
          else {
            taken[kind]++
            asked.resume().once('end', () => (kind === 'leaves' ? asked.socket.destroy() : answer.end()))
          }
        }),
      )
    const url = await startProxy(t, proxy, [await machine('leaves'), await machine('answers')])
    let sent = 0
    const statuses: number[] = []
    while (taken.leaves === 0 && sent < 20) {
      sent++
      // HAProxy ends the caller's connection where the machine has ended one that was used before.
      const answer = await fetch(`${url}/api/v1/chat/completions`, { method: 'POST', body: '{}' }).catch(
        () => null,
      )
      statuses.push(answer?.status ?? 502)
    }
    t.equal(taken.leaves, 1, 'one machine has gone')
    t.equal(taken.answers, sent - 1, 'and what it was asked nobody else was')
    t.strictSame(statuses, [...statuses.slice(1).map(() => 200), 502])
  })
}
