/** What a release holds, and its package as somebody has it who installed it into an empty folder with scripts off. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import tap, { test } from 'tap'
import { useEverything, WHOLE_USE_SETTINGS } from '../support/clients/whole-use.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { runSluice, ServerProcess } from '../support/servers/server-process.js'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const MIB = 2 ** 20
/** With `newer` on Node 20 and 22 as well: which build of the native server is tried. */
const NATIVE = process.env.SLUICE_NATIVE ?? 'auto'

/** What npm says where no registry answers; anything else is wrong with the package. */
const NO_REGISTRY = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ENOTCACHED/
const INSTALL_MS = 240_000

const { isKnownLicence } = (await import(join(ROOT, '.tools/licences.js'))) as {
  isKnownLicence(expression: string): boolean
}

const folder = tempFolder(tap)
const files = release().map((path) => path.replace('package/', ''))
const installed = install()

/** A release of this tree: what is built from it twice is the same. */
function release(): readonly string[] {
  const args = ['.tools/release.js', folder, '--draft', '--installed']
  // Npm writes a cache and logs below HOME otherwise.
  const env = { PATH: process.env.PATH, HOME: folder }
  const { stderr, status } = spawnSync(process.execPath, args, { cwd: ROOT, env, encoding: 'utf8' })
  if (status !== 0) throw new Error(stderr)
  const archive = join(folder, 'sluice-0.1.0.tgz')
  return spawnSync('tar', ['-tzf', archive], { encoding: 'utf8' }).stdout.trim().split('\n')
}

/** The folder of the package, installed as the guide says; where the registry cannot be had, with links in its place. */
function install(): string {
  const empty = join(folder, 'empty')
  const modules = join(empty, 'node_modules')
  const own = join(modules, 'sluice')
  mkdirSync(empty)
  const archive = join(folder, 'sluice-0.1.0.tgz')
  const args = ['install', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', archive]
  // What npm tells programs that it runs is not for another npm; how the registry is reached is.
  const reach =
    /^(PATH|HOME|https?_proxy|no_proxy|NODE_EXTRA_CA_CERTS|npm_config_(registry|cache|userconfig|cafile))$/i
  const given = Object.entries(process.env).filter(([name]) => reach.test(name))
  const env = { ...Object.fromEntries(given), npm_config_fetch_retries: '0' }
  const npm = spawnSync('npm', args, { cwd: empty, env, encoding: 'utf8', timeout: INSTALL_MS })
  if (npm.status === 0) return own
  const reason = NO_REGISTRY.exec(npm.stderr)?.[0] ?? (npm.signal && 'it took too long')
  if (!reason) throw new Error(npm.stderr)
  tap.comment(`what it depends on is linked, because the registry cannot be had: ${reason}`)
  rmSync(empty, { recursive: true, force: true })
  mkdirSync(own, { recursive: true })
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
  const { size } = statSync(join(folder, 'sluice-0.1.0.tgz'))
  t.ok(size < 3 * MIB, `${size} bytes`)
  t.same(
    files.filter(
      (path) =>
        !/^(dist\/.*\.(js|sql|css|json|html|webp)|dist\/licences\.txt|examples\/[\w/.-]+|[A-Z]+(\.md)?|package\.json)$/.test(
          path,
        ),
    ),
    [],
  )
  t.same(
    files.filter((path) => /^dist\/(test|bench)|^(src|test)\//.test(path)),
    [],
  )
  const { scripts } = manifest(installed)
  for (const name of ['preinstall', 'install', 'postinstall']) t.notOk(name in scripts)
})

test('a release has checksums, the changes, and a list of all that is bundled or installed, without what only development needs', async (t) => {
  const { status, stdout } = spawnSync('sha256sum', ['--check', 'SHA256SUMS'], {
    cwd: folder,
    encoding: 'utf8',
  })
  t.equal(status, 0, stdout)
  t.equal(stdout.match(/: OK$/gm)?.length, 4)
  t.match(readFileSync(join(folder, 'CHANGES.md'), 'utf8'), /^## \[Unreleased\]\n/)
  const bill = readFileSync(join(folder, 'sluice.cdx.json'), 'utf8')
  t.notMatch(bill, 'timestamp')
  const { bomFormat, components } = JSON.parse(bill) as {
    readonly bomFormat: string
    readonly components: readonly {
      readonly name: string
      readonly properties: readonly { readonly value: string }[]
    }[]
  }
  t.equal(bomFormat, 'CycloneDX')
  const how = new Map(components.map(({ name, properties }) => [name, properties[0]?.value]))
  for (const name of ['zod', 'undici', 'preact', 'echarts']) t.equal(how.get(name), 'bundled', name)
  for (const name of Object.keys(manifest(ROOT).dependencies)) {
    if (name !== 'uWebSockets.js') t.equal(how.get(name), 'installed', name)
  }
  for (const name of ['tap', 'typescript', 'esbuild']) t.notOk(how.has(name), name)
})

test('the package carries the licences of what is bundled, and a licence that nobody has read stops a release', async (t) => {
  const texts = readFileSync(join(installed, 'dist/licences.txt'), 'utf8')
  for (const name of ['zod', 'undici', 'jose', 'pino', 'preact']) {
    t.match(texts, new RegExp(`^${name} \\d\\S+ \\(MIT\\)\\n\\n[^]*?Permission is hereby granted`, 'm'), name)
  }
  for (const known of ['MIT', '(MIT AND Zlib)', 'GPL-3.0 OR MIT']) t.ok(isKnownLicence(known), known)
  for (const unknown of ['GPL-3.0', 'MIT AND GPL-3.0', 'not told', 'SEE LICENSE IN X']) {
    t.notOk(isKnownLicence(unknown), unknown)
  }
})

test('from the package: chat, messages, exchange, console, pages, work of the pool, and a drain', async (t) => {
  const program = join(installed, manifest(installed).bin.sluice)
  const server = ServerProcess.start(t, {
    program,
    env: { PORT: '0', SLUICE_WORKERS: '1', SLUICE_NATIVE: NATIVE, ...WHOLE_USE_SETTINGS },
    command: ['serve'],
  })
  const { url } = await server.ready()
  await useEverything(t, url)
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
