/** The image as an engine would run it: unpacked, read-only, as the user it names, with one folder to write to. */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
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
/** Some of it is fetched, which takes as long as it takes. */
const MAKE_MS = 300_000

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
const folder = tempFolder(tap)
const layout = join(folder, 'layout')
const missing = whyNoImage()

/** Makes the image for this machine, as a release does for all; a line that says what is missing where that cannot be done here. */
function whyNoImage(): string | false {
  for (const program of ['apt-get', 'dpkg-deb', 'bwrap']) {
    if (spawnSync(program, ['--version']).error !== undefined) return `there is no ${program} here`
  }
  const args = ['.tools/image.js', '--platform', OWN, '--out', layout]
  const { status, signal, stderr } = spawnSync(process.execPath, args, {
    ...{ cwd: ROOT, encoding: 'utf8', timeout: MAKE_MS },
  })
  if (signal !== null) return `the image was not made within ${MAKE_MS / 1000} s`
  if (status === 0) return false
  // A registry or the packages of Debian out of reach are no fault of the image; anything else is.
  if (/\.ci\/debian-13 |npm error (network|code E(NOTFOUND|AI_AGAIN|CONNREFUSED|TIMEDOUT))/.test(stderr)) {
    return `what is in the image cannot be fetched here: ${stderr.split('\n').find((line) => line !== '') ?? ''}`
  }
  throw new Error(stderr)
}

interface Descriptor {
  readonly digest: string
}

/** What an engine does with a layout before it runs a container, once. */
let unpackedOnce: Unpacked | undefined
function unpack(): Unpacked {
  if (unpackedOnce !== undefined) return unpackedOnce
  const root = join(folder, 'root')
  mkdirSync(root)
  const [index] = JSON.parse(readFileSync(join(layout, 'index.json'), 'utf8')).manifests
  const { manifests } = JSON.parse(String(readBlob(index)))
  const { layers, config } = JSON.parse(String(readBlob(manifests[0])))
  for (const layer of layers) {
    const { status, stderr } = spawnSync('tar', ['-xz', '-C', root], { input: readBlob(layer) })
    if (status !== 0) throw new Error(String(stderr))
  }
  unpackedOnce = { root, image: JSON.parse(String(readBlob(config))) }
  return unpackedOnce
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
    ...[
      '--ro-bind',
      root,
      '/',
      '--bind',
      volume,
      place,
      '--proc',
      '/proc',
      '--dev',
      '/dev',
      '--chdir',
      WorkingDir,
    ],
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
  const unpacked = unpack()
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

test('the image has one volume, a fixed user, no shell, and the list of what is in it', {
  skip: missing,
}, async (t) => {
  const { root, image } = unpack()
  t.equal(image.architecture, OWN)
  t.match(image.config, { User: '65532:65532', Volumes: { '/data': {} }, Cmd: ['serve'] })
  t.equal(
    image.config.Labels['org.opencontainers.image.version'],
    JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version,
  )
  const folders = ['app', 'data', 'dev', 'etc', 'lib', 'lib64', 'proc', 'sys', 'tmp', 'usr']
  t.strictSame(readdirSync(root).sort(), folders)
  t.strictSame(readdirSync(join(root, 'usr/local/bin')), ['node'])
  const list = JSON.parse(readFileSync(join(root, 'app/sbom.cdx.json'), 'utf8'))
  const names = new Set(list.components.map(({ name }: { name: string }) => name))
  for (const name of ['node', 'libc6', 'libstdc++6', 'lmdb', 'zod', 'undici', '@btc-vision/uwebsockets.js']) {
    t.ok(names.has(name), `${name} is on the list`)
  }
  for (const name of ['tap', 'esbuild', 'playwright-core', 'uws-pack']) t.notOk(names.has(name), name)
})

test('the image has no binary of another platform or version of Node, and a fetch of it is small', {
  skip: missing,
}, async (t) => {
  const { root } = unpack()
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
  const natives = files.filter((name) => name.endsWith('.node'))
  t.equal(natives.filter((name) => name.includes('/uws_')).length, 1, natives.join(' '))
  t.ok(
    natives.every((name) => new RegExp(OWN === 'arm64' ? 'arm64' : 'x64').test(name) && !/musl/.test(name)),
    natives.join(' '),
  )
  const blobs = join(layout, 'blobs/sha256')
  const bytes = readdirSync(blobs).reduce((sum, name) => sum + statSync(join(blobs, name)).size, 0)
  t.ok(bytes < 75 * MIB, `${bytes} bytes`)
})

const noSkopeo = spawnSync('skopeo', ['--version']).error !== undefined && 'skopeo is not installed here'

test('a program that nobody here wrote reads the image in both forms that engines load', {
  skip: missing || noSkopeo,
}, async (t) => {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const archive = join(folder, 'image.tar')
  t.equal(spawnSync('tar', ['-C', layout, '-cf', archive, '.']).status, 0)
  // A copy reads every layer and checks it against its digest.
  const readings = [
    ['copy', '--insecure-policy', `oci:${layout}:${version}`, `dir:${join(folder, 'copied')}`],
    ['inspect', '--config', `docker-archive:${archive}:sluice:${version}`],
  ]
  for (const args of readings) {
    const { status, stderr } = spawnSync('skopeo', args, { encoding: 'utf8' })
    t.equal(status, 0, stderr)
  }
})

test('a folder with something else in it is not replaced by an image', async (t) => {
  const place = tempFolder(t)
  writeFileSync(join(place, 'kept'), '')
  const { status, stderr } = spawnSync(process.execPath, ['.tools/image.js', '--out', place], {
    ...{ cwd: ROOT, encoding: 'utf8' },
  })
  t.match({ status, stderr }, { status: 1, stderr: 'holds something else than an image' })
  t.strictSame(readdirSync(place), ['kept'])
})
