/** The image as an engine would run it: unpacked, read-only, as the user it names, with one folder to write to. */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import tap, { type Test, test } from 'tap'
import { childrenOf } from '../../bench/harness/machine/proc.js'
import { ServerProcess } from '../../src/base/server-process.js'
import { callJson, useEverything, WHOLE_USE_SETTINGS } from '../support/clients/whole-use.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { freePort } from '../support/servers/listen.js'
import { API_KEY, KEYS } from '../support/servers/server-process.js'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const MIB = 2 ** 20
const READY_MS = 60_000

interface ImageConfig {
  readonly architecture: string
  readonly config: {
    readonly User: string
    readonly Env: readonly string[]
    readonly Entrypoint: readonly string[]
    readonly Cmd: readonly string[]
    readonly Volumes: Readonly<Record<string, object>>
    readonly WorkingDir: string
    readonly Labels: Readonly<Record<string, string>>
    readonly Healthcheck: { readonly Test: readonly string[] }
  }
}

interface Unpacked {
  readonly root: string
  readonly image: ImageConfig
}

const OWN = process.arch === 'arm64' ? 'arm64' : 'amd64'
const FOREIGN = OWN === 'arm64' ? 'amd64' : 'arm64'
const folder = tempFolder(tap)
const layout = join(folder, 'layout')
const missing = whyNoImage()

/** Makes the image for both platforms; a line that says what is missing where that cannot be done here. */
function whyNoImage(): string | false {
  for (const program of ['apt-get', 'dpkg-deb', 'bwrap']) {
    if (spawnSync(program, ['--version']).error !== undefined) return `there is no ${program} here`
  }
  const { status, stderr } = spawnSync(process.execPath, ['.tools/image.js', '--out', layout], {
    ...{ cwd: ROOT, encoding: 'utf8' },
  })
  if (status === 0) return false
  // A registry or the packages of Debian out of reach are no fault of the image; anything else is.
  if (/\.ci\/debian-13 |npm error (network|code E(NOTFOUND|AI_AGAIN|CONNREFUSED|TIMEDOUT))/.test(stderr)) {
    return `what is in the image cannot be fetched here: ${stderr.split('\n').find((line) => line.startsWith('Error')) ?? ''}`
  }
  throw new Error(stderr)
}

interface Descriptor {
  readonly digest: string
}

/** What an engine does with a layout before it runs a container. */
function unpack(platform: string): Unpacked {
  const root = join(folder, platform)
  const isNew = !existsSync(root)
  mkdirSync(root, { recursive: true })
  const [index] = JSON.parse(readFileSync(join(layout, 'index.json'), 'utf8')).manifests
  const { manifests } = JSON.parse(String(readBlob(index)))
  const found = manifests.find((each: { platform: { architecture: string } }) => each.platform.architecture === platform)
  const { layers, config } = JSON.parse(String(readBlob(found)))
  for (const layer of isNew ? layers : []) {
    const { status, stderr } = spawnSync('tar', ['-xz', '-C', root], { input: readBlob(layer) })
    if (status !== 0) throw new Error(String(stderr))
  }
  return { root, image: JSON.parse(String(readBlob(config))) }
}

/** A file of the layout, whose name is the hash of what it holds. */
function readBlob({ digest }: Descriptor): Buffer {
  const bytes = readFileSync(join(layout, 'blobs', digest.replace(':', '/')))
  const found = `sha256:${createHash('sha256').update(bytes).digest('hex')}`
  if (found !== digest) throw new Error(`${digest} is ${found}`)
  return bytes
}

/** How an engine starts a program of the image, with a folder as its volume; only the network is that of the machine. */
function containerLine({ root, image }: Unpacked, volume: string, env: Readonly<Record<string, string>>) {
  const { User, Env, WorkingDir, Volumes } = image.config
  const [uid = '', gid = ''] = User.split(':')
  const [place = ''] = Object.keys(Volumes)
  const given = [...Env, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)]
  return [
    ...['bwrap', '--die-with-parent', '--unshare-user', '--uid', uid, '--gid', gid],
    ...['--unshare-pid', '--as-pid-1', '--unshare-ipc', '--unshare-uts'],
    ...['--ro-bind', root, '/', '--bind', volume, place, '--proc', '/proc', '--dev', '/dev', '--chdir', WorkingDir],
    '--clearenv',
    ...given.flatMap((each) => {
      const at = each.indexOf('=')
      return ['--setenv', each.slice(0, at), each.slice(at + 1)]
    }),
  ]
}

class Container {
  readonly #server: ServerProcess
  readonly url: Promise<string>

  constructor(t: Test, unpacked: Unpacked, volume: string, env: Readonly<Record<string, string>>) {
    const { Entrypoint, Cmd } = unpacked.image.config
    const line = [...containerLine(unpacked, volume, env), ...Entrypoint, ...Cmd]
    this.#server = new ServerProcess(line, { cwd: folder })
    this.url = this.#server.untilListening(READY_MS).then(({ url }) => url)
    t.teardown(() => this.end('SIGKILL'))
  }

