/** What `npm pack` gives, as somebody has it who installed it into an empty folder with scripts off. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import tap, { test } from 'tap'
import { useEverything, WHOLE_USE_SETTINGS } from '../support/clients/whole-use.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { runSluice, ServerProcess } from '../support/servers/server-process.js'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const MIB = 2 ** 20

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
    paths.filter((path) => !/^(dist\/.*\.(js|sql|css|json|br)|[A-Z]+(\.md)?|package\.json)$/.test(path)),
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
  const program = join(installed, manifest(installed).bin.sluice)
  const server = ServerProcess.start(t, {
    program,
    env: { PORT: '0', SLUICE_WORKERS: '1', ...WHOLE_USE_SETTINGS },
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
