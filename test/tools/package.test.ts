/** What `npm pack` gives, as somebody has it who installed it into an empty folder with scripts off. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import tap, { test } from 'tap'
import { headerOf, issuerKey, tokenOf } from '../support/data/subject-tokens.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { IssuerServer } from '../support/providers/issuer-server.js'
import { GRANT_TYPE, JWT_TYPE, WORKLOAD } from '../support/servers/federation-server.js'
import type { Json } from '../support/servers/gateway-server.js'
import { API_KEY, MANAGEMENT_KEY, runSluice, ServerProcess } from '../support/servers/server-process.js'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const MIB = 2 ** 20
const MODEL = 'sim/instant'

const folder = tempFolder(tap)
const packed = pack()
const installed = install()

interface Packed {
  readonly filename: string
  readonly size: number
  readonly files: readonly { readonly path: string }[]
}

/** Of what the build before this test has made. */
function pack(): Packed {
  const options = ['pack', '--ignore-scripts', '--offline', '--json', '--pack-destination', folder]
  // Npm writes a cache and logs below HOME otherwise.
  const env = { PATH: process.env.PATH, HOME: folder, npm_config_update_notifier: 'false' }
  const { stdout, stderr, status } = spawnSync('npm', options, { cwd: ROOT, env, encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  return JSON.parse(stdout)[0]
}

/** The folder of the package, with what it depends on, and nothing else, beside it. */
function install(): string {
  const modules = join(folder, 'empty', 'node_modules')
  const own = join(modules, 'sluice')
  mkdirSync(own, { recursive: true })
  const archive = join(folder, packed.filename)
  const { status } = spawnSync('tar', ['-xzf', archive, '-C', own, '--strip-components=1'])
  if (status !== 0) throw new Error('tar cannot read the package')
  const { dependencies, optionalDependencies } = manifest(own)
  for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
    mkdirSync(dirname(join(modules, name)), { recursive: true })
    symlinkSync(join(ROOT, 'node_modules', name), join(modules, name))
  }
  return own
}

function manifest(of: string) {
  return JSON.parse(readFileSync(join(of, 'package.json'), 'utf8'))
}

test('the package is small, holds programs and no sources or tests, and no script runs when it is installed', async (t) => {
  t.ok(packed.size < 3 * MIB, `${packed.size} bytes`)
  const paths = packed.files.map(({ path }) => path)
  t.same(
    paths.filter(
      (path) => !/^(dist\/.*\.(js|sql|css|json|html|webp)|[A-Z]+(\.md)?|package\.json)$/.test(path),
    ),
    [],
  )
  t.same(
    paths.filter((path) => /^dist\/(test|bench)|^(src|test)\//.test(path)),
    [],
  )
  const { scripts } = manifest(installed)
  for (const name of ['preinstall', 'install', 'postinstall']) t.notOk(name in scripts)
})

test('from the package: chat, messages, exchange, console, pages, work of the pool, and a drain', async (t) => {
  const issuer = await IssuerServer.start(t)
  const key = issuerKey('ES256', 'k1')
  issuer.keys = [key.jwk]
  const program = join(installed, manifest(installed).bin.sluice)
  const server = ServerProcess.start(t, {
    program,
    env: { PORT: '0', SLUICE_WORKERS: '1', SLUICE_ALLOW_LOOPBACK_ISSUERS: 'on', SLUICE_CONSOLE: 'on' },
    command: ['serve'],
  })
  const { url } = await server.ready()

  const call = async (path: string, body: unknown, bearer: string) => {
    const headers = { Authorization: `Bearer ${bearer}`, 'Content-Type': 'application/json' }
    const answer = await fetch(`${url}/api/v1${path}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    const json = (await answer.json()) as Json
    t.ok(answer.ok, `${path}: ${answer.status} ${answer.ok ? '' : JSON.stringify(json)}`)
    return json
  }
  const messages = [{ role: 'user', content: 'hello' }]
  const chat = await call('/chat/completions', { model: MODEL, messages }, API_KEY)
  t.type(chat.choices[0].message.content, 'string')
  const message = await call('/messages', { model: MODEL, max_tokens: 99, messages }, API_KEY)
  t.equal(message.type, 'message')

  const { data: target } = await call('/keys', { name: 'target' }, MANAGEMENT_KEY)
  const trusted = { name: 'local', issuer_url: issuer.url }
  const { data: made } = await call('/federation/issuers', trusted, MANAGEMENT_KEY)
  const wish = { issuer_id: made.id, audience: 'sluice', subject: WORKLOAD, api_key_hash: target.hash }
  const { data: policy } = await call('/federation/policies', wish, MANAGEMENT_KEY)
  const now = Math.floor(Date.now() / 1000)
  const claims = { iss: issuer.url, sub: WORKLOAD, aud: 'sluice', iat: now, exp: now + 600 }
  const form = {
    grant_type: GRANT_TYPE,
    subject_token: tokenOf(headerOf(key), claims, key),
    subject_token_type: JWT_TYPE,
    federation_policy_id: policy.id,
  }
  const exchanged = await fetch(`${url}/api/v1/oauth/token`, {
    method: 'POST',
    body: new URLSearchParams(form),
  })
  const { access_token } = (await exchanged.json()) as { access_token: string }
  await call('/chat/completions', { model: MODEL, messages }, access_token)

  for (const page of ['/console', '/docs', '/docs/swagger-ui-bundle.js', '/docs/swagger-ui.css', '/']) {
    t.equal((await fetch(`${url}${page}`)).status, 200, page)
  }
  const [, script = ''] = /src="([^"]+\.js)"/.exec(await (await fetch(`${url}/console`)).text()) ?? []
  t.equal((await fetch(new URL(script, `${url}/console`))).status, 200, script)
  const { hash } = await call('/hash', { data: 'x', rounds: 1000 }, API_KEY)
  t.match(hash, /^[0-9a-f]{64}$/, 'by a thread of the pool')
  t.match(await server.stop(), { code: 0, signal: null })
})

test('from the package: commands work', async (t) => {
  const program = join(installed, manifest(installed).bin.sluice)
  const version = await runSluice(t, ['version'], { program })
  t.match(version, { code: 0 })
  t.ok(version.stdout.includes(manifest(ROOT).version))
  const checked = await runSluice(t, ['check-config'], { program })
  t.match(checked, { code: 0, stdout: 'all settings are good\n', stderr: '' })
  const schema = await runSluice(t, ['config-schema'], { program })
  t.match(JSON.parse(schema.stdout), { type: 'object' })
})