  /** Sends a signal to process 1 of the container, and resolves when that has ended. */
  end(signal: NodeJS.Signals) {
    for (const pid of childrenOf(this.#server.pid)) process.kill(pid, signal)
    return this.#server.exited
  }
}

test('the image runs read-only as its user: every face, its health, a kill with nothing lost, a drain', {
  skip: missing,
}, async (t) => {
  const unpacked = unpack(OWN)
  const volume = join(folder, 'volume')
  mkdirSync(volume)
  const port = String(await freePort())
  const env = { ...KEYS, ...WHOLE_USE_SETTINGS, HOST: '127.0.0.1', PORT: port, SLUICE_WORKERS: '1' }
  const health = () => {
    const [, ...check] = unpacked.image.config.Healthcheck.Test
    const [program = '', ...args] = [...containerLine(unpacked, volume, env), ...check]
    return spawnSync(program, args, { encoding: 'utf8' })
  }
  t.match(health(), { status: 1, stderr: 'ECONNREFUSED' }, 'before it runs')

  const first = new Container(t, unpacked, volume, env)
  const url = await first.url
  t.match(health(), { status: 0, stdout: 'healthy\n' })
  await useEverything(t, url)
  const item = { name: 'lamp', description: 'for the desk', price: 25 }
  const made = await callJson(t, url, '/items', item, API_KEY)
  await first.end('SIGKILL')

  const second = new Container(t, unpacked, volume, env)
  await second.url
  const kept = await fetch(`${url}/api/v1/items/${made.id}`)
  t.match(await kept.json(), { id: made.id, ...item }, 'what was answered before the kill is there after it')
  const body = {
    ...{ model: 'sim/fast', stream: true, max_tokens: 200 },
    messages: [{ role: 'user', content: 'hello' }],
  }
  const headers = { Authorization: `Bearer ${API_KEY}`, 'Content-Type': 'application/json' }
  const call = { method: 'POST', headers, body: JSON.stringify(body) }
  const stream = await fetch(`${url}/api/v1/chat/completions`, call)
  const reader = stream.body!.pipeThrough(new TextDecoderStream()).getReader()
  let heard = (await reader.read()).value ?? ''
  const ended = second.end('SIGTERM')
  for (let part = await reader.read(); !part.done; part = await reader.read()) heard += part.value
  t.match(heard, /data: \[DONE\]\n\n$/, 'a stream under way is finished')
  t.match(await ended, { code: 0, signal: null })
})

test('the image has one volume, a fixed user, no shell, and the list of what is in it', { skip: missing }, async (t) => {
  for (const platform of [OWN, FOREIGN]) {
    const { root, image } = unpack(platform)
    t.equal(image.architecture, platform)
    t.match(image.config, { User: '65532:65532', Volumes: { '/data': {} }, Cmd: ['serve'] })
    t.equal(
      image.config.Labels['org.opencontainers.image.version'],
      JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version,
    )
    t.strictSame(readdirSync(root).sort(), ['app', 'data', 'dev', 'etc', 'lib', 'lib64', 'proc', 'sys', 'tmp', 'usr'])
    t.strictSame(readdirSync(join(root, 'usr/local/bin')), ['node'])
    const list = JSON.parse(readFileSync(join(root, 'app/sbom.cdx.json'), 'utf8'))
    const names = new Set(list.components.map(({ name }: { name: string }) => name))
    for (const name of ['node', 'libc6', 'libstdc++6', 'lmdb', 'zod', 'undici', 'uwebsockets.js']) {
      t.ok(names.has(name), `${platform}: ${name} is on the list`)
    }
    for (const name of ['tap', 'esbuild', 'playwright-core']) t.notOk(names.has(name), name)
  }
})

test('each platform has its own binaries and no other, and a fetch of it is small', { skip: missing }, async (t) => {
  const machines = { amd64: 'x86-64', arm64: 'aarch64' } as const
  for (const platform of [OWN, FOREIGN] as const) {
    const { root } = unpack(platform)
    const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
    const natives = files.filter((name) => name.endsWith('.node'))
    t.ok(natives.some((name) => name.includes('/uws_linux_')), natives.join(' '))
    t.ok(natives.some((name) => name.includes('@lmdb/')), natives.join(' '))
    for (const name of [...natives, 'usr/local/bin/node']) {
      t.equal(machineOf(join(root, name)), machines[platform], `${platform}: ${name}`)
    }
  }
  const blobs = join(layout, 'blobs/sha256')
  const sizes = readdirSync(blobs).map((name) => readFileSync(join(blobs, name)).length)
  t.ok(sizes.reduce((sum, size) => sum + size) < 2 * 75 * MIB, `${sizes} bytes for both`)
})

/** The kind of machine that a binary is for, by its head. */
function machineOf(path: string): string {
  const head = readFileSync(path).subarray(0, 20)
  return { 0x3e: 'x86-64', 0xb7: 'aarch64' }[head.readUInt16LE(18)] ?? 'another'
}
